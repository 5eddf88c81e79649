"""semantic_bm.json, as far as it is read again to rank with the fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.results import Anchor, BaseRanker, SemanticBM
from whyrank.core.errors import UserError, located
from whyrank.core.json_file import read_json

FILE = SemanticBM.FILE


@dataclass(frozen=True)
class Slope:
    """One column's slope."""

    slope: float


@dataclass(frozen=True)
class Fit:
    """The regression."""

    intercept: float
    coefficients: list[Slope]


@dataclass(frozen=True)
class Anchored:
    """What is needed to make the IDF dimension again."""

    anchor: Anchor


@dataclass(frozen=True)
class Fitted:
    """A run of `whyrank semantic-bm`."""

    ranker: BaseRanker
    heads: list[str]
    sep: bool
    model: Fit
    u0: Anchored

    @property
    def parsed_heads(self) -> tuple[Head, ...]:
        return tuple(map(Head.parse, self.heads))

    @property
    def slopes(self) -> np.ndarray:
        return np.array([one.slope for one in self.model.coefficients], dtype=float)


def read_fitted(path: Path) -> Fitted:
    """The file, each field of its type, the numbers finite, and as many of them as the heads need."""
    again = "run whyrank semantic-bm again"
    fitted: Fitted = read_json(path, Fitted, todo="give the run folder of whyrank semantic-bm: semantic-bm:RUN")
    with located(path):
        heads, slopes = fitted.parsed_heads, fitted.slopes
        if not fitted.ranker.load.strip():
            raise UserError("field ranker.load: blank", todo=again)
        if not heads:
            raise UserError("field heads: empty", todo=again)
        if len(slopes) != 1 + 2 * len(heads):
            what = f"{len(slopes)} for {len(heads)} heads, not {1 + 2 * len(heads)}"
            raise UserError(f"field model.coefficients: {what}", todo=again)
        if not np.isfinite([fitted.model.intercept, fitted.u0.anchor.value, *slopes]).all():
            raise UserError("field model: a number that is too large", todo=again)
    return fitted
