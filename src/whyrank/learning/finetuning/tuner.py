"""Fine-tuning a cross-encoder in several conditions and with several seeds, each chosen on validation queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

from torch import Tensor

from whyrank.collections.records import Run
from whyrank.edits.saving import save_checkpoint
from whyrank.learning.checkpoints import Checkpoints, WorkFolder, run_epochs
from whyrank.learning.finetuning.conditions import AlignedEmbeddings, Condition
from whyrank.learning.finetuning.jobs import COLLECTION, FineTuneSettings, Tuned, TuningJob
from whyrank.learning.finetuning.pointwise import PairsToLearn, PointwiseEpochs
from whyrank.learning.finetuning.results import MEASURES, SELECT
from whyrank.learning.history import History
from whyrank.learning.judgements import Judged
from whyrank.learning.material import Candidates, Material
from whyrank.learning.optimisation import Learner, NotFinite
from whyrank.learning.progress import JobProgress, OnProgress, ignore_progress
from whyrank.learning.splits import Split, split_queries
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.ranker import ScoreNotFinite


class FineTuner:
    """All jobs on one split of one collection.

    Models go to `folder`/models, an ordinary checkpoint folder per job. `work` holds what a kill must not lose:
    the last and the best epoch of the running job, and the results of those that are finished. `aligned` is
    needed by aligned conditions only.
    """

    def __init__(
        self,
        ranker: CrossEncoder,
        material: Material,
        split: Split,
        settings: FineTuneSettings,
        *,
        folder: Path,
        work: Path,
        judged: Judged,
        aligned: AlignedEmbeddings | None = None,
    ) -> None:
        if aligned is None and settings.aligns:
            raise ValueError("an aligned condition needs aligned embeddings")
        self.ranker, self.material, self.split, self.settings = ranker, material, split, settings
        self.models, self.work, self.judged, self.aligned = folder / "models", work, judged, aligned
        self._kept = WorkFolder(work)
        self.pairs = PairsToLearn.of(
            material, split.train, settings.negatives, settings.positives,
            tuple(material.texts) if settings.negatives_from == COLLECTION else None,
        )  # fmt: skip
        self.validation = Candidates.of(material, split.validation)
        self.test = Candidates.of(material, split.test)

    @classmethod
    def of(
        cls, ranker: CrossEncoder, judged: Judged, first: Run, settings: FineTuneSettings, folder: Path, work: Path
    ) -> FineTuner:
        """On the collection's judged queries and the candidates of a first stage: its splits, or one set of
        judgements in three parts."""
        collection, given = judged.collection, judged.test is not None
        most = None if given else settings.queries
        material = Material.of(
            collection, first, k=settings.depth, positive=settings.positive, most=most,
            every_text=settings.negatives_from == COLLECTION,
        )  # fmt: skip
        split = (
            judged.split(material.queries, settings.seed, settings.queries, collection.name)
            if given
            else split_queries(material.queries, settings.seed, where=collection.name)
        )
        split = split.unrepeated(material.queries)
        aligned = AlignedEmbeddings.of(ranker, collection) if settings.aligns else None
        return cls(ranker, material, split, settings, folder=folder, work=work, judged=judged, aligned=aligned)

    @property
    def steps(self) -> int:
        """Steps of all jobs."""
        return self._steps_per_job * len(self.settings.jobs)

    @property
    def _steps_per_job(self) -> int:
        return self.pairs.steps(self.settings.batch) * self.settings.epochs

    def run(self, on_progress: OnProgress = ignore_progress) -> list[Tuned]:
        """Trains what is not trained yet; the ranker itself is as it was when this ends."""
        with borrowed(self.ranker) as original:
            return [
                self._trained(number, job, original, on_progress) for number, job in enumerate(self.settings.jobs)
            ]

    def forget(self) -> None:
        """Deletes what was kept in case of a kill."""
        self._kept.forget()

    def _trained(self, number: int, job: TuningJob, original: Weights, on_progress: OnProgress) -> Tuned:
        known = self._kept.result(job, Tuned)
        if known is not None:
            return known
        checkpoints = Checkpoints(self._kept.epochs(job))
        history = self._train(number, job, original, checkpoints, on_progress)
        checkpoints.restore_weights(self.ranker.model, history.best)
        self.ranker.model.eval()
        self._save(job, history.best)
        trained = Tuned(str(job.condition), job.seed, history, self.test.measured(self.ranker, MEASURES))
        self._kept.keep(job, trained)
        checkpoints.forget()
        return trained

    def _save(self, job: TuningJob, epoch: int) -> None:
        folder = self.models / str(job)
        if not folder.is_dir():
            done = {"finetune": {"condition": str(job.condition), "seed": job.seed, "epoch": epoch}}
            save_checkpoint(self.ranker, folder, done, f"fine-tuning ({job}, epoch {epoch}) of")

    def _train(
        self, number: int, job: TuningJob, original: Weights, checkpoints: Checkpoints, on_progress: OnProgress
    ) -> History:
        ranker, settings = self.ranker, self.settings
        steps = self.pairs.steps(settings.batch)
        progress = JobProgress(on_progress, job, number * self._steps_per_job, steps)
        epochs = PointwiseEpochs(ranker, self.material, self.pairs, settings.batch, job.seed, progress.step)
        self._start(job.condition, original)
        parameters = job.condition.parameters(ranker)
        learner = Learner.of(ranker.model, parameters, settings.rate, self._steps_per_job)
        with self._kept.stopping(job, "rate"):
            return run_epochs(
                learner, checkpoints, lambda epoch: epochs.train(learner, epoch),
                lambda epoch: progress.measure(epoch, lambda: self._validation(epoch)), settings.epochs,
                settings.patience,
            )  # fmt: skip

    def _validation(self, epoch: int) -> float:
        """The measure that selects, on the validation queries."""
        self.ranker.model.eval()
        try:
            return fmean(self.validation.measured(self.ranker, (SELECT,))[SELECT].values())
        except ScoreNotFinite as error:
            raise NotFinite(f"a validation score after epoch {epoch} is not finite ({error.what})") from error

    def _start(self, condition: Condition, original: Weights) -> None:
        """The checkpoint's own weights, aligned if the condition says so."""
        self.ranker.model.load_state_dict(original)
        if condition.aligned and self.aligned:
            self.aligned.put_into(self.ranker)


Weights = dict[str, Tensor]


@contextmanager
def borrowed(ranker: CrossEncoder) -> Iterator[Weights]:
    """Yields a copy of the ranker's weights; puts them back, with what may learn, when the block ends."""
    model = ranker.model
    weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
    learning = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    try:
        yield weights
    finally:
        model.load_state_dict(weights)
        for name, parameter in model.named_parameters():
            parameter.grad = None
            parameter.requires_grad_(learning[name])
        model.eval()
