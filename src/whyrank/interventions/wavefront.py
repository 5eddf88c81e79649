"""Exact activation patching of many sets of sites in one walk up the layers.

A naive sweep runs one whole pass a patch. Here every patch is a *variant* of one pair's target run, and

1. a variant joins the batch at the lowest layer it touches, from the target's recorded state: the layers below
   are never run again;
2. one that touches its first layer only after attention (z, attn, mlp) needs no attention there: its heads'
   outputs are the recorded ones, but for what is patched;
3. at the top layer only the rows that the read-out reads are computed, unless a patch touches its attention;
4. the variants of one pair have one length, so nothing is padded or masked.

All of it is exact: `tests/interventions` compares with plain hooks on the Hugging Face module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from whyrank.encoders.attention import (
    attention_pattern,
    fused_attention,
    merge_heads,
    rotate,
    rows_attention,
    split_heads,
)
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.recording import Recording

#: Parts of a layer that come before its heads' outputs.
BEFORE_HEADS = ("resid", "q", "k", "v", "pattern")


def patched_states(
    target: Recording,
    source: Recording,
    patches: Sequence[SiteSet],
    *,
    rows: Sequence[int] | None = None,
    categories: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """The last hidden states [V, S or rows, d] of the target's run, one a patch, with the source's values put in.

    `categories` says which positions [S] a category means.
    """
    return Wavefront(target, lambda _, site: source.value(site), patches, rows, categories or {}).run()


class Wavefront:
    """The walk; `value(number, site)` gives what patch `number` puts at a site, over all positions."""

    def __init__(
        self,
        target: Recording,
        value: Callable[[int, Site], Tensor],
        patches: Sequence[SiteSet],
        rows: Sequence[int] | None,
        categories: Mapping[str, Tensor],
    ) -> None:
        self.target, self.value, self.encoder = target, value, target.encoder
        self.rows, self.categories = None if rows is None else list(rows), categories
        self.patches = [[_normal(site) for site in patch] for patch in patches]
        for patch in self.patches:
            for site in patch:
                site.check(self.encoder.layers, self.encoder.heads)
        #: Which patches touch (part, layer), and how.
        self.touching: dict[tuple[str, int], list[tuple[int, Site]]] = {}
        for number, patch in enumerate(self.patches):
            for site in patch:
                self.touching.setdefault((site.part, _layer(site)), []).append((number, site))

    def run(self) -> Tensor:
        """Walks up; `order` says which patch each row of the batch is."""
        first = [min((_layer(site) for site in patch), default=self.encoder.layers) for patch in self.patches]
        order: list[int] = []
        state = self.target.resid[0].new_empty(0, *self.target.resid[0].shape)
        for layer in range(self.encoder.layers):
            joining = [number for number, lowest in enumerate(first) if lowest == layer]
            early = [
                n for n in joining if any(s.part in BEFORE_HEADS and _layer(s) == layer for s in self.patches[n])
            ]
            late = [n for n in joining if n not in set(early)]
            state = self._layer(layer, state, order, early, late)
            order += early + late
        untouched = [number for number, lowest in enumerate(first) if lowest == self.encoder.layers]
        top = self.target.resid[-1] if self.rows is None else self.target.resid[-1][self.rows]
        if self.rows is not None and self._few_rows(self.encoder.layers - 1) is None:
            state = state[:, self.rows]
        state = torch.cat([state, top.expand(len(untouched), -1, -1)])
        back = torch.empty(len(self.patches), dtype=torch.long)
        back[torch.tensor(order + untouched, dtype=torch.long)] = torch.arange(len(self.patches))
        return self.encoder.anatomy.final_norm(state[back])

    def _layer(self, layer: int, state: Tensor, order: list[int], early: list[int], late: list[int]) -> Tensor:
        """One layer for the variants under way, those that join before attention, and those that join after."""
        target, attending = self.target, order + early
        h = torch.cat([state, target.resid[layer].expand(len(early), -1, -1)])
        h = self._put("resid", layer, h, attending)
        few = self._few_rows(layer)
        z = self._heads(layer, h, attending, few)
        joined = torch.cat([z, self._rows(target.z[layer], few).expand(len(late), -1, -1)])
        numbers = attending + late
        joined = merge_heads(self._put("z", layer, split_heads(joined, self.encoder.heads), numbers, few))
        residual = torch.cat([self._rows(h, few), self._rows(target.resid[layer], few).expand(len(late), -1, -1)])
        return self._after_heads(layer, residual, joined, numbers, few)

    def _few_rows(self, layer: int) -> list[int] | None:
        """The rows to compute at the top layer: those read out, if no patch needs the whole pattern there."""
        if self.rows is None or layer < self.encoder.layers - 1:
            return None
        return None if any((part, layer) in self.touching for part in ("q", "k", "v", "pattern")) else self.rows

    def _heads(self, layer: int, h: Tensor, numbers: list[int], few: list[int] | None) -> Tensor:
        """The heads' outputs side by side [V, S or rows, d]."""
        if not numbers:
            return h.new_empty(0, h.shape[1] if few is None else len(few), h.shape[2])
        block, geometry, heads = self.encoder.blocks[layer], self.target.geometry[layer], self.encoder.heads
        u = block.norm_before_attention(h)
        if few is not None:
            return merge_heads(rows_attention(block, u, geometry, few, heads))
        q, k, v = (split_heads(part(u), heads) for part in (block.query, block.key, block.value))
        q, k, v = (self._put(part, layer, x, numbers) for part, x in (("q", q), ("k", k), ("v", v)))
        q, k = rotate(q, geometry.rotation), rotate(k, geometry.rotation)
        if ("pattern", layer) in self.touching:
            return merge_heads(self._put("pattern", layer, attention_pattern(q, k, geometry.bias), numbers) @ v)
        return merge_heads(fused_attention(q, k, v, geometry.bias))

    def _after_heads(self, layer: int, h: Tensor, z: Tensor, numbers: list[int], few: list[int] | None) -> Tensor:
        block = self.encoder.blocks[layer]
        attn = self._put("attn", layer, block.output(z), numbers, few)
        x = block.norm_after_attention(h + attn)
        return block.norm_after_mlp(x + self._put("mlp", layer, block.mlp(block.norm_before_mlp(x)), numbers, few))

    def _put(self, part: str, layer: int, x: Tensor, numbers: list[int], few: list[int] | None = None) -> Tensor:
        """The source's values at the rows of this part that each variant's patch names."""
        touched = self.touching.get((part, layer), ())
        if not touched:
            return x
        places: dict[int, list[int]] = {}
        for row, number in enumerate(numbers):
            places.setdefault(number, []).append(row)
        x = x.clone()
        for number, site in touched:
            for row in places.get(number, ()):
                here = x[row] if site.head is None else x[row, site.head]
                self._overwrite(here, self.value(number, site), site, few)
        return x

    def _overwrite(self, here: Tensor, value: Tensor, site: Site, few: list[int] | None) -> None:
        value = self._rows(value, few)
        if site.at is None:
            here.copy_(value)
            return
        chosen = torch.zeros(len(self.target.resid[0]), dtype=torch.bool)
        chosen[self._positions(site)] = True
        chosen = chosen if few is None else chosen[few]
        here[chosen] = value[chosen]

    def _positions(self, site: Site) -> Tensor | int:
        if isinstance(site.at, int):
            return site.at
        assert site.at is not None
        return self.categories[site.at]

    def _rows(self, x: Tensor, few: list[int] | None) -> Tensor:
        return x if few is None else x[..., few, :]


def _normal(site: Site) -> Site:
    """`embed` is the residual stream at layer 0."""
    return Site("resid", 0, None, site.at) if site.part == "embed" else site


def _layer(site: Site) -> int:
    assert site.layer is not None, f"{site} is not inside the encoder"
    return site.layer
