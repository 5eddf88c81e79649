"""Learning from pairs: one step of a model and its critics, and an epoch of such steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from whyrank.learning.graded_pairs import GradedPair, GradedPairs, in_parts
from whyrank.learning.history import Learned
from whyrank.learning.material import Material
from whyrank.learning.models.network import Network, Output
from whyrank.learning.optimisation import Learner, NotFinite, finite, seeded
from whyrank.learning.processes import Processes
from whyrank.learning.settings import TrainSettings

#: The name of the critics' loss, which is no part of the model's.
CRITICS = "critics"
#: Called with the epoch, the step in it (from 1) and the mean losses of the epoch so far, by name.
OnStep = Callable[[int, int, dict[str, float]], object]


class Mean:
    """Mean losses over pairs, by name; a loss that some pairs do not have is the mean over the others."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._pairs: Counter[str] = Counter()

    def add(self, losses: Mapping[str, float], pairs: int) -> None:
        """The mean losses of some more pairs."""
        for name, value in losses.items():
            self._sums[name] += value * pairs
            self._pairs[name] += pairs

    def values(self) -> dict[str, float]:
        return {name: total / self._pairs[name] for name, total in self._sums.items()}


@dataclass(frozen=True, eq=False)
class Learners:
    """A network with the optimiser of its own parameters and, if it has critics, that of theirs."""

    network: Network
    own: Learner
    critics: Learner | None

    @classmethod
    def of(cls, network: Network, settings: TrainSettings, steps: int) -> Learners:
        """Over so many steps in all; the critics' rate stays what it is."""
        rates = [(network.slow(), settings.backbone_rate), (network.fast(), settings.rate)]
        own = Learner.at_rates(network, rates, steps, settings.descent)
        if network.critics is None:
            return cls(network, own, None)
        rates = [(list(network.critics.parameters()), settings.critic_rate)]
        return cls(network, own, Learner.at_rates(network, rates, None, settings.descent))

    @property
    def module(self) -> nn.Module:
        return self.network

    def state(self) -> dict[str, Any]:
        return {"own": self.own.state(), "critics": self.critics.state() if self.critics else None}

    def load_state(self, state: dict[str, Any]) -> None:
        self.own.load_state(state["own"])
        if self.critics:
            self.critics.load_state(state["critics"])


@dataclass(frozen=True)
class PairEpochs:
    """The epochs of a training with one seed."""

    learners: Learners
    material: Material
    pairs: GradedPairs
    settings: TrainSettings
    processes: Processes
    seed: int
    on_step: OnStep | None = None

    def train(self, epoch: int) -> Learned:
        """Learns from each pair of the epoch once; returns the mean losses over the pairs."""
        mean = Mean()
        self.learners.network.train()
        with seeded(self.seed, epoch, *[self.processes.index] * (self.processes.index > 0)):
            batches = self.pairs.batches(self.seed, epoch, self.settings.batch)
            for step, batch in enumerate(batches, start=1):
                self._step(batch, mean, f"epoch {epoch}, step {step}")
                if self.on_step:
                    self.on_step(epoch, step, mean.values())
        means = mean.values()
        return Learned(sum(value for name, value in means.items() if name != CRITICS), means)

    def _step(self, batch: Sequence[GradedPair], mean: Mean, where: str) -> None:
        """One step of the model, whose losses are added to the mean."""
        own = self.learners.own
        try:
            own.start()
            for part in in_parts(batch, min(self.settings.accumulate, len(batch))):
                mean.add(self._backward(part, len(part) / len(batch)), len(part))
            self.processes.add_up(own.learned)
            own.descend()
        except NotFinite as error:
            raise NotFinite(f"{error} in {where}") from error

    def _backward(self, part: Sequence[GradedPair], share: float) -> dict[str, float]:
        """A step of the critics, and a backward pass of this share of the model's step; returns the losses."""
        numbers = {qid: number for number, qid in enumerate(dict.fromkeys(pair.qid for pair in part))}
        queries = [numbers[pair.qid] for pair in part] * 2
        output = self._output(part)
        criticised = self._criticise(output.detached(), queries)
        losses = self.learners.network.losses(output, queries)
        values = {name: finite(f"the {name} loss", loss) for name, loss in losses.items()}
        (share * _sum(losses)).backward()
        return {**values, **criticised}

    def _criticise(self, output: Output, queries: Sequence[int]) -> dict[str, float]:
        """A step of the critics, if there are any and the queries teach them something."""
        critics = self.learners.critics
        if critics is None:
            return {}
        loss = self.learners.network.critic_loss(output, queries)
        if loss is None:
            return {}
        finite(f"the {CRITICS} loss", loss)
        return {CRITICS: critics.step(loss)}

    def _output(self, part: Sequence[GradedPair]) -> Output:
        """Of the better documents of a part, then of the worse."""
        mine = self.processes.share(part)
        texts = [self.material.pair(pair.qid, pair.better) for pair in mine]
        texts += [self.material.pair(pair.qid, pair.worse) for pair in mine]
        network = self.learners.network
        return self.processes.whole(network.output(network.read(texts)), len(part))


def _sum(losses: dict[str, Tensor]) -> Tensor:
    first, *others = losses.values()
    for loss in others:
        first = first + loss
    return first
