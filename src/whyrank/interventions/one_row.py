"""Exact patching of one position: head x position for the price of a few layers.

A patch at one position of a head's output (or of attention's, the MLP's, the stream) changes one row of the next
layer's input. There every other row i sees one changed key and value, so attention changes in one column p: with
e_ij = exp(s_ij - m_i), and t_i = sum_j e_ij - e_ip what the softmax sums without that column,

    s'_ip = q_i . k'_p / sqrt(d_head),    g_i = sigmoid(s'_ip - m_i - ln t_i),
    z'_i  = (1 - g_i) (sum_j e_ij v_j - e_ip v_p) / t_i + g_i v'_p.

With m_i the row's largest score, t_i is at least 1 unless p is where the row looks most; there both sums are made
without that column, so no difference of nearly equal numbers is ever taken. The changed row itself has its own
query. No query, key or value of another row is computed; the layers above are run whole, the top one for the rows
that are read. In the top layer a patch of a row that is not read has effect exactly 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from whyrank.encoders.attention import rotate, split_heads
from whyrank.encoders.site import Site
from whyrank.interventions.recording import Recording

#: Parts whose value at one position is one row of the next layer's input.
ONE_ROW_PARTS = ("z", "attn", "mlp", "resid", "embed")


def is_one_row(site: Site) -> bool:
    return site.part in ONE_ROW_PARTS and isinstance(site.at, int)


class Changes(NamedTuple):
    """Rows [V, d] that stand for the target's at `positions` in the input of one layer."""

    layer: int
    positions: list[int]
    rows: Tensor


def one_row_states(
    target: Recording, source: Recording, sites: Sequence[Site], tokens: int
) -> Iterator[tuple[list[int], Tensor]]:
    """The last hidden states [n, S or rows, d], each with the source's value at a site, and the sites' numbers, in
    batches of at most `tokens` tokens. Sites that cannot reach what is read are skipped: nothing changes."""
    by_layer: dict[int, list[int]] = {}
    for number, site in enumerate(sites):
        if _reaches(target, site):
            by_layer.setdefault(_changed_layer(site), []).append(number)
    size = max(1, tokens // len(target))
    for layer, numbers in by_layer.items():
        numbers.sort(key=lambda number: int(sites[number].at or 0))  # those at one position share their attention
        walk = OneRow(target, layer) if layer < target.encoder.layers else None
        for start in range(0, len(numbers), size):
            some = numbers[start : start + size]
            changes = _changes(target, source, layer, [sites[number] for number in some])
            yield some, walk.run(changes) if walk else _at_top(target, changes)


def _reaches(target: Recording, site: Site) -> bool:
    kept = None if _changed_layer(site) < target.encoder.layers else target.rows
    return kept is None or site.at in kept


def _changed_layer(site: Site) -> int:
    """The layer whose input has the changed row."""
    return (site.layer or 0) + (site.part not in ("resid", "embed"))


def _changes(target: Recording, source: Recording, layer: int, sites: Sequence[Site]) -> Changes:
    """The changed rows: one row per site through the rest of its own layer."""
    at = [int(site.at or 0) for site in sites]
    if sites and all(site.part in ("resid", "embed") for site in sites):
        return Changes(layer, at, source.resid[layer][at])
    below, encoder = layer - 1, target.encoder
    block, width = encoder.blocks[below], encoder.width // encoder.heads
    kept = target.kept_rows(below)
    rows = at if kept is None else [kept.index(place) for place in at]
    attn, z = target.attn[below][rows].clone(), (source.z[below] - target.z[below])[rows]
    for i, site in enumerate(sites):
        if site.part == "z":
            part = slice(site.head * width, (site.head + 1) * width)  # type: ignore[operator]
            attn[i] += block.output.weight[:, part] @ z[i, part]
        elif site.part == "attn":
            attn[i] = source.attn[below][rows[i]]
    x = block.norm_after_attention(target.resid[below][at] + attn)
    mlp = block.mlp(block.norm_before_mlp(x))
    for i, site in enumerate(sites):
        if site.part == "mlp":
            mlp[i] = source.mlp[below][rows[i]]
    changed = block.norm_after_mlp(x + mlp)
    for i, site in enumerate(sites):
        if site.part in ("resid", "embed"):
            changed[i] = source.resid[layer][at[i]]
    return Changes(layer, at, changed)


def _at_top(target: Recording, changes: Changes) -> Tensor:
    """Rows that are changed in what the read-out reads."""
    top = target.state(changes.layer)
    states = top.expand(len(changes.positions), *top.shape).clone()
    for i, place in enumerate(changes.positions):
        states[i, place if target.rows is None else list(target.rows).index(place)] = changes.rows[i]
    return target.encoder.anatomy.final_norm(states)


class OneRow:
    """The way up from one layer in whose input one row is changed."""

    def __init__(self, target: Recording, layer: int) -> None:
        self.target, self.layer, self.encoder = target, layer, target.encoder
        self.block, self.geometry = self.encoder.blocks[layer], target.geometry[layer]
        q, k = (rotate(target.attention_input(part, layer)[None], self.geometry.rotation)[0] for part in "qk")
        self.q, self.k, self.v = q, k, target.attention_input("v", layer)
        self.scale = 1 / math.sqrt(q.shape[-1])
        self.few = target.kept_rows(layer)
        self.read = list(range(len(target))) if self.few is None else self.few
        self.bias = None
        if self.geometry.bias is not None:
            heads, places = self.encoder.heads, len(target)
            self.bias = self.geometry.bias[0].expand(heads, places, places)
        self._sum_up()

    def _sum_up(self) -> None:
        """The softmax's sums of every row that is read; and the same without the column where it looks most."""
        scores = self.q[:, self.read] @ self.k.transpose(1, 2) * self.scale
        if self.bias is not None:
            scores = scores + self.bias[:, self.read]
        self.max, self.looks_most = scores.max(dim=-1)
        self.e = torch.exp(scores - self.max[..., None])
        self.sum, self.mixed = self.e.sum(-1), self._through_output(self.e @ self.v)
        others = scores.scatter(-1, self.looks_most[..., None], -torch.inf)
        self.other_max = others.amax(dim=-1)
        e = torch.exp(others - self.other_max[..., None])
        self.other_sum, self.other_mixed = e.sum(-1), self._through_output(e @ self.v)
        self.values = self._through_output(self.v)

    def _through_output(self, z: Tensor) -> Tensor:
        """What each head's z [H, S, d_head] adds to the stream: [S, H, d]."""
        W_O = self.block.output.weight.T.unflatten(0, (self.encoder.heads, -1))
        return torch.einsum("hic,hcd->ihd", z, W_O)

    def run(self, changes: Changes) -> Tensor:
        """The last hidden states."""
        h = self.target.resid[self.layer].expand(len(changes.positions), -1, -1).clone()
        h[torch.arange(len(h)), changes.positions] = changes.rows
        x = self.block.norm_after_attention(self._attention(changes) + (h if self.few is None else h[:, self.few]))
        h = self.block.norm_after_mlp(x + self.block.mlp(self.block.norm_before_mlp(x)))
        for layer in range(self.layer + 1, self.encoder.layers):
            h = self.encoder.layer(layer, h, self.target.geometry[layer], rows=self.target.kept_rows(layer))
        return self.encoder.anatomy.final_norm(h)

    def _attention(self, changes: Changes) -> Tensor:
        """Attention's output [V, S or rows, d] in the first layer that sees the change.

        W_O is linear, so every head's sums go through it once, and a variant only mixes what came out.
        """
        at = torch.tensor(changes.positions)
        q, k, v = self._projected(changes.rows, at)
        scores = torch.einsum("hid,vhd->vhi", self.q[:, self.read], k) * self.scale
        if self.bias is not None:
            scores = scores + self.bias[:, self.read][:, :, at].permute(2, 0, 1)
        most = self.looks_most == at[:, None, None]  # [V, H, rows]
        e = self.e[:, :, at].permute(2, 0, 1)
        total = torch.where(most, self.other_sum, self.sum - e)
        share = torch.sigmoid(scores - torch.where(most, self.other_max, self.max) - total.log())
        kept = (1 - share) / total
        usual = kept.masked_fill(most, 0)
        attn = torch.bmm(usual.permute(2, 0, 1), self.mixed).transpose(0, 1)
        weights = torch.cat([share, -usual * e], dim=1).transpose(1, 2)
        new_values = self._through_output(v.transpose(0, 1))
        attn = torch.baddbmm(attn, weights, torch.cat([new_values, self.values[at]], dim=1))
        which, head, row = most.nonzero(as_tuple=True)
        more = kept[which, head, row][:, None] * self.other_mixed[row, head]
        attn.index_put_((which, row), more, accumulate=True)
        own = self._through_output(self._own_row(q, k, v, at).transpose(0, 1)).sum(1)
        for number, place in enumerate(changes.positions):
            if place in self.read:
                attn[number, self.read.index(place)] = own[number]
        bias = self.block.output.bias
        return attn if bias is None else attn + bias

    def _projected(self, rows: Tensor, at: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The changed rows' q, k and v [V, H, d_head], turned as their positions are."""
        u = self.block.norm_before_attention(rows)[:, None]
        parts = (self.block.query, self.block.key, self.block.value)
        q, k, v = (split_heads(part(u), self.encoder.heads) for part in parts)
        if self.geometry.rotation is not None:
            cos, sin = (part[0, at][:, None] for part in self.geometry.rotation)
            q, k = (rotate(x, (cos, sin)) for x in (q, k))
        return q[:, :, 0], k[:, :, 0], v[:, :, 0]

    def _own_row(self, q: Tensor, k: Tensor, v: Tensor, at: Tensor) -> Tensor:
        """The heads' outputs [V, H, d_head] at the changed row: its own query, key and value."""
        rows = torch.arange(len(at))
        scores = torch.einsum("vhd,hjd->vhj", q, self.k) * self.scale
        scores[rows, :, at] = (q * k).sum(-1) * self.scale
        if self.bias is not None:
            scores = scores + self.bias[:, at].transpose(0, 1)
        pattern = torch.softmax(scores, dim=-1)
        z = torch.einsum("vhj,hjd->vhd", pattern, self.v)
        return z + pattern[rows, :, at][..., None] * (v - self.v[:, at].transpose(0, 1))
