"""One text's pass through an encoder, kept: what patching takes values from, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from whyrank.encoders.anatomy import Geometry
from whyrank.encoders.attention import attention_pattern, merge_heads, rotate, split_heads
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.encoders.tap import Tap

Rows = Sequence[int] | None


class Watch(Tap):
    """Keeps whole parts of a pass, by (part, layer), for every sequence and head at once."""

    def __init__(self, parts: Sequence[str]) -> None:
        super().__init__()
        self.parts = set(parts)
        self.kept: dict[tuple[str, int], Tensor] = {}

    def touches(self, layer: int, *parts: str) -> bool:
        return any(part in self.parts for part in parts)

    def __call__(self, part: str, layer: int | None, x: Tensor) -> Tensor:
        if part in self.parts and layer is not None:
            self.kept[part, layer] = x
        return x


def watched_pass(
    encoder: Encoder, h: Tensor, inputs: Inputs, rows: Rows, parts: Sequence[str]
) -> tuple[dict[tuple[str, int], Tensor], Tensor]:
    """One pass from the embeddings h [B, S, d]: the parts asked for, by (part, layer), and the top block's output.

    With `rows`, the top layer is computed after its attention for these rows only. Gradients flow where they are
    switched on.
    """
    watch, top = Watch(parts), encoder.layers - 1
    geometry = encoder.anatomy.geometry(inputs, h)
    for layer in range(encoder.layers):
        if layer == top and rows is not None:
            h = watch("resid", top, h)
            z = watch("z", top, encoder.heads_at(top, h, geometry[top], list(rows)))
            h = encoder.after_heads(top, h[:, list(rows)], merge_heads(z), watch)
        else:
            h = encoder.layer(layer, h, geometry[layer], tap=watch)
    return watch.kept, h


@dataclass(frozen=True)
class Recording:
    """Every site of one sequence of S tokens, in an encoder of L layers and H heads.

    `resid` has L + 1 entries [S, d], the last one the top block's output before any final norm; `z`, `attn` and
    `mlp` have L. Where the read-out reads some rows only, what follows attention in the top layer is kept, and
    was computed, for those rows only: no other row of it can reach the score. Queries, keys, values and patterns
    are made again from `resid` when they are asked for: few sweeps need them, and they would double what is kept.
    """

    encoder: Encoder
    inputs: Inputs
    geometry: tuple[Geometry, ...]
    rows: Rows
    resid: list[Tensor]
    z: list[Tensor]
    attn: list[Tensor]
    mlp: list[Tensor]

    @classmethod
    def each(cls, encoder: Encoder, inputs: Inputs, rows: Rows = None) -> list[Recording]:
        """Runs the encoder once over sequences of one length, nothing padded: a recording of each."""
        assert int(inputs.lengths.min()) == inputs.ids.shape[1], "one length, nothing padded"
        kept, top = watched_pass(encoder, encoder.embed(inputs), inputs, rows, ("resid", "attn", "mlp", "z"))
        kept["resid", encoder.layers] = top
        geometry = encoder.anatomy.geometry(inputs, kept["resid", 0])
        return [
            cls(
                encoder, inputs.only(i), tuple(one.only(i) for one in geometry), rows,
                *([_one(kept[part, layer], i) for layer in range(encoder.layers + (part == "resid"))]
                  for part in ("resid", "z", "attn", "mlp")),
            )
            for i in range(len(inputs.ids))
        ]  # fmt: skip

    @classmethod
    def of(cls, encoder: Encoder, inputs: Inputs, rows: Rows = None) -> Recording:
        """The recording of a batch of one sequence."""
        (one,) = cls.each(encoder, inputs, rows)
        return one

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.resid[0])

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


def _one(x: Tensor, i: int) -> Tensor:
    """One sequence's part of a batch; heads [H, S, d_head] side by side."""
    return merge_heads(x[i : i + 1])[0] if x.dim() == 4 else x[i]
