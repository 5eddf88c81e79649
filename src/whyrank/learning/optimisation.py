"""AdamW with a warm-up and a linear decay, at one learning rate or several, one guarded step of it, and its seeds.

Random numbers depend on seed and epoch alone, so that training continues after a kill as it would have; no
generator's state needs keeping.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

#: The share of all steps in which the learning rate rises.
WARM_UP = 0.1
#: Weight decay of matrices; biases and norms have none.
DECAY = 0.01
#: The largest norm of a step's gradient.
CLIP = 1.0


class NotFinite(Exception):
    """A loss or a gradient that is NaN or infinite; nothing was changed by it."""


@dataclass(frozen=True)
class Descent:
    """How steps are taken: the share of them in which the rate rises, the weight decay of matrices, and the
    largest norm of a gradient."""

    warm_up: float = WARM_UP
    decay: float = DECAY
    clip: float = CLIP


class Resumable(Protocol):
    """A training whose state can be kept and put back: a module's weights, and what is not among them."""

    @property
    def module(self) -> nn.Module: ...

    def state(self) -> dict[str, Any]: ...

    def load_state(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True, eq=False)
class Learner:
    """What training changes: a module, its optimiser and the schedule of its learning rate."""

    module: nn.Module
    optimiser: AdamW
    schedule: LambdaLR
    clip: float = CLIP

    @classmethod
    def of(cls, module: nn.Module, parameters: Iterable[Tensor], rate: float, steps: int) -> Learner:
        """AdamW on these parameters over so many steps in all; the module's other parameters are frozen."""
        chosen = list(parameters)
        wanted = {id(parameter) for parameter in chosen}
        for parameter in module.parameters():
            parameter.requires_grad_(id(parameter) in wanted)
        return cls.at_rates(module, [(chosen, rate)], steps)

    @classmethod
    def at_rates(
        cls,
        module: nn.Module,
        rates: Iterable[tuple[Iterable[Tensor], float]],
        steps: int | None,
        how: Descent | None = None,
    ) -> Learner:
        """AdamW on some parameters of the module, each group at its own rate; without a number of steps, at the
        same rate all the time."""
        how = how or Descent()
        groups = [{**group, "lr": rate} for some, rate in rates for group in parameter_groups(some, how.decay)]
        optimiser = AdamW(groups, fused=True)

        def share(step: int) -> float:
            return 1.0 if steps is None else rate_share(step, steps, how.warm_up)

        return cls(module, optimiser, LambdaLR(optimiser, share), how.clip)

    @property
    def learned(self) -> list[Tensor]:
        """The parameters that are learned."""
        return [weight for group in self.optimiser.param_groups for weight in group["params"]]

    def step(self, loss: Tensor) -> float:
        """Goes one step down the gradient of the loss, which it returns as a number."""
        value = finite("the loss", loss)
        self.start()
        loss.backward()
        self.descend()
        return value

    def start(self) -> None:
        """Forgets the gradient of the step before."""
        self.optimiser.zero_grad(set_to_none=True)

    def descend(self) -> None:
        """Goes one step down the gradient that backward passes have added up."""
        norm = float(torch.nn.utils.clip_grad_norm_(self.learned, self.clip))
        if not math.isfinite(norm):
            raise NotFinite(f"the gradient's norm is {norm}")
        self.optimiser.step()
        self.schedule.step()

    def state(self) -> dict[str, Any]:
        """What is not among the module's weights and decides the next step."""
        return {"optimiser": self.optimiser.state_dict(), "schedule": self.schedule.state_dict()}

    def load_state(self, state: dict[str, Any]) -> None:
        self.optimiser.load_state_dict(state["optimiser"])
        self.schedule.load_state_dict(state["schedule"])


def finite(what: str, loss: Tensor) -> float:
    """A loss as a number; raises NotFinite where it is NaN or infinite."""
    value = float(loss.detach())
    if not math.isfinite(value):
        raise NotFinite(f"{what} is {value}")
    return value


def parameter_groups(parameters: Iterable[Tensor], decay: float = DECAY) -> list[dict[str, object]]:
    """Matrices decay; vectors, which are biases and norms, do not."""
    chosen = list(parameters)
    matrices = [weight for weight in chosen if weight.ndim > 1]
    vectors = [weight for weight in chosen if weight.ndim <= 1]
    groups: list[dict[str, object]] = [
        {"params": matrices, "weight_decay": decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def rate_share(step: int, steps: int, warm_up: float = WARM_UP) -> float:
    """The share of the full learning rate at a step (from 0): up over the warm-up, then down to 0. No step of the
    warm-up is at 0, so that even a training of one step learns."""
    rising = math.ceil(warm_up * steps)
    if step < rising:
        return (step + 1) / (rising + 1)
    return max(0.0, (steps - step) / max(1, steps - rising))


@contextmanager
def seeded(*numbers: int) -> Iterator[None]:
    """Python's, numpy's and torch's own generators seeded by these numbers; as they were when the block ends."""
    before = random.getstate(), np.random.get_state()
    seed = random.Random("/".join(map(str, numbers))).getrandbits(32)
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if torch.cuda.is_available() else []):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
