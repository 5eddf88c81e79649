"""The quick tangent against torch's own."""

from __future__ import annotations

import pytest
import torch

from whyrank.learning.models.pooling import quick_tanh_


@pytest.mark.parametrize(("precision", "near"), [(torch.float64, 2e-15), (torch.float32, 5e-7)])
def test_values_and_gradients_are_those_of_tanh(precision: torch.dtype, near: float) -> None:
    places = torch.cat([torch.linspace(-12, 12, 4001), torch.tensor([0.0, -1e-9, 1e4, -1e4, 1e30])])
    ours, exact = (places.detach().clone().to(kind).requires_grad_() for kind in (precision, torch.float64))
    found, expected = quick_tanh_(ours * 1), torch.tanh(exact)
    found.sum().backward()
    expected.sum().backward()
    assert (found - expected).abs().max() < near
    assert (ours.grad - exact.grad).abs().max() < near
