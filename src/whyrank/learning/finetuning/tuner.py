"""Fine-tuning a cross-encoder in several conditions and with several seeds, each chosen on validation queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from torch import Tensor

from whyrank.collections.records import Run
from whyrank.edits.saving import save_checkpoint
from whyrank.learning.checkpoints import Checkpoints, WorkFolder, run_epochs
from whyrank.learning.finetuning.conditions import AlignedEmbeddings, Condition
from whyrank.learning.finetuning.jobs import Settings, Tuned, TuningJob
from whyrank.learning.finetuning.pointwise import PairsToLearn, PointwiseEpochs
from whyrank.learning.history import History
from whyrank.learning.judgements import Judged
from whyrank.learning.material import Candidates, Material
from whyrank.learning.optimisation import Learner, NotFinite
from whyrank.learning.splits import Split, split_queries
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.ranker import ScoreNotFinite

#: What chooses an epoch, on the validation queries.
CHOOSES = "nDCG@10"
#: What is reported, on the test queries.
MEASURES = ("nDCG@1", "nDCG@10")


class TuningProgress(NamedTuple):
    """Where the work is: `done` steps of all jobs together, the job, its epoch, and the epoch's loss so far (none
    while it is measured)."""

    done: int
    job: TuningJob
    epoch: int
    loss: float | None


#: Told where the work is.
OnProgress = Callable[[TuningProgress], object]


class FineTuner:
    """All jobs on one split of one collection.

    Models go to `folder`/models, an ordinary checkpoint folder a job. `work` holds what a kill must not lose: the
    last and the best epoch of the running job, and the results of those that are finished. `aligned` is
    needed by aligned conditions only.
    """

    def __init__(
        self,
        ranker: CrossEncoder,
        material: Material,
        split: Split,
        settings: Settings,
        *,
        folder: Path,
        work: Path,
        what: Judged,
        aligned: AlignedEmbeddings | None = None,
    ) -> None:
        if aligned is None and settings.aligns:
            raise ValueError("an aligned condition needs aligned embeddings")
        self.ranker, self.material, self.split, self.settings = ranker, material, split, settings
        self.models, self.work, self.what, self.aligned = folder / "models", work, what, aligned
        self._kept = WorkFolder(work)
        self.pairs = PairsToLearn.of(material, split.train, settings.negatives)
        self.validation = Candidates.of(material, split.validation)
        self.test = Candidates.of(material, split.test)

    @classmethod
    def of(
        cls, ranker: CrossEncoder, what: Judged, first: Run, settings: Settings, folder: Path, work: Path
    ) -> FineTuner:
        """On the collection's judged queries and the candidates of a first stage: its splits, or one set of
        judgements in three parts."""
        collection, given = what.collection, what.test is not None
        most = None if given else settings.queries
        material = Material.of(collection, first, k=settings.k, positive=settings.positive, most=most)
        parted = (
            what.split(material.queries, settings.seed, settings.queries, collection.name)
            if given
            else split_queries(material.queries, settings.seed, where=collection.name)
        )
        split = parted.unrepeated(material.queries)
        aligned = AlignedEmbeddings.of(ranker, collection) if settings.aligns else None
        return cls(ranker, material, split, settings, folder=folder, work=work, what=what, aligned=aligned)

    @property
    def steps(self) -> int:
        """Steps of all jobs."""
        return self._steps_a_job * len(self.settings.jobs)

    @property
    def _steps_a_job(self) -> int:
        return self.pairs.steps(self.settings.batch) * self.settings.epochs

    def run(self, watch: OnProgress | None = None) -> list[Tuned]:
        """Trains what is not trained yet; the ranker itself is as it was when this ends."""
        tell = watch or (lambda moment: None)
        with borrowed(self.ranker) as original:
            return [self._trained(number, job, original, tell) for number, job in enumerate(self.settings.jobs)]

    def forget(self) -> None:
        """Deletes what was kept in case of a kill."""
        self._kept.forget()

    def _trained(self, number: int, job: TuningJob, original: Weights, watch: OnProgress) -> Tuned:
        told = self._kept.result(job)
        if told:
            return Tuned.from_json(told)
        checkpoints = Checkpoints(self._kept.epochs(job))
        history = self._train(number, job, original, checkpoints, watch)
        checkpoints.restore_weights(self.ranker.model, history.best)
        self.ranker.model.eval()
        self._save(job, history.best)
        trained = Tuned(str(job.condition), job.seed, history, self.test.measured(self.ranker, MEASURES))
        self._kept.keep(job, trained.to_json())
        checkpoints.forget()
        return trained

    def _save(self, job: TuningJob, epoch: int) -> None:
        folder = self.models / str(job)
        if not folder.is_dir():
            done = {"finetune": {"condition": str(job.condition), "seed": job.seed, "epoch": epoch}}
            save_checkpoint(self.ranker, folder, done, f"fine-tuning ({job}, epoch {epoch}) of")

    def _train(
        self, number: int, job: TuningJob, original: Weights, checkpoints: Checkpoints, watch: OnProgress
    ) -> History:
        ranker, settings = self.ranker, self.settings
        before, steps = number * self._steps_a_job, self.pairs.steps(settings.batch)

        def tell(epoch: int, step: int, loss: float | None) -> None:
            watch(TuningProgress(before + max(0, epoch - 1) * steps + step, job, epoch, loss))

        def validate(epoch: int) -> float:
            tell(epoch, steps if epoch else 0, None)
            ranker.model.eval()
            try:
                return fmean(self.validation.measured(ranker, (CHOOSES,))[CHOOSES].values())
            except ScoreNotFinite as error:
                raise NotFinite(f"a validation score after epoch {epoch} is not finite ({error.what})") from error

        epochs = PointwiseEpochs(ranker, self.material, self.pairs, settings.batch, job.seed, tell)
        self._start(job.condition, original)
        parameters = job.condition.parameters(ranker)
        learner = Learner.of(ranker.model, parameters, settings.rate, self._steps_a_job)
        with self._kept.stopping(job, "--rate"):
            return run_epochs(
                learner, checkpoints, lambda epoch: epochs.train(learner, epoch), validate, settings.epochs,
                settings.patience,
            )  # fmt: skip

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
