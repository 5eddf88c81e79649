"""What a fine-tuning returns: means with intervals, which differences are significant, and each training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.core.results import Result
from whyrank.evaluation.estimate import SIGNIFICANT
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.learning.finetuning.jobs import FineTuneSettings, Tuned
from whyrank.learning.history import Epoch
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.material import Values
from whyrank.learning.splits import Split
from whyrank.learning.tables import Difference, Mean, compare
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: What chooses an epoch, on the validation queries.
SELECT = "nDCG@10"
#: What is reported, on the test queries.
MEASURES = ("nDCG@1", "nDCG@10")
#: The row of the ranker before any training, and that of what it re-ranks.
UNTRAINED, FIRST_STAGE = "untrained", "first stage"
#: What the paper compares: aligned with not, and embeddings alone with all parameters.
AMONG_CONDITIONS = (
    ("aligned-full", "full"), ("aligned-embeddings", "embeddings"), ("embeddings", "full"),
)  # fmt: skip
#: How the comparisons of each family are named in the verdict.
FAMILIES = {
    "conditions": ("between the conditions", "No difference between the conditions"),
    "training": ("to the untrained ranker", "No condition's difference to the untrained ranker"),
}


@dataclass(frozen=True)
class TunedModel:
    """One training: its epochs, the epoch that validation chose (0 is before training), the test values of that
    epoch by measure and query, and the model's folder, if it is kept."""

    condition: str
    seed: int
    chosen: int
    history: tuple[Epoch, ...]
    test: Values
    model: str | None

    @classmethod
    def of(cls, tuned: Tuned, kept: bool = True) -> TunedModel:
        """From the result of a job."""
        history, model = tuned.history, f"models/{tuned.condition}-seed{tuned.seed}" if kept else None
        return cls(tuned.condition, tuned.seed, history.best, history.epochs, tuned.test, model)

    @property
    def validation(self) -> float:
        """The measure that selects, after the chosen epoch."""
        return self.history[self.chosen].validation


@dataclass(frozen=True, repr=False)
class FineTuning(Result):
    """A cross-encoder fine-tuned in several conditions, tested on queries that it has not seen.

    `positives` counts all to learn from, `pairs` those of an epoch; `missing_documents` are relevant ones that the
    collection has no text of; `dropped_queries` have no relevant document or no candidates.
    `aligned_tokens` are those whose embeddings were set to the IDF. The weights
    stand in the run folder's `models`; `save` elsewhere writes none.
    """

    FILE: ClassVar[str] = "finetune.json"
    COMMAND: ClassVar[str] = "finetune"

    ranker: str
    collection: str
    first_stage: str
    settings: FineTuneSettings
    split: Split
    judgements: JudgementsUsed
    positives: int
    pairs: int
    missing_documents: int
    dropped_queries: int
    aligned_tokens: int | None
    means: tuple[Mean, ...]
    differences: tuple[Difference, ...]
    models: tuple[TunedModel, ...]
    baselines: dict[str, Values]
    select: str = SELECT

    @property
    def best(self) -> TunedModel:
        """The model with the best validation: the test is not for choosing."""
        return max(self.models, key=lambda one: one.validation)

    def verdict(self) -> list[str]:
        return [*family_sentences(self.differences, len(self.split.test)), *idle_sentences(self.models)]

    def to_pandas(self) -> pd.DataFrame:
        """One row per training, measure and test query."""
        import pandas as pd

        rows = [
            (one.condition, one.seed, measure, qid, value)
            for one in self.models
            for measure, values in one.test.items()
            for qid, value in values.items()
        ]
        return pd.DataFrame(rows, columns=["condition", "seed", "measure", "qid", "value"])

    def plot(self, axes: Axes | None = None) -> Axes:
        """The test means of nDCG@10."""
        from whyrank.learning.figures import plot_means
        from whyrank.plots.style import new_axes

        rows = [row for row in self.means if row.measure == self.select]
        axes = axes if axes is not None else new_axes(6.4, 0.9 + 0.3 * len(rows))
        return plot_means(axes, rows, self.settings.conditions)

    def figures(self) -> dict[str, str]:
        from whyrank.learning.finetuning.report import finetuning_figures

        return finetuning_figures(self)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.learning.finetuning.report import finetuning_page

        return finetuning_page(self).write(path, manifest)


def family_sentences(differences: Iterable[Difference], queries: int) -> list[str]:
    """For each family of comparisons which of them are significant, or that none is or can be tested."""
    known, found = list(differences), []
    for family, (where, nothing) in FAMILIES.items():
        mine = [one for one in known if one.family == family]
        significant = [one for one in mine if one.comparison.is_significant]
        if mine and all(one.comparison.p_holm is None for one in mine):
            found.append(
                f"{nothing} can be tested: {queries} test queries are too few, {FEWEST_QUERIES} are needed."
            )
        elif mine and not significant:
            found.append(f"{nothing} is significant at {SIGNIFICANT} (Holm) on {queries} test queries.")
        elif mine:
            listed = "; ".join(f"{one.pair}, {one.measure}: {one.value}" for one in significant)
            found.append(f"Significant at {SIGNIFICANT} (Holm) {where}, on {queries} test queries: {listed}.")
    return found


def idle_sentences(models: Sequence[TunedModel]) -> list[str]:
    """How many trainings brought nothing better."""
    idle = sum(one.chosen == 0 for one in models)
    if not idle:
        return []
    return [
        f"In {idle} of {counted(len(models), 'training')} no epoch did better on the validation queries than the "
        "start, which was kept."
    ]


def tables(
    trained: Iterable[Tuned], untrained: Values, first_stage: Values, seed: int = 0
) -> tuple[tuple[Mean, ...], tuple[Difference, ...]]:
    """The means, and the differences among conditions and to the untrained ranker."""
    rows: dict[str, list[Values]] = {FIRST_STAGE: [first_stage], UNTRAINED: [untrained]}
    for one in trained:
        rows.setdefault(one.condition, []).append(one.test)
    return _means(rows, seed), _differences(rows, seed)


def _means(rows: Mapping[str, Sequence[Values]], seed: int) -> tuple[Mean, ...]:
    return tuple(Mean.of(name, measure, rows[name], seed) for name in rows for measure in MEASURES)


def _differences(rows: Mapping[str, Sequence[Values]], seed: int) -> tuple[Difference, ...]:
    among = [(a, b) for a, b in AMONG_CONDITIONS if a in rows and b in rows]
    against = [(name, UNTRAINED) for name in rows if name not in (FIRST_STAGE, UNTRAINED)]
    families = {"conditions": among, "training": against}
    return tuple(one for family, pairs in families.items() for one in compare(family, pairs, rows, MEASURES, seed))
