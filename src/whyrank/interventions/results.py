"""What `patch` returns: for each site what it does to the score, and the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from whyrank.axioms.same_score import no_gap
from whyrank.axioms.scored_pair import TextCounts
from whyrank.core.results import Result
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW
from whyrank.interventions.effects import FILE as ROWS
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.pair_texts import FILE as PAIRS
from whyrank.interventions.pair_texts import TextChanges, write_pair_table
from whyrank.interventions.selection import by_category, kept_rows, main_rows
from whyrank.interventions.statistics import SiteSummary
from whyrank.interventions.summary import MapCorrelation, Point, Summary, correlate
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest


@dataclass(frozen=True)
class Compared:
    """This map against that of another run; points are (here, there)."""

    run: str
    correlation: MapCorrelation
    points: tuple[Point, ...]


class Measure(NamedTuple):
    """What figures show of each site, and what it is called."""

    title: str
    of: Callable[[SiteSummary], Estimate]

    def size(self, site: SiteSummary) -> float:
        """How large it is, of either sign."""
        return abs(self.of(site).value or 0.0)


@dataclass(frozen=True, repr=False)
class Effects(Result, Summary):
    """What sites of a ranker do to its score on minimal pairs. `metric` names what was analysed in its place."""

    FILE: ClassVar[str] = "summary.json"
    COMMAND: ClassVar[str] = "patch"

    ranker: str
    source: str
    side: str
    ablate: str | None
    freeze_mlp: bool
    steps: int
    metric: str | None
    texts: TextCounts
    dropped: dict[str, int]
    compared: Compared | None = None
    hide_insignificant: bool = False
    #: One row per pair and site: a data frame with the columns of effects.parquet.
    frame: Any = field(default=None, compare=False, metadata={"table": True})
    #: One row per pair: a data frame with the texts that were scored, those given, and the scores of both.
    pair_frame: Any = field(default=None, compare=False, metadata={"table": True})

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        pairs = Path(folder, PAIRS)
        found = replace(super().read(folder), frame=EffectTable.read(Path(folder, ROWS)).frame)
        return replace(found, pair_frame=pd.read_parquet(pairs) if pairs.is_file() else None)

    def to_pandas(self) -> pd.DataFrame:
        """One row per pair and site."""
        frame: pd.DataFrame = self.frame
        return frame

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.frame)

    @property
    def measure(self) -> Measure:
        """The share of the gap; for ablations, which close none, the change of the score."""
        if self.method == "ablation":
            return Measure(f"mean change of the {self.metric or 'score'}", lambda site: site.mean_change)
        lost = " lost" if self.direction == "noise" else ""
        return Measure(f"share of the gap{lost}", lambda site: site.share)

    @property
    def leading(self) -> list[SiteSummary]:
        """The sites, the largest effect first."""
        return sorted(self.sites, key=lambda site: -self.measure.size(site))

    @property
    def changed_texts(self) -> TextChanges:
        """The pairs whose texts were not scored as given."""
        return TextChanges.read(self.texts, self.pair_frame)

    def correlation(self, other: Effects, *, seed: int = 0) -> MapCorrelation:
        """How alike this map of effects is to another's, over the sites both have."""
        return self.compared_with(other, seed=seed).correlation

    def compared_with(self, other: Effects, *, run: str = "", seed: int = 0) -> Compared:
        """This map against another's."""
        keep = self.keep.rule
        return Compared(run, *correlate(self._map_rows(keep), other._map_rows(keep), seed))

    def _map_rows(self, keep: str) -> pd.DataFrame:
        """The rows that a map is made of: one method's, positions by the category of their token."""
        return kept_rows(main_rows(by_category(self.frame) if self.by == "position" else self.frame), keep)

    def verdict(self) -> list[str]:
        """Which sites have the largest effects, how many are significant, and what cannot be said."""
        sentences = [f"{one[0].upper()}{one[1:]}." for one in no_gap(self.gap.same, self.pairs)]
        known = [site for site in self.leading if self.measure.of(site).value is not None]
        if known:
            sentences = [self._largest(known), self._significant(), *sentences]
        return sentences

    def _largest(self, known: list[SiteSummary]) -> str:
        first, *others = known[:3]
        form = "+.4g" if self.method == "ablation" else ".1%"
        said = f"{first.site} has the largest effect in {self.ranker}: {self.measure.title} "
        said += self.measure.of(first).text(form)
        then = " and ".join(f"{one.site} ({self.measure.of(one).text(form)})" for one in others)
        return f"{said}{f'; then {then}' if then else ''}."

    def _significant(self) -> str:
        sites = counted(len(self.sites), "site")
        if self.queries < FEWEST_QUERIES:
            return (
                f"{counted(self.queries, 'query', 'queries')}: {TOO_FEW} to say which of {sites} have an effect."
            )
        count = sum(site.is_significant for site in self.sites)
        return f"{count} of {sites} {'has' if count == 1 else 'have'} a significant effect (0.05, Holm)."

    def plot(self, axes: Axes | None = None) -> Axes:
        """The sites with the largest effects, as bars with their intervals."""
        from whyrank.interventions.figures import plot_leading

        return plot_leading(self, axes)

    def write_tables(self, folder: Path) -> list[Path]:
        EffectTable(self.frame).write(folder / ROWS)
        return [folder / ROWS, write_pair_table(self.pair_frame, folder)]

    def figures(self) -> dict[str, str]:
        from whyrank.interventions.figures import make_figures

        return {name: svg for name, (svg, _, _) in make_figures(self).items()}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.interventions.report import effects_page

        return effects_page(self).write(path, manifest)
