"""Exact activation patching of many sets of sites in one walk up the layers.

A naive sweep runs one whole pass per patch. Here every patch is a *variant* of one pair's target run, and

1. a variant joins the batch at the lowest layer it touches, from the target's recorded state: the layers below
   are never run again;
2. one that does not touch its first layer's input needs no attention there: a' = a + W_O[:, head] (z' - z)[head]
   with the recorded a, and z' of the heads it touches only;
3. in the top layer only the rows that the read-out reads are computed;
4. the variants of one pair have one length, so nothing is padded or masked.

Where the read-out reads the states of all layers, they are taken down on the way, at each layer's input; what is
patched into that input (`resid`) is then read, too.

All of it is exact: `tests/interventions` compares with plain hooks on the Hugging Face module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

import torch
from torch import Tensor

from whyrank.encoders.attention import attention_pattern, fused_attention, merge_heads, rotate, split_heads
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.recording import Recording

#: What patch `number` puts at a site, at all positions that a recording keeps (or what broadcasts to them).
Value = Callable[[int, Site], Tensor]
AFTER_ATTENTION = ("z", "attn", "mlp")
#: By head, then by a variant's (row in the batch, number): the sites of that head that it patches.
Touched = dict[int, dict[tuple[int, int], list[Site]]]


def patched_states(
    target: Recording,
    source: Recording,
    patches: Sequence[SiteSet],
    categories: Mapping[str, Tensor] | None = None,
) -> Tensor:
    """What the read-out reads of the target's run, one per patch, with the source's values put in: the last hidden
    states [V, S or rows, d], or those of all layers [V, L', S, d].

    `categories` says which positions [S] a category means.
    """
    return Wavefront(target, lambda _, site: source.value(site), patches, categories or {}).run()


class Wavefront:
    """The walk of all variants; `order` says which patch each row of the batch is."""

    def __init__(
        self, target: Recording, value: Value, patches: Sequence[SiteSet], categories: Mapping[str, Tensor]
    ) -> None:
        self.target, self.value, self.encoder = target, value, target.encoder
        self.categories, self.count = categories, len(patches)
        #: Which patches touch (part, layer), and how.
        self.touching: dict[tuple[str, int], list[tuple[int, Site]]] = {}
        #: The lowest layer that each patch touches.
        self.first = [self.encoder.layers] * len(patches)
        for number, patch in enumerate(patches):
            for site in patch:
                site.check(self.encoder.layers, self.encoder.heads)
                part, layer = ("resid", 0) if site.part == "embed" else (site.part, site.layer)
                assert layer is not None, f"{site} is not inside the encoder"
                self.touching.setdefault((part, layer), []).append((number, site))
                self.first[number] = min(self.first[number], layer)
        self._attention_input = cache(target.attention_input)
        self._pattern = cache(target.pattern)

    def run(self) -> Tensor:
        """The last hidden states [V, S or rows, d], or those of all layers [V, L', S, d], as they are read."""
        inputs: list[Tensor] | None = [] if self.target.all_layers else None
        last = self.encoder.anatomy.final_norm(self.walk(self.encoder.layers, inputs))
        return last if inputs is None else torch.stack([*inputs, last], dim=1)

    def walk(self, stop: int, inputs: list[Tensor] | None = None) -> Tensor:
        """The input of layer `stop`, or the top layer's output, of all variants in the order of the patches; those
        of the layers below are added to `inputs`."""
        order: list[int] = []
        state = self.target.state(0, self.rows(0)).new_empty(0)
        for layer in range(stop):
            self.passing(layer, state, order)
            if inputs is not None:
                inputs.append(self.assemble(layer, state, order))
            state, order = self.step(
                layer, state, order, [n for n, first in enumerate(self.first) if first == layer]
            )
        return self.assemble(stop, state, order)

    def assemble(self, layer: int, state: Tensor, order: list[int]) -> Tensor:
        """All variants at the input of a layer, those that have not joined with the target's own state."""
        late = sorted(set(range(self.count)) - set(order))
        few = self.rows(layer - 1) if layer == self.encoder.layers else self.rows(layer)
        state = self._join(state, self.target.state(layer, few), len(late))
        state = self.put("resid", layer, state, [*order, *late], few)
        back = torch.empty(self.count, dtype=torch.long)
        back[torch.tensor([*order, *late], dtype=torch.long)] = torch.arange(self.count)
        return state[back]

    def passing(self, layer: int, state: Tensor, order: list[int]) -> None:
        """Called before each layer, for walks that look at what passes."""

    def rows(self, layer: int) -> list[int] | None:
        """The rows that are computed after a layer's attention; None is all."""
        return self.target.kept_rows(layer)

    def step(self, layer: int, state: Tensor, moving: list[int], joining: list[int]) -> tuple[Tensor, list[int]]:
        """One layer for the variants under way and those that join, before attention or after it."""
        few = self.rows(layer)
        at_input = {number for number, _ in self.touching.get(("resid", layer), ())}
        early, late = [n for n in joining if n in at_input], [n for n in joining if n not in at_input]
        attending, order = [*moving, *early], [*moving, *early, *late]
        h = self.put("resid", layer, self._join(state, self.target.resid[layer], len(early)), attending)
        own = self.target.state(layer, few)
        parts = [self.add_recorded_attention(layer, own.expand(len(late), *own.shape), late)] if late else []
        if attending:
            z = self.put("z", layer, self._heads(layer, h, attending, few), attending, few)
            attn = self.put("attn", layer, self.encoder.blocks[layer].output(merge_heads(z)), attending, few)
            parts.insert(0, attn + (h if few is None else h[:, few]))
        summed = parts[0] if len(parts) == 1 else torch.cat(parts) if parts else h
        return self.after_attention(layer, summed, order), order

    def add_recorded_attention(self, layer: int, h: Tensor, numbers: list[int]) -> Tensor:
        """h + attention's output in variants whose heads read the target's own input: the recorded output, and
        the difference that the touched heads make."""
        few = self.rows(layer)
        own = self.target.after_attention("attn", layer, few)
        touched = self._touched_heads(layer, numbers)
        if ("attn", layer) in self.touching:
            attn = self._add_heads(layer, own.expand(len(numbers), *own.shape).clone(), touched)
            return h + self.put("attn", layer, attn, numbers, few)
        return self._add_heads(layer, h + own, touched)

    def _touched_heads(self, layer: int, numbers: list[int]) -> Touched:
        """By head, then by the variant's (row in the batch, number): the sites of that head that are patched."""
        place = {number: row for row, number in enumerate(numbers)}
        touched: Touched = {}
        for part in ("q", "k", "v", "pattern", "z"):
            for number, site in self.touching.get((part, layer), ()):
                if number in place:
                    assert site.head is not None
                    touched.setdefault(site.head, {}).setdefault((place[number], number), []).append(site)
        return touched

    def _add_heads(self, layer: int, x: Tensor, touched: Touched) -> Tensor:
        """x + W_O (z' - z) of the touched heads."""
        W_O, width = self.encoder.blocks[layer].output.weight, self.encoder.width // self.encoder.heads
        for head, variants in touched.items():
            part = slice(head * width, (head + 1) * width)
            was = self.target.after_attention("z", layer, self.rows(layer))[:, part]
            new = self._outputs(layer, head, {number: sites for (_, number), sites in variants.items()}, was)
            x.index_add_(0, torch.tensor([row for row, _ in variants]), (new - was) @ W_O[:, part].T)
        return x

    def _outputs(self, layer: int, head: int, variants: dict[int, list[Site]], was: Tensor) -> Tensor:
        """One head's outputs [n, S or rows, d_head] in variants that patch it; where all replace its values only,
        in one product: z' = P v'."""
        if all(len(sites) == 1 and sites[0].part == "v" and sites[0].at is None for sites in variants.values()):
            few, pattern = self.rows(layer), self._pattern(layer)[head]
            shape = (len(self.target), was.shape[-1])
            values = torch.stack(
                [self.value(number, sites[0]).expand(shape) for number, sites in variants.items()]
            )
            return torch.einsum("ij,njd->nid", pattern if few is None else pattern[few], values)
        return torch.stack([self._head(number, head, layer, sites, was) for number, sites in variants.items()])

    def after_attention(self, layer: int, summed: Tensor, numbers: list[int]) -> Tensor:
        """The rest of a layer, from its input + attention's output; rows are independent."""
        block, few = self.encoder.blocks[layer], self.rows(layer)
        x = block.norm_after_attention(summed)
        return block.norm_after_mlp(x + self.put("mlp", layer, self.mlp(layer, x), numbers, few))

    def mlp(self, layer: int, x: Tensor) -> Tensor:
        block = self.encoder.blocks[layer]
        return block.mlp(block.norm_before_mlp(x))

    def _head(self, number: int, head: int, layer: int, sites: Iterable[Site], was: Tensor) -> Tensor:
        """One head's output when some of its parts are patched and its layer's input is the target's."""
        by_part: dict[str, list[Site]] = {}
        for site in sites:
            by_part.setdefault(site.part, []).append(site)
        z, few = was, self.rows(layer)
        if set(by_part) - {"z"}:
            q, k, v = (self._patched(number, self._attention_input(part, layer)[head], by_part.get(part))
                       for part in "qkv")  # fmt: skip
            pattern = self._pattern(layer)[head]
            if {"q", "k"} & set(by_part):
                geometry = self.target.geometry[layer]
                bias = geometry.bias
                bias = bias if bias is None or bias.shape[1] == 1 else bias[:, head : head + 1]
                q, k = (rotate(x[None, None], geometry.rotation) for x in (q, k))
                pattern = attention_pattern(q, k, bias)[0, 0]
            pattern = self._patched(number, pattern, by_part.get("pattern"))
            z = (pattern if few is None else pattern[few]) @ v
        return self._patched(number, z, by_part.get("z"), few)

    def _patched(
        self, number: int, x: Tensor, sites: Sequence[Site] | None, few: list[int] | None = None
    ) -> Tensor:
        if not sites:
            return x
        x = x.clone()
        for site in sites:
            self._overwrite(x, self._value(number, site, few), site, few)
        return x

    def _heads(self, layer: int, h: Tensor, numbers: list[int], few: list[int] | None) -> Tensor:
        """The heads' outputs [V, H, S or rows, d_head] of variants whose input differs from the target's."""
        block, geometry, heads = self.encoder.blocks[layer], self.target.geometry[layer], self.encoder.heads
        if few is not None and not any((part, layer) in self.touching for part in ("q", "k", "v", "pattern")):
            return self.encoder.heads_at(layer, h, geometry, few)
        u = block.norm_before_attention(h)
        q, k, v = (split_heads(part(u), heads) for part in (block.query, block.key, block.value))
        q, k, v = (self.put(part, layer, x, numbers) for part, x in (("q", q), ("k", k), ("v", v)))
        q, k = rotate(q, geometry.rotation), rotate(k, geometry.rotation)
        if ("pattern", layer) in self.touching:
            z = self.put("pattern", layer, attention_pattern(q, k, geometry.bias), numbers) @ v
        else:
            z = fused_attention(q, k, v, geometry.bias)
        return z if few is None else z[:, :, few]

    def put(self, part: str, layer: int, x: Tensor, numbers: list[int], few: list[int] | None = None) -> Tensor:
        """The patches' values at the rows of this part that each names; `few` are the rows that x has."""
        all_touched = self.touching.get((part, layer))
        if not all_touched:
            return x
        place = {number: row for row, number in enumerate(numbers)}
        touched = [(number, site) for number, site in all_touched if number in place]
        if not touched:
            return x
        x = x.clone()
        for number, site in touched:
            row = place[number]
            here = x[row] if site.head is None else x[row, site.head]
            self._overwrite(here, self._value(number, site, few), site, few)
        return x

    def _value(self, number: int, site: Site, few: list[int] | None) -> Tensor:
        """A patch's value at the rows that are computed; after the top layer's attention no others are kept."""
        value = self.value(number, site)
        kept = site.part in AFTER_ATTENTION and self.target.kept_rows(site.layer or 0) is not None
        return value if few is None or kept or value.dim() < 2 else value[few]

    def _overwrite(self, here: Tensor, value: Tensor, site: Site, few: list[int] | None) -> None:
        value = value.expand_as(here)
        if site.at is None:
            here.copy_(value)
            return
        chosen = torch.zeros(len(self.target), dtype=torch.bool)
        chosen[site.at if isinstance(site.at, int) else self.categories[site.at]] = True
        chosen = chosen if few is None else chosen[few]
        here[chosen] = value[chosen]

    def _join(self, state: Tensor, own: Tensor, count: int) -> Tensor:
        """The batch with `count` more variants, whose state is the target's own."""
        more = own.expand(count, *own.shape)
        return torch.cat([state, more]) if len(state) else more.contiguous()
