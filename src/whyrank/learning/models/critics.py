"""What the parts of a document may know of each other and of the query: I_rn + I_qn - I_qr, to go down.

r and n are the query-related and the unrelated part, q the query, all of the last layer. The critics of the three
terms go up their own bounds, by `objective`; `loss` moves the vectors only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import layer_norm

from whyrank.learning.models.information import Club, Estimator, InfoNCE, Mine

#: The terms, with their signs in the loss: name -> (one, other, sign).
TERMS = {
    "related_unrelated": ("related", "unrelated", 1.0),
    "query_unrelated": ("query", "unrelated", 1.0),
    "query_related": ("query", "related", -1.0),
}


class Critics(nn.Module):
    """One estimator a term. With `normal` vectors come layer-normalised, so that no bound moves with their length
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
