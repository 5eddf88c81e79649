"""The exact score of a set of edges: every receiver reads a stream of its own.

In a post-LN encoder the stream is no plain sum (h' = LN2(x + MLP), x = LN1(h + attention)), so what a receiver
would read if only some senders were live is not its input less the others'. It is made by walking up again:

    its stream begins with the perturbed embeddings if that edge is kept, else with the baseline's;
    at each sublayer it adds the baseline run's output of the sublayer, and for each kept sender of it the
    difference between what the sender is now and what it was in the baseline run; then the LayerNorm.

What a sender is now follows from what it received, in the same way; so a node into which no kept edge leads,
directly or through others, is what it was in the baseline run. No edge: the baseline's score. All edges: the
perturbed one's. All edges between some nodes: what `kept` measures of these nodes.

Receivers whose kept senders are the same so far share a stream, and only MLPs that receive are computed: the
streams themselves cost LayerNorms and sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from whyrank.circuits.curves.edge_graph import PARTS, EdgeGraph
from whyrank.encoders.attention import fused_attention, rotate, split_heads
from whyrank.encoders.site import Site
from whyrank.interventions.opened import OpenedPair
from whyrank.rankers.neural import no_gradients


def edge_scores(opened: OpenedPair, graph: EdgeGraph, sets: Sequence[np.ndarray]) -> list[float]:
    """The score under each set of edges [receivers, senders]."""
    with no_gradients():
        return [float(_EdgeRun(opened, graph, kept).score()) for kept in sets]


class _Streams:
    """The distinct streams [G, S, d]; `of` [receivers] says which is whose, and stream 0 is the baseline's."""

    def __init__(self, states: Tensor, of: np.ndarray) -> None:
        self.states, self.of = states, of

    def read_by(self, receiver: int) -> Tensor:
        """[1, S, d]"""
        return self.states[self.of[receiver]][None]

    def is_live(self, receiver: int) -> bool:
        return bool(self.of[receiver])

    def split(self, kept: np.ndarray, needed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For receivers that are still `needed`, streams told apart by what they keep [receivers, senders]: of
        each new stream the old one and what it keeps; the baseline's is again the first."""
        rows = np.concatenate([self.of[:, None], kept], axis=1) * needed[:, None]
        distinct, of = np.unique(np.concatenate([np.zeros((1, rows.shape[1]), rows.dtype), rows]), axis=0,
                                 return_inverse=True)  # fmt: skip
        self.of = of.ravel()[1:]
        return distinct[:, 0], distinct[:, 1:]


class _EdgeRun:
    """One walk up the layers."""

    def __init__(self, opened: OpenedPair, graph: EdgeGraph, kept: np.ndarray) -> None:
        self.opened, self.graph, self.kept = opened, graph, kept & graph.possible
        self.base, self.encoder = opened.baseline_run, opened.ranker.encoder
        self.places = np.array([graph.place(one) for one in graph.receivers])
        of = self.kept[:, 0].astype(np.int64)
        self.streams = _Streams(torch.stack([self.base.resid[0], opened.perturbed_run.resid[0]]), of)

    def score(self) -> Tensor:
        for layer in range(self.encoder.layers):
            self._attention(layer)
            self._mlp(layer)
        last = self.encoder.anatomy.final_norm(self.streams.read_by(len(self.graph.receivers) - 1))
        return self.opened.read_out(last, self.base.inputs)[0]

    def _attention(self, layer: int) -> None:
        """Heads receive, and add to every stream that keeps them."""
        rows, place = self.base.kept_rows(layer), self.graph.place(Site("mlp", layer))
        difference = self._heads(layer, rows)
        added = self.base.after_attention("attn", layer)
        old, kept = self._split(self.graph.heads_at(layer), difference, place)
        states = self.streams.states[old] if rows is None else self.streams.states[old][:, rows]
        summed = states + added
        if kept.any():
            summed += torch.einsum("gn,nsd->gsd", torch.from_numpy(kept).to(summed), difference)
        self.streams.states = self.encoder.blocks[layer].norm_after_attention(summed)

    def _mlp(self, layer: int) -> None:
        block, receiver = self.encoder.blocks[layer], self.graph.mlp_receiver(layer)
        added = self.base.after_attention("mlp", layer)
        difference = torch.zeros_like(added)[None]
        if self.streams.is_live(receiver):
            difference = block.mlp(block.norm_before_mlp(self.streams.read_by(receiver))) - added
        sender = self.graph.mlp_at(layer)
        old, kept = self._split(slice(sender, sender + 1), difference, self.graph.place(Site("mlp", layer)) + 1)
        summed = self.streams.states[old] + added
        if kept.any():
            summed += torch.from_numpy(kept).to(summed)[:, :, None] * difference
        self.streams.states = block.norm_after_mlp(summed)

    def _split(self, senders: slice, difference: Tensor, place: int) -> tuple[np.ndarray, np.ndarray]:
        """The streams told apart by these senders, those that do not differ from the baseline's left aside."""
        live = difference.flatten(1).any(dim=1).numpy()
        return self.streams.split((self.kept[:, senders] & live).astype(np.int64), self.places >= place)

    def _heads(self, layer: int, rows: list[int] | None) -> Tensor:
        """W_O (z - baseline's z) of each head [heads, S or rows, d]; 0 for heads that received nothing."""
        block, heads = self.encoder.blocks[layer], self.encoder.heads
        base_z = self.base.after_attention("z", layer)
        W_O = block.output.weight.unflatten(1, (heads, -1))  # [d, heads, d_head]
        live = self.streams.of[self.graph.head_receivers(layer)].reshape(heads, len(PARTS)).any(axis=1)
        if not live.any():
            return base_z.new_zeros(heads, *self.base.after_attention("attn", layer).shape)
        q, k, v = (self._received(layer, number) for number in range(len(PARTS)))
        geometry = self.base.geometry[layer]
        q, k = rotate(q, geometry.rotation), rotate(k, geometry.rotation)
        z = fused_attention(q, k, v, geometry.bias)[0]
        z = z if rows is None else z[:, rows]
        change = z - split_heads(base_z[None], heads)[0]
        change[torch.from_numpy(~live)] = 0.0
        return torch.einsum("hsc,dhc->hsd", change, W_O)

    def _received(self, layer: int, number: int) -> Tensor:
        """The queries, keys or values [1, heads, S, d_head], each head's of its own stream."""
        block, heads = self.encoder.blocks[layer], self.encoder.heads
        made = (block.query, block.key, block.value)[number]
        mine = self.streams.of[self.graph.head_receivers(layer)].reshape(heads, len(PARTS))[:, number]
        u = block.norm_before_attention(self.streams.states[mine])  # [heads, S, d]
        W = made.weight.unflatten(0, (heads, -1))  # [heads, d_head, d]
        found = torch.einsum("hsd,hcd->hsc", u, W)
        bias = made.bias
        return (found if bias is None else found + bias.unflatten(0, (heads, 1, -1)))[None]
