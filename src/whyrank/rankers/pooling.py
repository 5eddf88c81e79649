"""From hidden states to one vector: the first row, or the mean of the rows that are not padding."""

from __future__ import annotations

from torch import Tensor

from whyrank.encoders.inputs import Inputs

POOLINGS = ("cls", "mean")


def mean_rows(hidden: Tensor, inputs: Inputs) -> Tensor:
    """[B, S, d] -> [B, d], without padding."""
    if inputs.mask is None:
        return hidden.mean(dim=1)
    real = inputs.mask[..., None].to(hidden.dtype)
    return (hidden * real).sum(dim=1) / real.sum(dim=1)
