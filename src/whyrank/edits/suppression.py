"""What `suppress` returns: success and cost over scales, and the scale proposed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from whyrank.edits.results import Edited, HolderMoves, RankingCost, SharedPiece
from whyrank.evaluation.estimate import Estimate, percent
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest


@dataclass(frozen=True)
class Knee:
    """The point of a curve over scales that is highest above the straight line from its first to its last point.

    Both axes run from 0 to 1, the scales' as logarithms; `height` is above that line.
    """

    scale: float
    value: float
    height: float


@dataclass(frozen=True)
class ScaleResult:
    """All words turned down at one scale: the share of unsafe documents that score below the safe one, the mean of
    unsafe - safe, and what the edit costs."""

    scale: float
    success: Estimate
    gap: Estimate
    cost: RankingCost


@dataclass(frozen=True)
class WordResult:
    """One word: documents drawn, kept because the score rises, and of these the share that is put below."""

    word: str
    drawn: int
    kept: int
    success: float | None


@dataclass(frozen=True)
class RandomControl:
    """The same rows moved as far along a random direction; `more` is how much more success the edit has."""

    scale: float
    success: Estimate
    gap: Estimate
    more: Estimate

    def __str__(self) -> str:
        return (
            f"At scale {self.scale:g}, the same rows moved as far along a random direction put "
            f"{self.success.percent(1)} of the unsafe documents below; the edit does so for "
            f"{self.more.text('+.1%')} more."
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class Suppression(Edited):
    """Listed words turned down until a document does not gain by them.

    Each word is appended to `documents` safe documents; of the `drawn` ones those are `kept` whose score rises by
    more than `min_rise`. `holders`: the collection's own documents that hold a listed word, at the scale proposed.
    """

    FILE: ClassVar[str] = "suppress.json"
    COMMAND: ClassVar[str] = "suppress"
    FORMAT: ClassVar[int] = 3

    words: int
    skipped: dict[str, tuple[str, ...]]
    documents: int
    min_rise: float
    rule: str
    drawn: int
    kept: int
    rise: Estimate
    scales: tuple[ScaleResult, ...]
    knee: Knee | None
    by_word: tuple[WordResult, ...]
    control: RandomControl
    holders: HolderMoves
    shared: tuple[SharedPiece, ...] = ()
    spellings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def proposal(self) -> str:
        """The scale proposed, in words."""
        if not self.knee:
            return "The curve has no knee: success never rises above the line from its first scale to its last."
        success = percent(self.knee.value, 1)
        return (
            f"Proposed: scale {self.knee.scale:g}, the knee of the curve (success {success}): there "
            "success over the logarithm of the scale is farthest above the line from its first point to its last."
        )

    @property
    def shown(self) -> ScaleResult:
        """At the scale proposed, or at the largest."""
        return next(one for one in self.scales if one.scale == self.control.scale)

    def verdict(self) -> list[str]:
        at = self.shown
        scale = f"{at.scale:g}{'' if self.knee else ' (the largest)'}"
        return [
            f"At scale {scale}, {at.success.percent(1)} of {counted(self.kept, 'document')} that a listed word "
            "lifts score below the same document without it.",
            str(self.control),
            str(at.cost),
        ]

    def to_pandas(self) -> pd.DataFrame:
        """One row per scale."""
        import pandas as pd

        rows = [
            (one.scale, one.success.value, one.success.low, one.success.high, one.gap.value,
             one.cost.ndcg_after.value if one.cost.ndcg_after else None, one.cost.agreement.value)
            for one in self.scales
        ]  # fmt: skip
        columns = ["scale", "success", "success_low", "success_high", "gap", "ndcg", "agreement"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Success over the scales, with the knee."""
        from whyrank.edits.figures import plot_success
        from whyrank.plots.style import new_axes

        return plot_success(axes if axes is not None else new_axes(7.2, 2.8), self)

    def figures(self) -> dict[str, str]:
        from whyrank.edits.figures import suppression_curves

        return {"curve": suppression_curves(self)}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.suppress_report import suppression_page

        return suppression_page(self).write(path, manifest)
