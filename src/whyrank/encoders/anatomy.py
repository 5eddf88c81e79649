"""One vocabulary for the parts of every supported transformer.

A block, whatever its architecture, is

    u = norm_before_attention(h)
    q, k, v = W_q u, W_k u, W_v u                (rotated where the model rotates)
    pattern = softmax(q k^T / sqrt(d_head) + bias),  z = pattern v,  attn = W_o z
    x = norm_after_attention(h + attn)
    h' = norm_after_mlp(x + mlp(norm_before_mlp(x)))

Post-LN models (BERT and its kin) leave the two `before` norms out, pre-LN models the two `after` norms.
An adapter names these parts in a checkpoint; it copies no weight, so a change to the checkpoint's
parameters is a change to the opened encoder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from whyrank.encoders.inputs import Inputs
from whyrank.encoders.linear import linear

Map = Callable[[Tensor], Tensor]
#: A module of the transformers library; its parts are known by name only.
HuggingFaceModule = Any


def identity(x: Tensor) -> Tensor:
    """The norm that a model leaves out."""
    return x


@dataclass(frozen=True)
class Projection:
    """A linear map of the checkpoint, or some rows of one that holds several (a fused W_qkv)."""

    linear: nn.Linear
    rows: slice | None = None

    @property
    def weight(self) -> Tensor:
        return self.linear.weight if self.rows is None else self.linear.weight[self.rows]

    @property
    def bias(self) -> Tensor | None:
        bias = self.linear.bias
        return bias if self.rows is None or bias is None else bias[self.rows]

    def __call__(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


@dataclass(frozen=True)
class Block:
    """One layer in the words of this module's docstring."""

    query: Projection
    key: Projection
    value: Projection
    output: Projection
    mlp: Map
    norm_before_attention: Map = identity
    norm_after_attention: Map = identity
    norm_before_mlp: Map = identity
    norm_after_mlp: Map = identity


@dataclass(frozen=True)
class Geometry:
    """How positions see each other in one layer: what is added to the scores, and the rotation of q and k.

    `bias` broadcasts to [B, heads, S, S] and holds padding, windows and relative positions; `rotation` is
    (cos, sin), each [1, S, d_head].
    """

    bias: Tensor | None = None
    rotation: tuple[Tensor, Tensor] | None = None

    def only(self, i: int) -> Geometry:
        """The same for one sequence of the batch."""
        bias = self.bias
        return Geometry(bias if bias is None or len(bias) == 1 else bias[i : i + 1], self.rotation)


@dataclass(frozen=True)
class Anatomy:
    """A checkpoint's transformer, named part by part."""

    architecture: str
    module: HuggingFaceModule
    blocks: tuple[Block, ...]
    heads: int
    width: int
    max_length: int
    word_embeddings: nn.Embedding
    embed: Callable[[Inputs], Tensor]
    geometry: Callable[[Inputs, Tensor], tuple[Geometry, ...]]
    final_norm: Map = identity
