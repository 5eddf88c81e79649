"""The word graph in its blocks: query's side x document's side and the diagonal, never an S x S matrix.

Under Eq. 7's mask nothing else is left of A. For 12 query words among 500 that is 20 times fewer entries to make,
keep and multiply; the result is `word_graph`'s, entry by entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.learning.models.sides import Sides
from whyrank.learning.models.word_graph import by_example, nonzero


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """A in blocks, for the Q positions of `span` that hold the query's side.

    `own` [C, S] is the diagonal; `to_query` [C, Q, S] has the rows of the query's words, `to_document` [C, Q, S]
    the columns of the document's, which are weighted by row sums of their own.
    """

    own: Tensor
    to_query: Tensor
    to_document: Tensor
    span: slice

    def messages(self, words: Tensor) -> Tensor:
        heard = self.own[:, :, None] * words
        heard.baddbmm_(self.to_document.mT, words[:, self.span])
        heard[:, self.span] += self.to_query @ words
        return heard

    def matrix(self) -> Tensor:
        whole = torch.diag_embed(self.own)
        whole[:, self.span] += self.to_query
        whole[:, :, self.span] += self.to_document.mT
        return whole


def similarities(projected: Tensor, sides: Sides) -> tuple[Tensor, Tensor]:
    """s on the diagonal [C, S] and across [C, Q, S], of the projected words W E [C, S, d]."""
    scale = projected.shape[-1] ** -0.5
    own = torch.linalg.vecdot(projected, projected) * scale
    return own, (projected[:, sides.span] * scale) @ projected.mT


def softmax_blocks(own: Tensor, across: Tensor, sides: Sides) -> BipartiteGraph:
    """The heuristic graph: the softmax of each row."""
    across = across.masked_fill(~sides.across, -torch.inf)
    columns = torch.cat([own[:, None], across], dim=1).logsumexp(dim=1)
    rows = torch.cat([own[:, sides.span, None], across], dim=2).logsumexp(dim=2)
    asked = torch.where(sides.query[:, sides.span], rows, columns[:, sides.span])
    total = torch.cat([columns[:, : sides.span.start], asked, columns[:, sides.span.stop :]], dim=1)
    to_query = torch.exp(across - total[:, sides.span, None])
    return BipartiteGraph(torch.exp(own - total), to_query, torch.exp(across - total[:, None]), sides.span)


def rectified_blocks(
    own: Tensor, across: Tensor, sides: Sides, norm: str = "element", threshold: Tensor | None = None
) -> BipartiteGraph:
    """The adaptive graph."""
    if threshold is not None:
        across = across - threshold
    across, own = torch.relu(across) * sides.across, torch.relu(own) * sides.chunks.real
    if norm == "element":
        sizes = torch.maximum(across.amax(dim=(1, 2)), own.amax(dim=1))
    else:
        sizes = _row_sums(own, across, sides.span).amax(dim=1)
    sizes = by_example(sizes, sides.chunks)
    across, own = torch.expm1(across / sizes[:, None, None]), torch.expm1(own / sizes[:, None])
    total = nonzero(_row_sums(own, across, sides.span))
    to_query = across / total[:, sides.span, None]
    return BipartiteGraph(own / total, to_query, across / total[:, None], sides.span)


def _row_sums(own: Tensor, across: Tensor, span: slice) -> Tensor:
    """The sum of each row [C, S] of the whole symmetric matrix."""
    total = own + across.sum(dim=1)
    total[:, span] += across.sum(dim=2)
    return total
