"""AdamW with a warm-up and a linear decay, and one guarded step of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

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


@dataclass(frozen=True, eq=False)
class Learner:
    """What training changes: a module, its optimiser and the schedule of its learning rate."""

    module: nn.Module
    optimiser: AdamW
    schedule: LambdaLR

    @classmethod
    def of(cls, module: nn.Module, parameters: Iterable[Tensor], rate: float, steps: int) -> Learner:
        """AdamW on these parameters over so many steps in all; the module's other parameters are frozen."""
        chosen = list(parameters)
        wanted = {id(parameter) for parameter in chosen}
        for parameter in module.parameters():
            parameter.requires_grad_(id(parameter) in wanted)
        optimiser = AdamW(parameter_groups(chosen), lr=rate)
        return cls(module, optimiser, LambdaLR(optimiser, lambda step: rate_share(step, steps)))

    def step(self, loss: Tensor) -> float:
        """Goes one step down the gradient of the loss, which it gives as a number."""
        value = float(loss.detach())
        if not math.isfinite(value):
            raise NotFinite(f"the loss is {value}")
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        learned = [weight for group in self.optimiser.param_groups for weight in group["params"]]
        norm = float(torch.nn.utils.clip_grad_norm_(learned, CLIP))
        if not math.isfinite(norm):
            raise NotFinite(f"the gradient's norm is {norm}")
        self.optimiser.step()
        self.schedule.step()
        return value


def parameter_groups(parameters: Iterable[Tensor]) -> list[dict[str, object]]:
    """Matrices decay; vectors, which are biases and norms, do not."""
    chosen = list(parameters)
    matrices = [weight for weight in chosen if weight.ndim > 1]
    vectors = [weight for weight in chosen if weight.ndim <= 1]
    groups: list[dict[str, object]] = [
        {"params": matrices, "weight_decay": DECAY},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def rate_share(step: int, steps: int) -> float:
    """The share of the full learning rate at a step (from 0): up over the first tenth, then down to 0."""
    warm_up = math.ceil(WARM_UP * steps)
    if step < warm_up:
        return step / warm_up
    return max(0.0, (steps - step) / max(1, steps - warm_up))
