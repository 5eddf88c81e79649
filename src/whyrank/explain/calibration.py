"""What a score means: what `calibrate` returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.core.atomic import whole_file
from whyrank.core.json_file import typed
from whyrank.core.results import Result, table
from whyrank.evaluation.auc import Separation
from whyrank.evaluation.calibration import Bin
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

ROWS = "calibration.parquet"


@dataclass(frozen=True)
class CalibratedRow:
    """A judged document of a query: its score, and what a fit on other queries makes of it."""

    qid: str
    docid: str
    score: float
    grade: int
    probability: float
    expected_grade: float


@dataclass(frozen=True)
class Knot:
    """A point of the fit on all queries: the probability of a relevant document and the expected grade at a score.
    Between two points both are linear, outside of all constant."""

    score: float
    probability: float
    grade: float


@dataclass(frozen=True)
class CutOff:
    """The lowest score that reaches the wanted precision (None: no score does), chosen on all queries; precision
    and recall (of the run's relevant documents) by cut-offs that were chosen on other queries.

    `passing` counts the rows of the run at or above the score, `unjudged` those of them without a judgement.
    """

    wanted: float
    score: float | None
    precision: Estimate
    recall: Estimate
    documents: int
    queries: int
    passing: int
    unjudged: int
    #: Whether no score reached it in some fold, so that none of its documents pass.
    in_every_fold: bool


@dataclass(frozen=True)
class Sample:
    """The judged documents of a run: how many, how many of them relevant; and how many rows are not judged."""

    queries: int
    documents: int
    relevant: int
    unjudged: int
    unjudged_queries: int
    min_grade: int
    #: Whether unjudged documents of judged queries were taken as not relevant; else they were dropped.
    assumed: bool


@dataclass(frozen=True, repr=False)
class Calibration(Result):
    """How a run's scores translate into probabilities and grades, how well, and where to cut.

    `skill` is 1 - Brier score / Brier score of the base rate, `grades_explained` the R2 of expected grades (None
    where a grade says no more than relevant or not); both, and all bins, on queries that the fit did not see.
    """

    FILE: ClassVar[str] = "calibration.json"
    COMMAND: ClassVar[str] = "eval --calibrate"

    run: str
    sample: Sample
    brier: Estimate
    skill: Estimate
    grades_explained: Estimate | None
    #: Mean distance of probabilities from shares over ten bins, and what right probabilities would have by chance.
    error: float
    error_by_chance: float
    separation: Separation
    cut_off: CutOff | None
    knots: tuple[Knot, ...]
    by_probability: tuple[Bin, ...]
    by_score: tuple[Bin, ...]
    seed: int
    rows: tuple[CalibratedRow, ...] = table()

    def probability(self, score: float) -> float:
        """That a document with this score is relevant."""
        return self._at(score, [one.probability for one in self.knots])

    def grade(self, score: float) -> float:
        """The expected grade of a document with this score."""
        return self._at(score, [one.grade for one in self.knots])

    def _at(self, score: float, values: list[float]) -> float:
        import numpy as np

        return float(np.interp(score, [one.score for one in self.knots], values))

    def verdict(self) -> list[str]:
        """How much a score says, how right probabilities are, the cut-off, and what none of it can say."""
        from whyrank.explain.calibration_verdict import sentences

        return sentences(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row per judged document of a query."""
        import pandas as pd

        columns = list(CalibratedRow.__annotations__)
        return pd.DataFrame([vars(row) for row in self.rows], columns=columns)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The share of relevant documents by score, with the fit."""
        from whyrank.explain.calibration_figures import plot_scores
        from whyrank.plots.style import new_axes

        return plot_scores(self, axes if axes is not None else new_axes(6.2, 3.4))

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        rows = pd.read_parquet(Path(folder, ROWS)).to_dict("records")
        return replace(super().read(folder), rows=typed(rows, tuple[CalibratedRow, ...]))

    def write_tables(self, folder: Path) -> list[Path]:
        with whole_file(folder / ROWS) as partial:
            self.to_pandas().to_parquet(partial, index=False)
        return [folder / ROWS]

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.explain.calibration_report import calibration_page

        return calibration_page(self).write(path, manifest)
