"""The columns of the regression: per query token f, MS of each head and their products; summed, or by position.

f_i = -U0[i]     MS_ik = what token i reads of the document through head k     f_i MS_ik
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.samples import Samples

U0, MATCHING, INTERACTION = PARTS = ("u0", "matching", "interaction")
#: The models inside the model; the last is SemanticBM itself.
NESTED: dict[str, tuple[str, ...]] = {
    "u0_only": (U0,),
    "matching_only": (MATCHING,),
    "no_interaction": (U0, MATCHING),
    "semantic_bm": PARTS,
}


class Feature(NamedTuple):
    """What a column is: `matching L0.H8`; where each position has its own coefficients, `2: matching L0.H8`."""

    part: str
    head: Head | None = None
    position: int | None = None

    def __str__(self) -> str:
        place = "" if self.position is None else f"{self.position}: "
        return f"{place}{self.part}" + (f" {self.head}" if self.head else "")


def features(heads: Sequence[Head], parts: Sequence[str] = PARTS, length: int | None = None) -> list[Feature]:
    """The names of the columns: of one token, or (positions from 0) of the `length` tokens of a query."""
    token = [Feature(U0)] if U0 in parts else []
    token += [Feature(part, head) for part in (MATCHING, INTERACTION) if part in parts for head in heads]
    return token if length is None else [one._replace(position=i) for i in range(length) for one in token]


def token_columns(f: np.ndarray, matching: np.ndarray, parts: Sequence[str] = PARTS) -> np.ndarray:
    """One row per token, in the order of `features`: from f [T] and MS [T, K] to [T, 1 + 2 K]."""
    made = {U0: f[:, None], MATCHING: matching, INTERACTION: f[:, None] * matching}
    return np.concatenate([made[part] for part in PARTS if part in parts], axis=1)


@dataclass(frozen=True, eq=False)
class Columns:
    """Makes the columns of samples for any heads; `f` [T] is -U0 of each token."""

    samples: Samples
    f: np.ndarray
    heads_per_layer: int
    sep: bool = False

    @cached_property
    def _matching(self) -> np.ndarray:
        return self.samples.matching(self.sep)

    def of_tokens(
        self, heads: Sequence[Head], parts: Sequence[str] = PARTS, tokens: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """One row per query token (all, or those asked for), in double precision."""
        places = [head.layer * self.heads_per_layer + head.head for head in heads]
        return token_columns(self.f[tokens], self._matching[tokens][:, places].astype(float), parts)

    def shared(self, heads: Sequence[Head], parts: Sequence[str] = PARTS) -> np.ndarray:
        """One row per pair: the sums over the query's tokens, since all positions share their coefficients."""
        return np.add.reduceat(self.of_tokens(heads, parts), self.samples.starts, axis=0)

    def by_position(self, rows: np.ndarray, heads: Sequence[Head], parts: Sequence[str] = PARTS) -> np.ndarray:
        """One row for each of these pairs, whose queries have one length: their tokens' columns side by side."""
        (length,) = set(self.samples.lengths[rows].tolist())
        tokens = self.samples.starts[rows][:, None] + np.arange(length)
        return self.of_tokens(heads, parts, tokens.ravel()).reshape(len(rows), -1)
