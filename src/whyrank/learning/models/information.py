"""Mutual information I(x; y) of the rows of two [B, d], estimated by networks that learn to, and DGRe's critics.

Pairs (i, i) are drawn together; pairs (i, j) that `apart` [B, B] marks, because they belong to different queries,
stand for drawn apart. All of these are used, which is the mean over all permutations across queries, needs no
random numbers and has less variance than one permutation.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import layer_norm

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


#: The terms, with their signs in the loss: name -> (one, other, sign).
TERMS = {
    "related_unrelated": ("related", "unrelated", 1.0),
    "query_unrelated": ("query", "unrelated", 1.0),
    "query_related": ("query", "related", -1.0),
}


class Critics(nn.Module):
    """What the parts of a document may know of each other and of the query: I_rn + I_qn - I_qr, to go down.

    r and n are the query-related and the unrelated part, q the query, all of the last layer. The critics of the
    three terms go up their own bounds, by `objective`; `loss` moves the vectors only. There is one estimator per
    term. With `normal` vectors come layer-normalised, so that no bound moves with their length
    alone.

    By `club` the two terms that go down are estimated from above and the one that goes up from below, by InfoNCE:
    going up an upper bound would prove nothing.
    """

    def __init__(
        self,
        width: int,
        kind: str,
        hidden: int = 128,
        clip: float = 10.0,
        rate: float = 0.01,
        normal: bool = True,
    ) -> None:
        super().__init__()
        self.normal = normal
        self.estimators = nn.ModuleDict(
            {name: _estimator(kind, sign, width, hidden, clip, rate) for name, (_, _, sign) in TERMS.items()}
        )

    def loss(self, parts: Mapping[str, Tensor], queries: Sequence[int]) -> Tensor:
        """I_rn + I_qn - I_qr, with no gradient to the critics; 0 where the batch has one query only, as nothing is
        then drawn apart (never within a query: its documents share it)."""
        apart = different(queries, parts["query"].device)
        if not apart.any():
            return parts["query"].new_zeros(())
        found = [sign * self._estimate(name, parts[a], parts[b], apart) for name, (a, b, sign) in TERMS.items()]
        return torch.stack(found).sum()

    def _estimate(self, name: str, one: Tensor, other: Tensor, apart: Tensor) -> Tensor:
        estimator = self.estimators[name]
        still = {key: weight.detach() for key, weight in estimator.named_parameters()}
        return functional_call(estimator, still, (self._read(one), self._read(other), apart))

    def objective(self, parts: Mapping[str, Tensor], queries: Sequence[int]) -> Tensor | None:
        """What the critics go up: the sum of their three bounds (of CLUB's, likelihoods). Nothing with one query
        only, so that no step is taken: AdamW's own would go on by its momentum and its decay."""
        apart = different(queries, parts["query"].device)
        if not apart.any():
            return None
        found = []
        for name, (a, b, _) in TERMS.items():
            estimator = self.estimators[name]
            assert isinstance(estimator, Estimator)
            found.append(estimator.objective(self._read(parts[a]), self._read(parts[b]), apart))
        return torch.stack(found).sum()

    def _read(self, vectors: Tensor) -> Tensor:
        return layer_norm(vectors, vectors.shape[-1:]) if self.normal else vectors


def different(queries: Sequence[int], device: torch.device | str = "cpu") -> Tensor:
    """Which examples [B, B] belong to different queries."""
    numbers = torch.as_tensor(queries, device=device)
    return numbers[:, None] != numbers[None, :]


def _estimator(kind: str, sign: float, width: int, hidden: int, clip: float, rate: float) -> Estimator:
    if kind == "mine":
        return Mine(width, hidden, clip, rate)
    return Club(width, hidden) if kind == "club" and sign > 0 else InfoNCE(width, hidden, clip)
