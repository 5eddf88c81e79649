"""What a training returns: means with intervals, the history of each model, and everything that decided them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.collections.formats import read_run
from whyrank.collections.records import Run
from whyrank.collections.trec import write_run
from whyrank.core.results import Result, table
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.learning.history import Epoch
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.material import Values
from whyrank.learning.settings import AllSettings
from whyrank.learning.splits import Split
from whyrank.learning.tables import Difference, Mean
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: The row of what is re-ranked.
FIRST_STAGE = "first stage"
#: Where the runs stand in the run folder.
RUNS = "runs"


@dataclass(frozen=True)
class TrainedModel:
    """One training: its epochs, the epoch that validation chose (0 is before training), the test values of that
    epoch by measure and query, and the model's folder, if it is kept."""

    fold: int
    seed: int
    chosen: int
    history: tuple[Epoch, ...]
    test: Values
    model: str | None

    @property
    def name(self) -> str:
        return f"fold {self.fold}, seed {self.seed}"

    @property
    def validation(self) -> float:
        """The measure that selects, after the chosen epoch."""
        return self.history[self.chosen].validation


@dataclass(frozen=True)
class FoldMean:
    """The test mean of one training."""

    fold: int
    seed: int
    chosen: int
    measure: str
    mean: Estimate

    def row(self) -> Mean:
        """The same as a row of a table."""
        return Mean(f"fold {self.fold}, seed {self.seed}", self.measure, self.mean)


@dataclass(frozen=True, repr=False)
class Training(Result):
    """A model trained fold by fold and seed by seed, tested on queries that it has not seen.

    `pairs` and `to_beat` have one number per fold: pairs per epoch, and the first stage's measure on the
    validation queries. `without_candidates`, `cut_queries` and `repeated_queries` count queries;
    `missing_documents` are relevant ones that the collection has no text of. The trained weights stand in the run
    folder's `models`; `save` into another folder writes none.
    """

    FILE: ClassVar[str] = "train.json"
    COMMAND: ClassVar[str] = "train"

    model: str
    backbone: str
    collection: str
    first_stage: str
    settings: AllSettings
    seeds: tuple[int, ...]
    folds: tuple[Split, ...]
    judgements: JudgementsUsed
    queries: int
    without_candidates: int
    missing_documents: int
    cut_queries: int
    repeated_queries: int
    pairs: tuple[int, ...]
    to_beat: tuple[float, ...]
    means: tuple[Mean, ...]
    by_fold: tuple[FoldMean, ...]
    differences: tuple[Difference, ...]
    models: tuple[TrainedModel, ...]
    first_stage_values: Values
    #: For each seed the test queries of all folds, ranked by its models.
    runs: tuple[Run, ...] = table()

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        found = super().read(folder)
        return replace(found, runs=tuple(read_run(path) for path in found._run_files(Path(folder))))

    @property
    def best(self) -> TrainedModel | None:
        """Of the models that are kept the one with the best validation: the test is not for choosing."""
        kept = [one for one in self.models if one.model]
        return max(kept, key=lambda one: one.validation) if kept else None

    @property
    def tested(self) -> set[str]:
        """The test queries of all folds."""
        return {qid for split in self.folds for qid in split.test}

    def verdict(self) -> list[str]:
        queries = len(self.tested)
        found = "; ".join(one.text() for one in self.differences)
        tested = counted(queries, "test query", "test queries")
        sentences = [f"{self.model} against the first stage, on {tested}: {found}."]
        if queries < FEWEST_QUERIES:
            sentences.append(f"Nothing can be tested: {FEWEST_QUERIES} test queries are needed.")
        idle = sum(one.chosen == 0 for one in self.models)
        if idle:
            sentences.append(
                f"In {idle} of {counted(len(self.models), 'training')} no epoch did better on the validation "
                "queries than the untrained model, which was kept."
            )
        return sentences

    def to_pandas(self) -> pd.DataFrame:
        """One row per training, measure and test query."""
        import pandas as pd

        rows = [
            (one.fold, one.seed, measure, qid, value)
            for one in self.models
            for measure, values in one.test.items()
            for qid, value in values.items()
        ]
        return pd.DataFrame(rows, columns=["fold", "seed", "measure", "qid", "value"])

    def plot(self, axes: Axes | None = None) -> Axes:
        """The test means of the last measure: each fold and seed, the first stage and the model."""
        from whyrank.learning.figures import plot_means
        from whyrank.plots.style import new_axes

        measure = self.means[-1].measure
        rows = [row for row in self.mean_rows() if row.measure == measure]
        axes = axes if axes is not None else new_axes(6.4, 0.9 + 0.3 * len(rows))
        return plot_means(axes, rows, [self.model], [one.name for one in self.models])

    def mean_rows(self) -> list[Mean]:
        """The means of each fold and seed, then those over all folds."""
        return [*(one.row() for one in self.by_fold), *self.means]

    def write_tables(self, folder: Path) -> list[Path]:
        """One TREC run per seed."""
        paths = self._run_files(folder)
        for path, run in zip(paths, self.runs, strict=True):
            write_run(path, run)
        return paths

    def figures(self) -> dict[str, str]:
        from whyrank.learning.report import training_figures

        return training_figures(self)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.learning.report import training_page

        return training_page(self).write(path, manifest)

    def _run_files(self, folder: Path) -> list[Path]:
        return [folder / RUNS / f"seed{seed}.trec" for seed in self.seeds]
