"""One text's pass through an encoder, kept: what patching takes values from, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.anatomy import Geometry
from whyrank.encoders.attention import attention_pattern, rotate, split_heads
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.interventions.packed import Packed

Rows = Sequence[int] | None
#: What is kept of every layer, in the order of the fields below.
PARTS = ("resid", "z", "attn", "mlp")


@dataclass(frozen=True)
class Recording:
    """Every site of one sequence of S tokens, in an encoder of L layers and H heads.

    `resid` has L + 1 entries [S, d], the last one the top block's output before any final norm; `z`, `attn` and
    `mlp` have L. Where the read-out reads some rows only, what follows attention in the top layer is kept, and
    was computed, for those rows only: no other row of it can reach the score. Queries, keys, values and patterns
    are made again from `resid` when they are asked for: few sweeps need them, and they would double what is kept.
    `all_layers` says that the read-out reads `resid` of all layers.
    """

    encoder: Encoder
    inputs: Inputs
    geometry: tuple[Geometry, ...]
    rows: Rows
    all_layers: bool
    resid: list[Tensor]
    z: list[Tensor]
    attn: list[Tensor]
    mlp: list[Tensor]

    @classmethod
    def each(
        cls, encoder: Encoder, batches: Sequence[Inputs], rows: Rows = None, *, all_layers: bool = False
    ) -> list[list[Recording]]:
        """Runs the encoder once over batches of sequences, each batch of one length: a recording of each."""
        packed = Packed(encoder, batches)
        kept, top = packed.run(packed.embed(), rows, PARTS)
        kept["resid", encoder.layers] = top

        def unpacked(part: str, layer: int) -> list[Tensor]:
            beyond_top_attention = layer + (part != "resid") == encoder.layers
            few = None if rows is None or not beyond_top_attention else len(rows)
            return packed.unpack(kept[part, layer], few)

        found = {
            part: [unpacked(part, layer) for layer in range(encoder.layers + (part == "resid"))] for part in PARTS
        }
        return [
            [
                cls(
                    encoder,
                    inputs.only(i),
                    tuple(one.only(i) for one in packed.geometry[number]),
                    rows,
                    all_layers,
                    *([layer[number][i] for layer in found[part]] for part in PARTS),
                )
                for i in range(len(inputs.ids))
            ]
            for number, inputs in enumerate(batches)
        ]

    @classmethod
    def of(cls, encoder: Encoder, inputs: Inputs, rows: Rows = None) -> Recording:
        """The recording of a batch of one sequence."""
        ((one,),) = cls.each(encoder, [inputs], rows)
        return one

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.resid[0])

    def to_read_out(self) -> Tensor:
        """What the read-out reads: the last states [S or rows, d], or those of all layers [L', S, d]."""
        last = self.encoder.anatomy.final_norm(self.resid[-1])
        return torch.stack([*self.resid[:-1], last]) if self.all_layers else last

    def kept_rows(self, layer: int) -> list[int] | None:
        """The rows that are kept after the attention of a layer; None is all."""
        return list(self.rows) if self.rows is not None and layer == self.encoder.layers - 1 else None

    def after_attention(self, part: str, layer: int, rows: Rows = None) -> Tensor:
        """z, attn or mlp of a layer at `rows`, or at all that are kept."""
        x: Tensor = getattr(self, part)[layer]
        return x if rows is None or self.kept_rows(layer) is not None else x[list(rows)]

    def state(self, layer: int, rows: Rows = None) -> Tensor:
        """The input of a layer, or beyond the top one its output, at `rows`, or at all that are kept."""
        kept = self.rows is not None and layer == self.encoder.layers
        return self.resid[layer] if rows is None or kept else self.resid[layer][list(rows)]

    def value(self, site: Site) -> Tensor:
        """The site's value at all positions that are kept: [S, .], or [S, S] for a pattern."""
        if site.part == "embed":
            return self.resid[0]
        assert site.layer is not None
        if site.part in ("resid", "attn", "mlp"):
            return getattr(self, site.part)[site.layer]
        assert site.head is not None
        width = self.encoder.width // self.encoder.heads
        if site.part == "z":
            return self.z[site.layer][:, site.head * width : (site.head + 1) * width]
        if site.part == "pattern":
            return self.pattern(site.layer)[site.head]
        return self.attention_input(site.part, site.layer)[site.head]

    def attention_input(self, part: str, layer: int) -> Tensor:
        """The queries, keys or values of a layer's heads, before any rotation: [H, S, d_head]."""
        block = self.encoder.blocks[layer]
        made = {"q": block.query, "k": block.key, "v": block.value}[part]
        return split_heads(made(block.norm_before_attention(self.resid[layer][None])), self.encoder.heads)[0]

    def pattern(self, layer: int) -> Tensor:
        """The attention patterns of a layer's heads: [H, S, S]."""
        geometry = self.geometry[layer]
        q, k = (rotate(self.attention_input(part, layer)[None], geometry.rotation) for part in ("q", "k"))
        return attention_pattern(q, k, geometry.bias)[0]
