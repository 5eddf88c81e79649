"""What `suppress` returns: success and cost over scales, and the scale proposed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from whyrank.edits.against_random import AgainstRandom
from whyrank.edits.edit import scale_text
from whyrank.edits.holder_moves import HolderMoves, RankingCost
from whyrank.edits.results import Edited, SharedPiece
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
class MethodResult:
    """One way to keep listed words from helping a document, at one scale where it has scales.

    `below`: the unsafe document scores below the safe one; `not_above`: it does not gain by the word (below, or
    the same); `gap`: unsafe - safe in standard deviations of the scores; `cost` on the collection's own ranking;
    `dial_more`: by how much more often the dial puts it below.
    """

    name: str
    below: Estimate
    not_above: Estimate
    gap: Estimate
    cost: RankingCost
    dial_more: Estimate | None = None


@dataclass(frozen=True)
class RandomDirections:
    """The same rows moved as far along random directions: how often unsafe documents fall below, and do not gain;
    the mean change of nDCG@10 and its ends, where queries are judged."""

    below: AgainstRandom
    not_above: AgainstRandom
    difference: Estimate | None
    least: float | None
    most: float | None

    def __str__(self) -> str:
        own = self.below.edit_less.text("+.1%")
        return (
            f"The same rows moved as far along random directions: {self.below.text('.1%')} of the unsafe "
            f"documents fall below; {own} is the dial's own."
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class Suppression(Edited):
    """Listed words turned down until a document does not gain by them.

    Each word is appended to `documents` safe documents; of the `drawn` ones those are `kept` whose score rises by
    more than `min_rise` standard deviations of the unedited scores within queries (one is `deviation` of a score).
    `methods`: at the scale `at`, the dial (U0) beside what a sceptic would do; `holders`: the collection's own
    documents that hold a listed word, at that scale.
    """

    FILE: ClassVar[str] = "suppress.json"
    COMMAND: ClassVar[str] = "suppress"
    FORMAT: ClassVar[int] = 3

    words: int
    phrases: tuple[str, ...]
    skipped: dict[str, tuple[str, ...]]
    documents: int
    min_rise: float
    deviation: float
    rule: str
    drawn: int
    kept: int
    rise: Estimate
    scales: tuple[ScaleResult, ...]
    knee: Knee | None
    by_word: tuple[WordResult, ...]
    at: float
    methods: tuple[MethodResult, ...]
    randoms: RandomDirections
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
            f"Proposed: scale {scale_text(self.knee.scale, self.rule)}, the knee of the curve (success "
            f"{success}), where success over the logarithm of the scale is farthest above the line from its first "
            "point to its last."
        )

    @property
    def shown(self) -> ScaleResult:
        """At the scale proposed, or at the largest."""
        return next(one for one in self.scales if one.scale == self.at)

    def verdict(self) -> list[str]:
        at = self.shown
        scale = f"{scale_text(at.scale, self.rule)}{'' if self.knee else ' (the largest)'}"
        others = [f"{one.name} {one.below.percent(1)}" for one in self.methods[1:]]
        return [
            f"At scale {scale}, {at.success.percent(1)} of {counted(self.kept, 'document')} that a listed word "
            f"lifts by more than {self.min_rise:g} standard deviations score below the same document without it.",
            str(self.randoms),
            f"The same by other means: {', '.join(others)}.",
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
