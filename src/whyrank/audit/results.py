"""What an audit returns: for each ranker and axiom how often it does what the axiom says, and the rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.axioms.same_score import no_preference
from whyrank.axioms.scored_pair import TextCounts
from whyrank.core.atomic import whole_file
from whyrank.core.json_file import typed
from whyrank.core.results import Result, table
from whyrank.evaluation.curves import Fit
from whyrank.evaluation.estimate import Estimate, is_significant, percent
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.pages.numbers import counted
from whyrank.text.tokens import Span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

OUTCOMES = ("holds", "neutral", "violates")
#: Differences below this share of the spread of a ranker's own scores are neutral.
NEUTRAL_SHARE = 0.01
NEUTRAL = f"|difference| up to delta; default: {percent(NEUTRAL_SHARE)} of the standard deviation of its scores"
ROWS = "rows.parquet"


@dataclass(frozen=True)
class Row:
    """One pair's scores under one ranker. `gain` is the difference towards the side that should score higher;
    `padded` and `cut` say whether the texts that were scored are not those given, by fillers or by length."""

    ranker: str
    pair: str
    axiom: str
    variant: str | None
    query: str
    qid: str | None
    docid: str | None
    term: str | None
    where: str | None
    k: int | None
    rank: int | None
    tf: int | None
    idf: float | None
    length: int
    position: float | None
    baseline: float
    perturbed: float
    difference: float
    prefer: str
    gain: float
    outcome: str
    padded: bool
    cut: bool
    baseline_text: str
    perturbed_text: str

    @property
    def label(self) -> str:
        return ":".join(part for part in (self.axiom, self.variant) if part)

    @property
    def cluster(self) -> str:
        """The query, by its id or else by its text."""
        return self.qid if self.qid is not None else f"text {self.query}"


@dataclass(frozen=True)
class Point:
    """The pairs of one k: the mean difference, the share whose score does not rise at all, and the share that
    falls by more than the neutral band."""

    k: int
    difference: Estimate
    not_rising: Estimate
    violates: Estimate


@dataclass(frozen=True)
class Contrast:
    """A feature in violating against adhering pairs: medians, and Cliff's delta (-1 to 1)."""

    feature: str
    violating: float
    adhering: float
    cliffs_delta: Estimate


@dataclass(frozen=True)
class Violation:
    """A pair on which a ranker scores the wrong side higher; the spans are what differs, in characters."""

    pair: str
    query: str
    baseline: float
    perturbed: float
    difference: float
    baseline_text: str
    perturbed_text: str
    baseline_spans: tuple[Span, ...] = ()
    perturbed_spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class AxiomSummary:
    """One ranker on one axiom. Differences are perturbed - baseline, in score units; p is of the queries' mean
    gains against 0, `p_holm` corrected over all rankers and axioms."""

    ranker: str
    axiom: str
    prefers: str
    n: int
    queries: int
    holds: Estimate
    neutral: Estimate
    violates: Estimate
    mean: Estimate
    median: float
    p: float | None
    p_holm: float | None
    curve: tuple[Point, ...] = ()
    fits: tuple[Fit, ...] = ()
    violation_fits: tuple[Fit, ...] = ()
    #: TFC2 itself: the share of steps from k to k + 1 in which the marginal gain falls.
    gain_falls: Estimate | None = None
    why: tuple[Contrast, ...] = ()
    worst: tuple[Violation, ...] = ()

    @property
    def is_significant(self) -> bool:
        return is_significant(self.p_holm)

    def outcome(self, name: str) -> Estimate:
        """`holds`, `neutral` or `violates`."""
        return {"holds": self.holds, "neutral": self.neutral, "violates": self.violates}[name]


@dataclass(frozen=True)
class AuditedRanker:
    """How one ranker was scored: its neutral band, the distinct inputs, how many pairs score the same on both
    sides, how many were scored as given, and which did not fit it."""

    name: str
    source: str
    delta: float
    inputs: int
    pairs: int
    same: int
    texts: TextCounts
    dropped: dict[str, int] = field(default_factory=dict)

    def sentences(self) -> list[str]:
        """What cannot be said because both sides of pairs score the same."""
        return no_preference(self.same, self.pairs)


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Whether rankers do what IR axioms say, on minimal pairs."""

    FILE: ClassVar[str] = "audit.json"
    COMMAND: ClassVar[str] = "audit"

    rankers: tuple[AuditedRanker, ...]
    axioms: tuple[AxiomSummary, ...]
    dropped: dict[str, dict[str, int]]
    pairs: int
    seed: int
    neutral: str = NEUTRAL
    rows: tuple[Row, ...] = table()

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        from pyarrow import parquet

        rows: tuple[Row, ...] = typed(parquet.read_table(Path(folder, ROWS)).to_pylist(), tuple[Row, ...])
        return replace(super().read(folder), rows=rows)

    def to_pandas(self) -> pd.DataFrame:
        """One row per ranker and pair."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.rows]).astype(dict.fromkeys(("k", "rank", "tf"), "Int64"))

    def verdict(self) -> list[str]:
        """For each ranker how many axioms it follows, breaks, or leaves undecided, and the one it breaks most."""
        return [self._verdict_of(ranker.name) for ranker in self.rankers]

    def _verdict_of(self, ranker: str) -> str:
        mine = [one for one in self.axioms if one.ranker == ranker]
        if max(one.queries for one in mine) < FEWEST_QUERIES:
            return f"{ranker}: too few queries to say whether it follows {counted(len(mine), 'axiom')}."
        if len(mine) == 1:
            return f"{ranker} {_stance(mine[0])}{_violations(mine[0])}"
        towards = sum(one.is_significant and _favours(one) for one in mine)
        against = sum(one.is_significant and not _favours(one) for one in mine)
        undecided = len(mine) - towards - against
        said = (
            f"{ranker} follows {towards} of {counted(len(mine), 'axiom')}, goes against {against or 'none'}, and "
        )
        said += f"{undecided or 'none'} {'is' if undecided == 1 else 'are'} undecided. "
        worst = max(mine, key=lambda one: one.violates.value or 0.0)
        if not worst.violates.value:
            return f"{said}No pair violates an axiom."
        often = f"in {worst.violates.percent()} of {counted(worst.n, 'pair')}"
        return f"{said}It violates {worst.axiom} most often: {often}."

    def plot(self, axes: Axes | None = None) -> Axes:
        """For each axiom a bar: the shares of pairs that hold, are neutral, violate; of the first ranker."""
        from whyrank.audit.figures import plot_outcomes
        from whyrank.plots.style import new_axes

        axes = axes if axes is not None else new_axes(6.4, 0.9 + 0.27 * len(self.axioms))
        return plot_outcomes(axes, [one for one in self.axioms if one.ranker == self.rankers[0].name])

    def write_tables(self, folder: Path) -> list[Path]:
        with whole_file(folder / ROWS) as partial:
            self.to_pandas().to_parquet(partial, index=False)
        return [folder / ROWS]

    def figures(self) -> dict[str, str]:
        from whyrank.audit.report import audit_figures

        return audit_figures(self)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.audit.report import audit_page

        return audit_page(self).write(path, manifest)


def _stance(one: AxiomSummary) -> str:
    """`follows TFC1:append.`"""
    if not one.is_significant:
        return f"neither clearly follows {one.axiom} nor goes against it."
    return f"{'follows' if _favours(one) else 'goes against'} {one.axiom}."


def _violations(one: AxiomSummary) -> str:
    if not one.violates.value:
        return " No pair violates it."
    return f" {one.violates.percent()} of {counted(one.n, 'pair')} violate it."


def _favours(summary: AxiomSummary) -> bool:
    """Whether the mean difference is towards the preferred side."""
    mean = summary.mean.value or 0.0
    return (mean if summary.prefers == "perturbed" else -mean) > 0
