"""What an evaluation returns: each run's means with their intervals, and its comparison with the first run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.core.atomic import whole_file
from whyrank.core.json_file import typed
from whyrank.core.results import Result, table
from whyrank.evaluation.estimate import Comparison, Estimate, is_significant
from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROWS = "per_query.parquet"


@dataclass(frozen=True)
class Row:
    """The value of a measure for one query of a run."""

    run: str
    qid: str
    measure: str
    value: float


@dataclass(frozen=True)
class MeasuredRun:
    """One run: the mean of each measure over all judged queries, how many of these it lacks (they count as 0), and
    how many of its queries have no judgement (they are dropped)."""

    name: str
    means: dict[str, Estimate]
    missing: int
    unjudged: int


@dataclass(frozen=True)
class RunComparison:
    """A run against the baseline on one measure: the mean difference with Student's t, and the randomisation test;
    each test Holm-corrected over all runs and measures. No p-value below 6 queries."""

    run: str
    baseline: str
    measure: str
    t_test: Comparison
    randomisation_p: float | None
    randomisation_p_holm: float | None

    @property
    def is_significant(self) -> bool:
        """By both tests."""
        return self.t_test.is_significant and is_significant(self.randomisation_p_holm)


@dataclass(frozen=True, repr=False)
class Evaluation(Result):
    """Runs measured on the same judgements and compared with the first of them."""

    FILE: ClassVar[str] = "evaluation.json"
    COMMAND: ClassVar[str] = "eval"

    runs: tuple[MeasuredRun, ...]
    comparisons: tuple[RunComparison, ...]
    queries: int
    seed: int
    rows: tuple[Row, ...] = table()

    @property
    def means(self) -> dict[str, dict[str, float]]:
        """The means alone, by run and measure."""
        return {run.name: {measure: mean.value or 0.0 for measure, mean in run.means.items()} for run in self.runs}

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        rows = pd.read_parquet(Path(folder, ROWS)).to_dict("records")
        return replace(super().read(folder), rows=typed(rows, tuple[Row, ...]))

    def to_pandas(self) -> pd.DataFrame:
        """One row per run, query and measure."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.rows], columns=["run", "qid", "measure", "value"])

    def verdict(self) -> list[str]:
        """For each run how it stands against the first, on the first measure; or the only run's mean."""
        measure = next(iter(self.runs[0].means))
        baseline = self.runs[0]
        first = [f"{baseline.name} has a mean {measure} of {baseline.means[measure].text()}."]
        return first + [_against(one) for one in self.comparisons if one.measure == measure]

    def plot(self, axes: Axes | None = None) -> Axes:
        """The means of the first measure, one bar per run, with their intervals."""
        from matplotlib.figure import Figure

        measure = next(iter(self.runs[0].means))
        means = [run.means[measure] for run in self.runs]
        axes = axes if axes is not None else Figure(figsize=(6.4, 0.9 + 0.3 * len(means))).subplots()
        axes.barh(range(len(means)), [mean.value or 0.0 for mean in means], height=0.66)
        for place, mean in enumerate(means):
            if mean.low is not None and mean.high is not None:
                axes.plot([mean.low, mean.high], [place, place], color="black", linewidth=1)
        axes.set_yticks(range(len(means)), [run.name for run in self.runs])
        axes.invert_yaxis()
        axes.set_xlabel(f"mean {measure} over {self.queries} queries")
        return axes

    def write_tables(self, folder: Path) -> list[Path]:
        with whole_file(folder / ROWS) as partial:
            self.to_pandas().to_parquet(partial, index=False)
        return [folder / ROWS]


def _against(one: RunComparison) -> str:
    """`bi: +0.021 [0.004, 0.039] nDCG@10 against bm25, significant (both tests, Holm).`"""
    difference = one.t_test.difference
    compared = f"{one.run}: {difference.text('+.3f')} {one.measure} against {one.baseline}"
    if difference.queries < FEWEST_QUERIES:
        return f"{compared}: {TOO_FEW} to tell."
    return f"{compared}, {'significant' if one.is_significant else 'not significant'} at 0.05 (both tests, Holm)."
