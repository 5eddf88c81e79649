"""A metric: what is analysed in place of the score.

    def probability(scores, pair):
        return 1 / (1 + np.exp(-scores))

    reference = {"q1": 0.7}                        # the score of another document of the query
    def lead(scores, pair):
        return scores - reference[pair.qid]

A metric is called once per pair, with the scores of all its runs (float64: the baseline's, the perturbed text's,
then one per row of effects) and the pair; it returns as many numbers. Gap, effects, shares and intervals are then
those of its numbers. Attribution is linear in the score, so that a metric of its results would mean nothing: it
takes none, and neither does a screen, which begins with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.options import PatchOptions

if TYPE_CHECKING:
    import numpy as np

#: The numbers to analyse in place of the scores of one pair's runs.
Metric = Callable[["np.ndarray", MinimalPair], "np.ndarray"]
#: Scores at which a metric is tried to tell it from other metrics.
TRIED = (-8.0, -1.0, -0.1, 0.1, 0.5, 0.9, 3.0, 12.0)


@dataclass(frozen=True)
class NamedMetric:
    """A metric and what it is called."""

    metric: Metric
    name: str

    @classmethod
    def of(cls, metric: Metric, options: PatchOptions) -> NamedMetric:
        if options.approximate:
            raise UserError("a metric does not go with attribution or screen", todo="choose another method")
        if not callable(metric):
            raise UserError(
                "metric must be a function of the scores and the pair", todo="see docs/interventions.md"
            )
        return cls(metric, getattr(metric, "__name__", type(metric).__name__))

    def fingerprint(self, pairs: Iterable[MinimalPair]) -> list[str]:
        """The name, and a hash of what it returns for some scores of each pair: code and data behind it count."""
        import numpy as np

        digest = hashlib.sha256()
        for pair in pairs:
            digest.update(self(np.array(TRIED), pair).tobytes())
        return [self.name, digest.hexdigest()]

    def __call__(self, scores: np.ndarray, pair: MinimalPair) -> np.ndarray:
        """The metric's numbers, as many as there are scores."""
        import numpy as np

        todo = "return one number for each score"
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(self.metric(scores, pair), dtype=float)
        except Exception as error:
            raise UserError(f"metric {self.name} failed on pair {pair.id!r}: {error!r}", todo=todo) from error
        if found.shape != scores.shape:
            what = f"returned shape {found.shape} for {len(scores)} scores of pair {pair.id!r}"
            raise UserError(f"metric {self.name} {what}", todo=todo)
        return found

    def of_table(self, table: EffectTable, pairs: Iterable[MinimalPair]) -> EffectTable:
        """The same rows with the metric's numbers in place of the scores."""
        import numpy as np

        frame, known = table.frame.copy(), {pair.id: pair for pair in pairs}
        columns = {name: frame[name].to_numpy(dtype=float) for name in ("base", "perturbed", "patched")}
        for name, rows in frame.groupby("pair", sort=False).indices.items():
            ends = [columns[side][rows[:1]] for side in ("base", "perturbed")]
            found = self(np.concatenate([*ends, columns["patched"][rows]]), known[str(name)])
            if not np.isfinite(found).all():
                raise UserError(
                    f"metric {self.name} is not finite on pair {name!r}", todo="return a number for every score"
                )
            columns["base"][rows], columns["perturbed"][rows], columns["patched"][rows] = (
                found[0],
                found[1],
                found[2:],
            )
        effect = columns["patched"] - columns["base"]
        return EffectTable(
            frame.assign(**columns, effect=effect).astype(dict.fromkeys((*columns, "effect"), "Float64"))
        )
