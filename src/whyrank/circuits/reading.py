"""One (query, document) as a cross-encoder reads it: its tokens, and where every head looks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import Geometry
from whyrank.encoders.attention import attention_pattern, rotate, split_heads
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
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
        """The attention of the first `layers` layers, or of all; the encoder goes no further."""
        tokens = ranker.pieces.pair(query, text)
        inputs = ranker.batch([Sequenced(tokens.ids, tokens.type_ids)])
        with no_gradients():
            return cls(tokens, torch.cat([pattern for _, pattern in read_layers(ranker.encoder, inputs, layers)]))

    @cached_property
    def query(self) -> list[int]:
        """The positions of the query's tokens."""
        return positions(self.tokens, "query")

    @cached_property
    def document(self) -> list[int]:
        """The positions of the document's tokens; no special token."""
        return positions(self.tokens, "document")

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


def positions(tokens: Tokens, role: str) -> list[int]:
    """Where the tokens of a role stand."""
    return [i for i, one in enumerate(tokens.roles) if one == role]


def read_layers(
    encoder: Encoder, inputs: Inputs, layers: int | None = None, rows: int | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Layer by layer its input [B, S, d] and what the first `rows` tokens (all) read in it, [B, H, rows, S].

    Only what is asked for is computed: the patterns of those rows, and of the last layer nothing but patterns.
    """
    last = encoder.layers if layers is None else layers
    h = encoder.embed(inputs)
    geometry = encoder.anatomy.geometry(inputs, h)
    for layer in range(last):
        yield h, _first_rows(encoder, layer, h, geometry[layer], rows)
        if layer + 1 < last:
            h = encoder.layer(layer, h, geometry[layer])


def _first_rows(encoder: Encoder, layer: int, h: Tensor, geometry: Geometry, rows: int | None) -> Tensor:
    block, first = encoder.blocks[layer], slice(rows)
    u = block.norm_before_attention(h)
    turn, bias = geometry.rotation, geometry.bias
    q = rotate(
        split_heads(block.query(u[:, first]), encoder.heads), turn and (turn[0][:, first], turn[1][:, first])
    )
    k = rotate(split_heads(block.key(u), encoder.heads), turn)
    return attention_pattern(q, k, bias if bias is None or bias.shape[-2] == 1 else bias[..., first, :])


def cross_encoder(ranker: Ranker) -> CrossEncoder:
    """The ranker, if query and document meet in its attention."""
    if not isinstance(ranker, CrossEncoder):
        raise UserError(
            f"{ranker.name} is not a cross-encoder ({ranker.kind})",
            todo="query and document meet only in a cross-encoder: choose one, such as ce-minilm-l12",
        )
    return ranker
