"""A linear map of many rows, y = x W^T + b, by the library that is fastest on this processor.

PyTorch multiplies float32 matrices with MKL, which leaves AVX-512 unused on processors that are not Intel's;
oneDNN, which comes with PyTorch, uses it: about twice as many operations a second there. Both compute in float32
and differ only in the order of the sums.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

#: Below so many rows a product takes no longer than oneDNN needs to prepare it.
LEAST_ROWS = 256
#: Where Linux describes the processor.
CPU_INFO = Path("/proc/cpuinfo")


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b, for x [..., d] and W [out, d]; with gradients wherever they are wanted."""
    if _suits(x, weight, bias) and onednn_is_faster():
        return _onednn(x, weight, bias)
    return functional.linear(x, weight, bias)


def apply(layer: nn.Module, x: Tensor) -> Tensor:
    """What the layer makes of x; a layer that is not simply linear (quantised, adapted) is called as it is."""
    if type(layer) is nn.Linear and not layer._forward_hooks and not layer._forward_pre_hooks:
        return linear(x, layer.weight, layer.bias)
    found: Tensor = layer(x)
    return found


@cache
def onednn_is_faster() -> bool:
    """Whether this processor has AVX-512 and is not Intel's, and this PyTorch has oneDNN's product."""
    return (
        torch.backends.cpu.get_cpu_capability() == "AVX512"
        and _vendor() not in ("", "GenuineIntel")
        and torch.backends.mkldnn.is_available()
        and _onednn_works()
    )


def _onednn_works() -> bool:
    """Whether this PyTorch has oneDNN's product, under the name and with the arguments that are used here."""
    x, weight = torch.ones(2, 4), torch.ones(3, 4)
    try:
        return bool((_onednn(x, weight, None) == 4).all())
    except (AttributeError, RuntimeError, TypeError):
        return False


def _onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return found


def _suits(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Many rows of float32 on the CPU, and nobody wants gradients: oneDNN's product here has none."""
    tensors = (x, weight) if bias is None else (x, weight, bias)
    return (
        x.numel() >= LEAST_ROWS * x.shape[-1]
        and all(one.dtype is torch.float32 and one.device.type == "cpu" for one in tensors)
        and not (torch.is_grad_enabled() and any(one.requires_grad for one in tensors))
        and all(one.is_contiguous() for one in tensors)
        and bool(torch.backends.mkldnn.enabled)
    )


def _vendor() -> str:
    """The processor's maker as it names itself; empty where it is not known."""
    try:
        lines = CPU_INFO.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")), "")
