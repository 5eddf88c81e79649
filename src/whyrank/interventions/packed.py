"""Texts of several lengths in one pass without padding: attention text by text, the rest over all tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from whyrank.encoders.attention import attention_pattern, fused_attention, merge_heads, rotate, split_heads
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs

#: Values by (part, layer), as `Packed.run` keeps them.
Kept = dict[tuple[str, int], Tensor]


class Packed:
    """Batches of sequences, each batch of one length, laid end to end: [T, d] for T tokens in all."""

    def __init__(self, encoder: Encoder, batches: Sequence[Inputs]) -> None:
        for inputs in batches:
            assert int(inputs.lengths.min()) == inputs.ids.shape[1], "one length per batch, nothing padded"
        self.encoder, self.batches = encoder, batches
        self.shapes = [tuple(inputs.ids.shape) for inputs in batches]

    def embed(self) -> Tensor:
        return self.pack([self.encoder.embed(inputs) for inputs in self.batches])

    def run(
        self, h: Tensor, rows: Sequence[int] | None, parts: Iterable[str], keep: Sequence[int] | None = None
    ) -> tuple[Kept, Tensor]:
        """One pass from the embeddings h: the parts asked for, and the top block's output.

        With `rows`, the top layer is computed after its attention for these rows of each sequence only; queries,
        keys, values and patterns need it whole. With `keep`, only these rows of each sequence are kept, so that
        the memory of the others is free for the next layer. Gradients flow where they are switched on.
        """
        kept: Kept = {}
        wanted, encoder = set(parts), self.encoder
        self.geometry = [
            encoder.anatomy.geometry(inputs, x) for inputs, x in zip(self.batches, self.unpack(h), strict=True)
        ]

        few = None if keep is None else self._places(keep)

        def kept_too(part: str, layer: int, x: Tensor) -> Tensor:
            if part in wanted:
                kept[part, layer] = x if few is None or len(x) == len(few) else x[few]
            return x

        for layer, block in enumerate(encoder.blocks):
            h = kept_too("resid", layer, h)
            if rows is not None and layer == encoder.layers - 1:
                z = self._few_heads(layer, h, list(rows))
                h = torch.cat([x[:, list(rows)].flatten(0, 1) for x in self.unpack(h)])
            else:
                u = block.norm_before_attention(h)
                q, k, v = (
                    kept_too(part, layer, made(u))
                    for part, made in (("q", block.query), ("k", block.key), ("v", block.value))
                )
                z = self._heads(layer, q, k, v, kept if "pattern" in wanted else None)
            attn = kept_too("attn", layer, block.output(kept_too("z", layer, z)))
            x = block.norm_after_attention(h + attn)
            h = block.norm_after_mlp(x + kept_too("mlp", layer, block.mlp(block.norm_before_mlp(x))))
        return kept, h

    def pack(self, batches: Sequence[Tensor]) -> Tensor:
        """[B, S, .] of each batch -> [T, .]."""
        return torch.cat([x.flatten(0, 1) for x in batches])

    def unpack(self, x: Tensor, rows: int | None = None) -> list[Tensor]:
        """[T, .] -> [B, S, .] of each batch; or [B, rows, .] where that many rows per sequence are kept."""
        sizes = [(count, length if rows is None else rows) for count, length in self.shapes]
        parts = x.split([count * length for count, length in sizes])
        return [part.unflatten(0, size) for part, size in zip(parts, sizes, strict=True)]

    def _places(self, rows: Sequence[int]) -> Tensor:
        """Where these rows of each sequence stand."""
        found, start = [], 0
        for count, length in self.shapes:
            found += [start + i * length + row for i in range(count) for row in rows]
            start += count * length
        return torch.tensor(found)

    def _heads(self, layer: int, q: Tensor, k: Tensor, v: Tensor, kept: Kept | None) -> Tensor:
        """The heads' outputs side by side [T, d]; the patterns of the only batch, if they are to be kept."""
        heads, found = self.encoder.heads, []
        for geometry, *qkv in zip(self.geometry, *map(self.unpack, (q, k, v)), strict=True):
            own = geometry[layer]
            queries, keys, values = (split_heads(x, heads) for x in qkv)
            queries, keys = rotate(queries, own.rotation), rotate(keys, own.rotation)
            if kept is None:
                z = fused_attention(queries, keys, values, own.bias)
            else:
                assert len(self.batches) == 1
                kept["pattern", layer] = attention_pattern(queries, keys, own.bias)
                z = kept["pattern", layer] @ values
            found.append(merge_heads(z))
        return self.pack(found)

    def _few_heads(self, layer: int, h: Tensor, rows: list[int]) -> Tensor:
        found = []
        for geometry, x in zip(self.geometry, self.unpack(h), strict=True):
            found.append(merge_heads(self.encoder.heads_at(layer, x, geometry[layer], rows)))
        return self.pack(found)
