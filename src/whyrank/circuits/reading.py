"""One (query, document) as a cross-encoder reads it: its tokens, and where every head looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from whyrank.errors import UserError
from whyrank.interventions.recording import Recording
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.neural import no_gradients
from whyrank.rankers.ranker import Ranker
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens


@dataclass(frozen=True, eq=False)
class Reading:
    """The sequence [CLS] query [SEP] document [SEP], cut as the ranker cuts it, and its attention patterns.

    `attention` is [L, H, S, S] for the layers that were asked for: row i says what token i reads.
    """

    tokens: Tokens
    attention: Tensor

    @classmethod
    def of(cls, ranker: CrossEncoder, query: str, text: str, layers: int | None = None) -> Reading:
        """The attention of the first `layers` layers, or of all."""
        tokens = ranker.pieces.pair(query, text)
        inputs = ranker.batch([Sequenced(tokens.ids, tokens.type_ids)])
        last = ranker.encoder.layers if layers is None else layers
        with no_gradients():
            run = Recording.of(ranker.encoder, inputs)
            return cls(tokens, torch.stack([run.pattern(layer) for layer in range(last)]))

    @cached_property
    def query(self) -> list[int]:
        """The positions of the query's tokens."""
        return [i for i, role in enumerate(self.tokens.roles) if role == "query"]

    @cached_property
    def document(self) -> list[int]:
        """The positions of the document's tokens; no special token."""
        return [i for i, role in enumerate(self.tokens.roles) if role == "document"]

    @property
    def query_ids(self) -> list[int]:
        return [self.tokens.ids[i] for i in self.query]

    @property
    def document_ids(self) -> list[int]:
        return [self.tokens.ids[i] for i in self.document]

    def block(self, rows: Sequence[int], columns: Sequence[int]) -> Tensor:
        """The attention of some tokens to some: [L, H, rows, columns]."""
        return self.attention[:, :, list(rows)][..., list(columns)]

    def matching(self, places: Sequence[int] | None = None) -> Tensor:
        """The matching score: what each query token reads of the document (or of `places` in it), [L, H, m].

        MS_k(q_i) = sum over document tokens j of A_k[q_i, d_j]
        """
        return self.block(self.query, self.document if places is None else places).sum(-1)


def cross_encoder(ranker: Ranker) -> CrossEncoder:
    """The ranker, if query and document meet in its attention."""
    if not isinstance(ranker, CrossEncoder):
        raise UserError(
            f"{ranker.name} is no cross-encoder ({ranker.kind})",
            todo="query and document meet only in a cross-encoder: choose one, such as ce-minilm-l12",
        )
    return ranker
