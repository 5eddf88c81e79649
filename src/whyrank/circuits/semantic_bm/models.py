"""All models of one protocol, each fitted and tested on the same samples: SemanticBM, its parts, its rivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.bilinear import fit_bilinear
from whyrank.circuits.semantic_bm.features import NESTED, PARTS, Columns
from whyrank.circuits.semantic_bm.protocol import Group, Protocol
from whyrank.circuits.semantic_bm.regression import Linear
from whyrank.circuits.semantic_bm.results import SEMANTIC_BM, SHARED_ALPHA
from whyrank.circuits.semantic_bm.rivals import Rival, Rivals, Settings

#: How often other heads are drawn, as many as SemanticBM has.
DRAWS = 10


class GroupColumns(NamedTuple):
    """The columns of a group's samples [rows, p], the settings that were chosen to make them, and how they are
    fitted."""

    columns: np.ndarray
    settings: Settings
    fit: Callable[[np.ndarray, np.ndarray], Linear] = Linear.fit


Maker = Callable[[Group], GroupColumns]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model's fits, one a group, and its predictions [n] for all samples, NaN for those of no group."""

    predictions: np.ndarray
    fits: list[Linear] = field(default_factory=list)
    settings: list[Settings] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Bench:
    """What a protocol's models are made of: the columns, SemanticBM's heads, and the lexical rivals' columns."""

    protocol: Protocol
    columns: Columns
    heads: list[Head]
    lexical: Rivals
    seed: int = 0
    #: Which collection each sample is of, where there are several.
    strata: np.ndarray | None = None

    def groups(self) -> list[Group]:
        samples = self.columns.samples
        return self.protocol.groups(samples.qids, samples.lengths, self.seed, self.strata)

    def of_heads(self, heads: Sequence[Head], parts: Sequence[str] = PARTS) -> Maker:
        """Columns of these heads: summed over positions, or side by side."""
        if self.protocol.by_position:
            return lambda group: GroupColumns(self.columns.by_position(group.rows, heads, parts), {})
        return lambda group: GroupColumns(self.columns.shared(heads, parts)[group.rows], {})

    def makers(self) -> dict[str, Maker]:
        """SemanticBM first, the models inside it, then its rivals."""
        nested = {name: self.of_heads(self.heads, parts) for name, parts in reversed(NESTED.items())}
        own = nested.pop(SEMANTIC_BM)
        nested = {SEMANTIC_BM: own, SHARED_ALPHA: self._shared_alpha, **nested}
        rivals = {name: self._of_words(make) for name, make in self.lexical.items()}
        return {**nested, **rivals, "random_features": self._random_columns}

    def fit(self, maker: Maker, groups: Sequence[Group]) -> Fitted:
        """Each group's regression, learnt on its training part. A single column is put through it, too: Pearson
        does not change, but for the sign, which is what the training part says."""
        scores = self.columns.samples.scores
        fitted = Fitted(np.full(len(scores), np.nan))
        for group in groups:
            x, settings, fit = maker(group)
            line = fit(x[~group.test], scores[group.trained])
            fitted.predictions[group.rows] = line.predict(x)
            fitted.fits.append(line)
            fitted.settings.append(settings)
        return fitted

    def _shared_alpha(self, group: Group) -> GroupColumns:
        """Eq. 2: one alpha per head and whatever the position, in either protocol."""
        return GroupColumns(self.columns.shared(self.heads)[group.rows], {}, fit_bilinear)

    def _of_words(self, make: Rival) -> Maker:
        def made(group: Group) -> GroupColumns:
            column, settings = make(self.columns.samples.scores, group.trained)
            return GroupColumns(column[group.rows][:, None], settings)

        return made

    def _random_columns(self, group: Group) -> GroupColumns:
        """As many columns as SemanticBM has, of nothing."""
        count = (1 + 2 * len(self.heads)) * (group.length or 1)
        generator = np.random.default_rng([self.seed, group.length or 0])
        return GroupColumns(generator.normal(size=(len(group.rows), count)), {})


def draw_heads(every: Sequence[Head], taken: Sequence[Head], count: int, seed: int) -> list[list[Head]]:
    """`DRAWS` times so many heads (or all that there are) that are not taken; none where none is left."""
    free = [head for head in every if head not in set(taken)]
    generator = np.random.default_rng(seed)
    if not free:
        return []
    picks = [generator.choice(len(free), size=min(count, len(free)), replace=False) for _ in range(DRAWS)]
    return [sorted(free[i] for i in pick) for pick in picks]
