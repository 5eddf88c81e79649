"""The opened transformer: every site can be read and replaced, any layer started from, any rows returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import Anatomy, Block, Geometry
from whyrank.encoders.attention import (
    attention_pattern,
    fused_attention,
    merge_heads,
    rotate,
    rows_attention,
    split_heads,
)
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.encoders.tap import Tap, Value

#: A pass that nobody watches.
NO_TAP = Tap()


class Trace(NamedTuple):
    """The result of a pass: the last hidden states [B, S or rows, d], and the values of the sites read."""

    hidden: Tensor
    values: dict[Site, Tensor]


class Encoder:
    """A transformer run by our own forward pass over the checkpoint's own parameters."""

    def __init__(self, anatomy: Anatomy) -> None:
        self.anatomy = anatomy
        self.blocks = anatomy.blocks
        self.layers = len(anatomy.blocks)
        self.heads = anatomy.heads
        self.width = anatomy.width
        self.max_length = anatomy.max_length

    def __repr__(self) -> str:
        return f"Encoder({self.anatomy.architecture}, {self.layers} layers x {self.heads} heads, d={self.width})"

    @property
    def word_embeddings(self) -> Tensor:
        """The input embedding matrix W_E [vocabulary, d]: the checkpoint's own parameter."""
        return self.anatomy.word_embeddings.weight

    @property
    def device(self) -> torch.device:
        return self.word_embeddings.device

    def run(
        self,
        inputs: Inputs,
        *,
        start: int = 0,
        state: Tensor | None = None,
        stop: int | None = None,
        rows: Sequence[int] | None = None,
        read: Iterable[Site] = (),
        replace: Mapping[Site, Value] | None = None,
        categories: Mapping[str, Tensor] | None = None,
    ) -> Trace:
        """One pass from layer `start` (whose input is `state`) up to, and not including, layer `stop`.

        A pass to the end returns the model's last hidden states; one that stops earlier returns the input of
        layer `stop`. With `rows`, only these rows come back, and the top layer computes no others, unless
        a site of that layer is asked for. `read` and `replace` name sites (see `Tap`); `categories` says
        which tokens [B, S] a category means.
        """
        tap = Tap(read, replace, categories) if read or replace else NO_TAP
        last = self.layers if stop is None else stop
        self._check(inputs, start, last, state, tap)
        h = tap("embed", None, self.embed(inputs)) if state is None else state
        geometry = self.anatomy.geometry(inputs, h)
        few = rows if last > start and not tap.touches(last - 1) else None
        for layer in range(start, last):
            h = self.layer(layer, h, geometry[layer], rows=few if layer == last - 1 else None, tap=tap)
        if rows is not None and few is None:
            h = h[:, list(rows)]
        return Trace(self.anatomy.final_norm(h) if stop is None else h, dict(tap.values))

    def embed(self, inputs: Inputs) -> Tensor:
        """The input of layer 0: [B, S, d]."""
        return self.anatomy.embed(inputs)

    def layer(
        self,
        layer: int,
        h: Tensor,
        geometry: Geometry,
        *,
        rows: Sequence[int] | None = None,
        tap: Tap = NO_TAP,
    ) -> Tensor:
        """One block: [B, S, d] -> [B, S, d], or [B, len(rows), d]."""
        block = self.blocks[layer]
        h = tap("resid", layer, h)
        if rows is None:
            z = self._heads(layer, block.norm_before_attention(h), geometry, tap)
        else:
            z = self.heads_at(layer, h, geometry, list(rows))
            h = h[:, list(rows)]
        return self.after_heads(layer, h, merge_heads(z), tap)

    def heads_at(self, layer: int, h: Tensor, geometry: Geometry, rows: list[int]) -> Tensor:
        """The heads' outputs z [B, heads, R, d_head] of a block at some rows only."""
        block = self.blocks[layer]
        return rows_attention(block, block.norm_before_attention(h), geometry, rows, self.heads)

    def after_heads(self, layer: int, h: Tensor, z: Tensor, tap: Tap = NO_TAP) -> Tensor:
        """The rest of a block once its heads' outputs z [B, S, d] are known: no attention, rows independent."""
        block = self.blocks[layer]
        attn = tap("attn", layer, block.output(z))
        x = block.norm_after_attention(h + attn)
        return block.norm_after_mlp(x + tap("mlp", layer, block.mlp(block.norm_before_mlp(x))))

    def _heads(self, layer: int, u: Tensor, geometry: Geometry, tap: Tap) -> Tensor:
        """z [B, heads, S, d_head]; the pattern is made only when somebody asks for it."""
        block: Block = self.blocks[layer]
        q, k, v = (split_heads(part(u), self.heads) for part in (block.query, block.key, block.value))
        q, k, v = tap("q", layer, q), tap("k", layer, k), tap("v", layer, v)
        q, k = rotate(q, geometry.rotation), rotate(k, geometry.rotation)
        if tap.touches(layer, "pattern"):
            z = tap("pattern", layer, attention_pattern(q, k, geometry.bias)) @ v
        else:
            z = fused_attention(q, k, v, geometry.bias)
        return tap("z", layer, z)

    def _check(self, inputs: Inputs, start: int, last: int, state: Tensor | None, tap: Tap) -> None:
        if inputs.ids.shape[1] > self.max_length:
            raise UserError(
                f"a sequence of {inputs.ids.shape[1]} tokens does not fit",
                todo=f"the model reads at most {self.max_length}",
            )
        if state is None and start:
            raise ValueError("starting above layer 0 needs the state that layer reads")
        for site in tap.sites:
            site.check(self.layers, self.heads)
            if site.part == "logits":
                raise ValueError("logits belong to the ranker: use Ranker.trace")
            if not start <= (0 if site.layer is None else site.layer) < max(last, 1) or (
                site.layer is None and state is not None
            ):
                raise ValueError(f"{site} is not on the way from layer {start} to {last}")
            if isinstance(site.at, int) and site.at >= inputs.ids.shape[1]:
                longest = inputs.ids.shape[1] - 1
                raise UserError(f"{site}: no such position", todo=f"positions here are 0 to {longest}")
