"""All trainings of a plan: each fold with each seed, chosen on validation queries, tested on others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from whyrank import __version__
from whyrank.core.errors import UserError
from whyrank.learning.checkpoints import WorkFolder, run_epochs
from whyrank.learning.history import History
from whyrank.learning.material import Candidates, Values
from whyrank.learning.models.network import Network
from whyrank.learning.optimisation import NotFinite
from whyrank.learning.pairwise import Learners, PairEpochs
from whyrank.learning.plan import Job, Plan
from whyrank.learning.processes import OneProcess, Processes, SharedCheckpoints, shared_scores
from whyrank.learning.progress import JobProgress, OnProgress, ignore_progress
from whyrank.learning.saved import save_trained
from whyrank.learning.trained import as_ranker
from whyrank.rankers.ranker import Ranker

#: Which of the trained models are kept: all, the first job's, or none.
KEEPS = ("all", "first", "none")
#: What to lower where a loss or a score is NaN.
RATES = "rate and backbone_rate"


@dataclass(frozen=True)
class Fitted:
    """The result of a job: its epochs, the test queries' measures after the epoch that validation chose, and the
    scores behind them, by query and document."""

    job: Job
    history: History
    test: Values
    scores: dict[str, dict[str, float]]


class Trainer:
    """The jobs of a plan.

    Models go to `folder`/models, an ordinary folder per job. `work` holds what a kill must not lose: the last and
    the best epoch of the running job, and the results of those that are finished. `about` says more of what was
    learned from, for the models' cards.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        work: Path,
        *,
        processes: Processes | None = None,
        keep: str = "all",
        about: Mapping[str, Any] | None = None,
    ) -> None:
        if keep not in KEEPS:
            raise UserError(f"unknown keep_models '{keep}'", todo=f"choose {', '.join(KEEPS)}")
        self.plan, self.models, self.work, self.keep = plan, folder / "models", work, keep
        self._kept, self.about = WorkFolder(work), about or {}
        self.processes = processes or OneProcess()
        self._done = 0
        if plan.smallest_part < self.processes.count:
            raise UserError(
                f"{plan.smallest_part} pairs read at a time cannot be shared by {self.processes.count} processes",
                where=plan.material.name,
                todo="use fewer processes, a larger batch or a smaller accumulate",
            )

    @property
    def steps(self) -> int:
        """Steps of all jobs, should none stop early."""
        return sum(self.plan.steps(job.fold) for job in self.plan.jobs)

    @property
    def unfinished(self) -> list[Job]:
        """Jobs that are still to be fitted."""
        return [job for job in self.plan.jobs if not self._kept.result(job, Fitted)]

    def to_beat(self, fold: int) -> float:
        """The measure that selects, of a fold's validation candidates in the order that they came in."""
        select = self.plan.settings.select
        found = self.plan.to_choose_by(fold).first_stage([select])
        return fmean(found[select].values())

    def run(self, on_progress: OnProgress = ignore_progress) -> list[Fitted]:
        """Trains what is not trained yet."""
        self._done, found = 0, []
        for job in self.plan.jobs:
            found.append(self.fit(job, on_progress))
            self._done += self.plan.steps(job.fold)
        return found

    def model_folder(self, job: Job) -> Path | None:
        """Where a job's model is kept, if it is."""
        kept = self.keep == "all" or (self.keep == "first" and job == self.plan.jobs[0])
        return self.models / str(job) if kept else None

    def forget(self) -> None:
        """Deletes what was kept in case of a kill."""
        self._kept.forget()

    def fit(self, job: Job, on_progress: OnProgress) -> Fitted:
        """The result of a job, trained now or before."""
        known = self.processes.from_first(lambda: self._kept.result(job, Fitted))
        if known is not None:
            return known
        network = self.plan.new_network(job.seed).to(self.processes.device)
        checkpoints = SharedCheckpoints(self._kept.epochs(job), self.processes)
        history = self._train(job, network, checkpoints, on_progress)
        checkpoints.restore_weights(network, history.best)
        fitted = self._tested(job, network, history)
        self.processes.from_first(lambda: self._keep(fitted, network))
        checkpoints.forget()
        return fitted

    def _train(
        self, job: Job, network: Network, checkpoints: SharedCheckpoints, on_progress: OnProgress
    ) -> History:
        plan, settings = self.plan, self.plan.settings
        pairs = plan.pairs(job.fold)
        steps = pairs.steps(settings.batch)
        progress = JobProgress(on_progress, job, self._done, steps)
        ranker, candidates = self._ranker(network), plan.to_choose_by(job.fold)

        def validate(epoch: int) -> float:
            return progress.measure(epoch, lambda: self._validation(candidates, ranker, epoch))

        learners = Learners.of(network, settings, steps * settings.epochs)
        epochs = PairEpochs(learners, plan.material, pairs, settings, self.processes, job.seed, progress.step)
        with self._kept.stopping(job, RATES):
            return run_epochs(learners, checkpoints, epochs.train, validate, settings.epochs, settings.patience)

    def _validation(self, candidates: Candidates, ranker: Ranker, epoch: int) -> float:
        """The measure that selects, on the validation queries."""
        select = self.plan.settings.select
        scores = self._scores(candidates, ranker, f"a validation score after epoch {epoch}")
        return fmean(candidates.values(scores, [select])[select].values())

    def _tested(self, job: Job, network: Network, history: History) -> Fitted:
        candidates = Candidates.of(self.plan.material, self.plan.splits[job.fold - 1].test)
        with self._kept.stopping(job, RATES):
            scores = self._scores(candidates, self._ranker(network), "a test score")
        by_query: dict[str, dict[str, float]] = {}
        for row, score in zip(candidates.rows, scores, strict=True):
            by_query.setdefault(row.qid, {})[row.docno] = score
        return Fitted(job, history, candidates.values(scores, self.plan.settings.measures), by_query)

    def _scores(self, candidates: Candidates, ranker: Ranker, what: str) -> list[float]:
        """The scores of candidates; NotFinite, with what they are, where one is NaN."""
        scores = shared_scores(candidates, ranker, self.processes)
        for score in scores:
            if not math.isfinite(score):
                raise NotFinite(f"{what} is {score}")
        return scores

    def _keep(self, fitted: Fitted, network: Network) -> None:
        folder = self.model_folder(fitted.job)
        if folder is not None:
            save_trained(network, self.plan.backbone, folder, self._facts(fitted))
        self._kept.keep(fitted.job, fitted)

    def _facts(self, fitted: Fitted) -> dict[str, Any]:
        """What the model's config and card say of its training."""
        plan, job, history = self.plan, fitted.job, fitted.history
        split = plan.splits[job.fold - 1]
        return {
            "collection": plan.material.name,
            **self.about,
            "fold": f"{job.fold} of {len(plan.splits)}",
            "seed": job.seed,
            "epoch": history.best,
            "epochs_trained": history.last,
            "train_queries": len(split.train),
            "validation_queries": len(split.validation),
            "test_queries": len(split.test),
            "pairs_an_epoch": len(plan.pairs(job.fold)),
            "selected_by": plan.settings.select,
            "validation": history.epochs[history.best].validation,
            "settings": asdict(plan.settings),
            "test": {name: fmean(values.values()) for name, values in fitted.test.items()},
            "whyrank": __version__,
        }

    def _ranker(self, network: Network) -> Ranker:
        return as_ranker(network, self.plan.backbone)
