"""Kernel pooling (Xiong et al. 2017): how often the document has units about so similar to a query's, softly.

K_k(M_i) = sum_j exp(-(M_ij - mu_k)^2 / (2 sigma_k^2))        over the document's units j
phi_k    = sum_i log K_k(M_i)                                 over the query's units i
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

#: (mu, sigma) of the eleven kernels; the last counts exact matches.
KERNELS = (*((round(-0.9 + 0.2 * k, 1), 0.1) for k in range(10)), (1.0, 0.001))
#: What the logarithm reads where nothing is similar, as in the authors' code.
LOG_FLOOR = 1e-10


def kernel_sums(similarity: Tensor, counted: Tensor) -> Tensor:
    """K_k(M_i) [..., m, 11] of similarities [..., m, n], over the `counted` [..., n] of the document."""
    return _KernelSums.apply(similarity, counted[..., None, :].to(similarity.dtype))


def soft_frequencies(sums: Tensor, query: Tensor, scale: float = 1.0) -> Tensor:
    """phi [B, 11] of kernel sums [B, m, 11], over the `query` [B, m] units, each logarithm times `scale`."""
    logs = sums.clamp_min(LOG_FLOOR).log() * scale
    return (logs * query[..., None]).sum(dim=-2)


class _KernelSums(torch.autograd.Function):
    """By hand, because autograd would keep two copies of M for each kernel; here M alone is kept."""

    @staticmethod
    def forward(ctx: Any, similarity: Tensor, counted: Tensor) -> Tensor:
        ctx.save_for_backward(similarity, counted)
        each = [(_bumps(similarity - mu, sigma) * counted).sum(dim=-1) for mu, sigma in KERNELS]
        return torch.stack(each, dim=-1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """dK_k/dM_ij = -(M_ij - mu_k)/sigma_k^2 exp(...)"""
        similarity, counted = ctx.saved_tensors
        total = torch.zeros_like(similarity)
        for k, (mu, sigma) in enumerate(KERNELS):
            far = similarity - mu
            total -= _bumps(far, sigma).mul_(far).mul_(grads[0][..., k, None] / sigma**2)
        return total.mul_(counted), None


def _bumps(far: Tensor, sigma: float) -> Tensor:
    """exp(-far^2 / (2 sigma^2))"""
    return far.square().mul_(-0.5 / sigma**2).exp_()
