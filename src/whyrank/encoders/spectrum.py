"""The singular vectors of an input embedding matrix: W_E = U S V^T.

In rankers U_0, a number for each token, goes with how rare the token is. The sign of a singular vector is
arbitrary; `oriented` fixes it so that each U_i is anti-correlated with what is given (IDF).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

#: Singular values below this share of the first are rounding: the matrix has no such direction, and U is 0 there.
LEAST = 1e-7


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The first k singular vectors: `left` U [V, k], `values` S [k], largest first, `right` V^T [k, d]."""

    left: Tensor
    values: Tensor
    right: Tensor

    @classmethod
    def of(cls, matrix: Tensor, k: int | None = None) -> Spectrum:
        """By the eigenvectors of W^T W, [d, d], in double precision: exact enough, and W has few columns."""
        with torch.no_grad():
            wide = matrix.detach().double().cpu()
            values, vectors = torch.linalg.eigh(wide.T @ wide)
            k = min(k or len(values), len(values))
            right = vectors.flip(1)[:, :k].T
            sizes = values.flip(0)[:k].clamp(min=0).sqrt()
            there = sizes > LEAST * sizes[0]
            left = torch.where(there, wide @ right.T / sizes.where(there, torch.ones_like(sizes)), 0.0)
            return cls(left, sizes.where(there, torch.zeros_like(sizes)), right)

    def oriented(self, rarity: Tensor) -> Spectrum:
        """The same, each U_i anti-correlated with `rarity` [V] over the tokens that have one (not NaN)."""
        known = torch.isfinite(rarity)
        centred = rarity[known].double() - rarity[known].double().mean()
        signs = torch.where(centred @ self.left[: len(rarity)][known] > 0, -1.0, 1.0).double()
        return Spectrum(self.left * signs, self.values, self.right * signs[:, None])

    @cached_property
    def direction(self) -> Tensor:
        """S_0 V_0 [d]: what a row of W_E changes by when its U_0 changes by 1."""
        return self.values[0] * self.right[0]
