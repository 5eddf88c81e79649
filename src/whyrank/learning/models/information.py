"""Mutual information I(x; y) of the rows of two [B, d], estimated by networks that learn to.

Pairs (i, i) are drawn together; pairs (i, j) that `apart` [B, B] marks, because they belong to different queries,
stand for drawn apart. All of these are used, which is the mean over all permutations across queries, needs no
random numbers and has less variance than one permutation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

INFORMATION = ("none", "mine", "infonce", "club")


class Estimator(nn.Module, ABC):
    """`forward` is the estimate, whose gradient the vectors may follow up or down; `objective` is what the
    estimator's own weights go up, always."""

    @abstractmethod
    def forward(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor: ...

    def objective(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        return self(x, y, apart)


class Critic(nn.Module):
    """T(x_i, y_j) for all i and j [B, B]: one hidden layer; its value stays within ±`clip`, smoothly, so that no
    single pair carries the mean of exp T."""

    def __init__(self, width: int, hidden: int, clip: float) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(width, hidden), nn.Linear(width, hidden, bias=False)
        self.value, self.clip = nn.Linear(hidden, 1), clip

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        hidden = torch.relu(self.left(x)[:, None] + self.right(y)[None])
        return self.clip * torch.tanh(self.value(hidden)[:, :, 0] / self.clip)


class Mine(Estimator):
    """The Donsker-Varadhan bound: I >= E[T] - log E'[exp T], E' over pairs drawn apart.

    The gradient of the logarithm, E'[exp(T) grad T] / E'[exp T], is biased in a small batch, so its denominator is
    a moving average over batches, as MINE does it. The average moves only with the critic's own steps, and is
    saved with the weights.
    """

    average: Tensor

    def __init__(self, width: int, hidden: int, clip: float = 10.0, rate: float = 0.01) -> None:
        super().__init__()
        self.critic, self.rate = Critic(width, hidden, clip), rate
        self.register_buffer("average", torch.zeros(()))

    def forward(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        together, exponential = self._terms(x, y, apart)
        return self._bound(together, exponential)

    def objective(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        together, exponential = self._terms(x, y, apart)
        if self.training:
            seen = exponential.detach()
            moved = torch.where(self.average > 0, torch.lerp(self.average, seen.to(self.average), self.rate), seen)
            self.average.copy_(moved)
        return self._bound(together, exponential)

    def _terms(self, x: Tensor, y: Tensor, apart: Tensor) -> tuple[Tensor, Tensor]:
        """E[T] and E'[exp T]"""
        values = self.critic(x, y)
        return values.diagonal().mean(), values[apart].exp().mean()

    def _bound(self, together: Tensor, exponential: Tensor) -> Tensor:
        """The bound's value, with the corrected gradient."""
        average = torch.where(self.average > 0, self.average, exponential.detach())
        followed = together - exponential / average
        return followed + (together - exponential.log() - followed).detach()


class InfoNCE(Estimator):
    """I >= mean over i of log( exp T_ii / mean of exp T_ij over i itself and all j apart from it ).

    At most the logarithm of the number of pairs compared, and of less variance than Donsker-Varadhan.
    """

    def __init__(self, width: int, hidden: int, clip: float = 10.0) -> None:
        super().__init__()
        self.critic = Critic(width, hidden, clip)

    def forward(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        compared = apart | torch.eye(len(x), dtype=torch.bool, device=x.device)
        values = self.critic(x, y)
        total = values.masked_fill(~compared, -torch.inf).logsumexp(dim=1)
        return (values.diagonal() - total + compared.sum(dim=1).log()).mean()


class Club(Estimator):
    """I <= E[log q(y|x)] - E'[log q(y|x)], with q a normal distribution whose means and variances are networks of
    x that learn by likelihood; an upper bound as far as q is right. As its authors do, the logarithm of a variance
    stays within ±1: y is thought to have variances near 1. Being a sum over d dimensions it can be far larger than
    the other two estimates."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.spread = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.Tanh())

    def forward(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        likelihoods = self.log_likelihood(x[:, None], y[None])
        return likelihoods.diagonal().mean() - likelihoods[apart].mean()

    def objective(self, x: Tensor, y: Tensor, apart: Tensor) -> Tensor:
        return self.log_likelihood(x, y).mean()

    def log_likelihood(self, x: Tensor, y: Tensor) -> Tensor:
        """log q(y|x) over the last dimension."""
        log_variance = self.spread(x)
        squares = (y - self.mean(x)) ** 2 * torch.exp(-log_variance)
        return -0.5 * (squares + log_variance + math.log(2 * math.pi)).sum(dim=-1)
