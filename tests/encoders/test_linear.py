"""A product of many rows: the same numbers whoever computes it, and gradients wherever they are wanted."""

import pytest
import torch
from torch import nn

from whyrank.encoders import linear as module
from whyrank.encoders.linear import LEAST_ROWS, apply, linear

needs_onednn = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this PyTorch has no oneDNN"
)


@pytest.fixture(params=["PyTorch's", pytest.param("oneDNN's", marks=needs_onednn)])
def kernel(request, monkeypatch):
    monkeypatch.setattr(module, "onednn_is_faster", lambda: request.param == "oneDNN's")


def drawn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("shape", [(1, 1), (3, LEAST_ROWS), (LEAST_ROWS - 1,), (LEAST_ROWS,)])
@pytest.mark.parametrize("biased", [True, False])
def test_the_product_is_that_of_float64(kernel, shape, biased):
    x, weight, bias = drawn(*shape, 384), drawn(96, 384, seed=1), drawn(96, seed=2) if biased else None
    exact = x.double() @ weight.double().T + (0 if bias is None else bias.double())
    with torch.inference_mode():
        assert (linear(x, weight, bias) - exact).abs().max() < 2e-4
        assert (linear(x, weight[10:20], None) - x @ weight[10:20].T).abs().max() < 2e-4


def test_a_view_and_another_precision_are_multiplied_too(kernel):
    x, weight = drawn(384, LEAST_ROWS).T, drawn(96, 384, seed=1)
    with torch.inference_mode():
        assert (linear(x, weight, None) - x @ weight.T).abs().max() < 2e-4
        assert linear(drawn(LEAST_ROWS, 8).double(), weight[:, :8].double(), None).dtype is torch.float64


@pytest.mark.parametrize("of", ["x", "weight"])
def test_gradients_are_kept(kernel, of):
    x, weight = drawn(LEAST_ROWS, 8), drawn(4, 8, seed=1)
    wanted = (x if of == "x" else weight).requires_grad_()
    linear(x, weight, None).sum().backward()
    exact = weight.sum(0).expand_as(x) if of == "x" else x.sum(0).expand_as(weight)
    assert torch.allclose(wanted.grad, exact, atol=1e-4)


def test_a_changed_weight_changes_the_product(kernel):
    layer, x = nn.Linear(8, 4), drawn(LEAST_ROWS, 8)
    with torch.inference_mode():
        before = apply(layer, x)
    with torch.no_grad():
        layer.weight.mul_(2)
        layer.bias.zero_()
    with torch.inference_mode():
        assert not torch.allclose(apply(layer, x), before)
        assert torch.allclose(apply(layer, x), 2 * x @ (layer.weight / 2).T, atol=1e-4)


def test_a_layer_that_is_more_than_its_weight_is_called(kernel):
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    layer, x = Doubled(8, 4), drawn(LEAST_ROWS, 8)
    hooked = nn.Linear(8, 4)
    hooked.register_forward_hook(lambda layer, given, out: out + 1)
    with torch.inference_mode():
        assert torch.equal(apply(layer, x), layer(x))
        assert torch.equal(apply(hooked, x), hooked(x))


@pytest.mark.parametrize(("vendor", "ours"), [("GenuineIntel", False), ("AuthenticAMD", True), (None, False)])
@needs_onednn
def test_who_multiplies_is_a_matter_of_the_processor(monkeypatch, tmp_path, vendor, ours):
    described = tmp_path / "cpuinfo"
    if vendor:
        described.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n")
    monkeypatch.setattr(module, "CPU_INFO", described)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    module.onednn_is_faster.cache_clear()
    try:
        assert module.onednn_is_faster() is (ours and torch.backends.mkldnn.is_available())
    finally:
        module.onednn_is_faster.cache_clear()
