"""One text's pass through an encoder, kept: what patching takes values from, and where it starts."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.anatomy import Geometry
from whyrank.encoders.attention import attention_pattern, rotate, split_heads
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site


@dataclass(frozen=True)
class Recording:
    """Every site of one unpadded sequence of S tokens, in an encoder of L layers and H heads.

    `resid` has L + 1 entries [S, d], the last one the top block's output before any final norm; `z`, `attn` and
    `mlp` have L. Queries, keys, values and patterns are made again from `resid` when they are asked for: few
    sweeps need them, and they would double what is kept.
    """

    encoder: Encoder
    inputs: Inputs
    geometry: tuple[Geometry, ...]
    resid: list[Tensor]
    z: list[Tensor]
    attn: list[Tensor]
    mlp: list[Tensor]

    @classmethod
    def of(cls, encoder: Encoder, inputs: Inputs) -> Recording:
        """Runs the encoder once over a batch of one sequence."""
        assert inputs.ids.shape[0] == 1 and inputs.mask is None, "one sequence, nothing padded"
        layers = range(encoder.layers)
        parts = ("resid", "attn", "mlp")
        wanted = [Site(part, layer) for part in parts for layer in layers]
        heads = [Site("z", layer, head) for layer in layers for head in range(encoder.heads)]
        run = encoder.run(inputs, stop=encoder.layers, read=[*wanted, *heads])
        kept = {part: [run.values[Site(part, layer)][0] for layer in layers] for part in parts}
        z = [
            torch.cat([run.values[Site("z", layer, h)][0] for h in range(encoder.heads)], dim=-1)
            for layer in layers
        ]
        geometry = encoder.anatomy.geometry(inputs, run.hidden)
        return cls(encoder, inputs, geometry, [*kept["resid"], run.hidden[0]], z, kept["attn"], kept["mlp"])

    def value(self, site: Site) -> Tensor:
        """The site's value at all positions: [S, .], or [S, S] for a pattern."""
        if site.part == "embed":
            return self.resid[0]
        assert site.layer is not None
        if site.part in ("resid", "attn", "mlp"):
            return getattr(self, site.part)[site.layer]
        assert site.head is not None
        width = self.encoder.width // self.encoder.heads
        if site.part == "z":
            return self.z[site.layer][:, site.head * width : (site.head + 1) * width]
        return self._attention_part(site)

    def _attention_part(self, site: Site) -> Tensor:
        assert site.layer is not None and site.head is not None
        block, geometry = self.encoder.blocks[site.layer], self.geometry[site.layer]
        u = block.norm_before_attention(self.resid[site.layer][None])
        made = {"q": block.query, "k": block.key, "v": block.value}
        if site.part in made:
            return split_heads(made[site.part](u), self.encoder.heads)[0, site.head]
        q, k = (
            rotate(split_heads(part(u), self.encoder.heads), geometry.rotation)
            for part in (block.query, block.key)
        )
        return attention_pattern(q, k, geometry.bias)[0, site.head]
