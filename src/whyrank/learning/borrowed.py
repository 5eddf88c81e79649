"""A ranker lent to a training: whatever happens to it, it comes back as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor

from whyrank.rankers.cross_encoder import CrossEncoder

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
