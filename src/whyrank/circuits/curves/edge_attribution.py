"""Every edge's strength at once, to first order: EAP-IG for encoders whose LayerNorms stand in the stream.

    strength of s -> r  ~  (J (perturbed's value of s - baseline's)) . d score / d what r reads

where J carries what the sender adds up the stream to the receiver, through LayerNorms alone, linearised at the
run. Without LayerNorms in the stream (pre-LN) J is the identity and this is EAP as published. It is the derivative
of patching that path: the receiver reads the sender's new value, everything above runs free. Gradients are
integrated over steps between the two sides' embeddings. So the strengths of a sender's edges sum to the sender's
own attribution, and those of the embeddings to the gap, as the steps grow.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.func import jvp

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.curves.edge_graph import PARTS, EdgeGraph
from whyrank.circuits.curves.nodes import STEPS
from whyrank.core.kept import content_key, keep, kept
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.attention import split_heads
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.packed import Packed
from whyrank.interventions.recording import Recording
from whyrank.rankers.neural import NeuralRanker

RECEIVED = ("q", "k", "v", "mlp")


def edge_order(strengths: Sequence[np.ndarray], graph: EdgeGraph) -> np.ndarray:
    """Places of edges in the flattened matrix, the strongest first: |sum| as a part of all edges' in each set of
    pairs, and the mean of that over the sets."""
    parts = [np.abs(one) / total for one in strengths if (total := np.abs(one).sum())]
    strength = np.where(graph.possible, sum(parts, np.zeros(graph.possible.shape)), -1.0).ravel()
    return np.argsort(-strength, kind="stable")[: graph.count]


def edge_strengths(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    graph: EdgeGraph,
    *,
    steps: int = STEPS,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> np.ndarray:
    """The sum over pairs, [receivers, senders]; with `shards` each pair's is kept."""
    fingerprint, total = ranker.fingerprint() if shards else "", np.zeros(graph.possible.shape)
    with progress("edges by integrated gradients", len(pairs)) as advance:
        for number, pair in enumerate(pairs):
            path = shards / f"{number:05d}.edges" if shards else None
            key = content_key("edge strengths", fingerprint, pair.to_json(), steps)
            content = kept(path, key) if path else None
            if content is None:
                buffer = io.BytesIO()
                np.save(buffer, strengths_of(OpenedPair.of(ranker, pair), graph, steps), allow_pickle=False)
                content = buffer.getvalue()
                if path:
                    keep(path, key, content)
            total += np.load(io.BytesIO(content), allow_pickle=False)
            advance(1)
    return total


def strengths_of(opened: OpenedPair, graph: EdgeGraph, steps: int = STEPS) -> np.ndarray:
    """Of one pair, [receivers, senders]; without `steps` at the baseline itself."""
    middles = [(i + 0.5) / steps for i in range(steps)] if steps else [0.0]
    with torch.inference_mode(False):
        sides = _whole_runs(opened)
        found = [_Passed(opened, graph, sides, middle).strengths() for middle in middles]
    return np.mean(found, axis=0)


def _whole_runs(opened: OpenedPair) -> tuple[Recording, Recording]:
    """Both sides with every row of the top layer, for differences at all rows."""
    encoder = opened.ranker.encoder
    with torch.no_grad():
        ((base,), (perturbed,)) = Recording.each(encoder, [opened.inputs.only(0), opened.inputs.only(1)])
    return base, perturbed


class _Passed:
    """One point of the way: its run with gradients, through which the senders' differences are then carried."""

    def __init__(
        self, opened: OpenedPair, graph: EdgeGraph, sides: tuple[Recording, Recording], middle: float
    ) -> None:
        self.graph, self.sides, self.encoder = graph, sides, opened.ranker.encoder
        base, perturbed = sides
        packed = Packed(self.encoder, [base.inputs])
        with torch.enable_grad():
            h = (base.resid[0] + middle * (perturbed.resid[0] - base.resid[0])).clone().requires_grad_()
            run, top = packed.run(h, None, ("resid", "attn", *RECEIVED))
            last = self.encoder.anatomy.final_norm(top)[None]
            rows = opened.ranker.rows
            score = opened.read_out(last if rows is None else last[:, list(rows)], base.inputs).sum()
            places = [(part, layer) for layer in range(self.encoder.layers) for part in RECEIVED]
            gradients = torch.autograd.grad(score, [*(run[place] for place in places), top], allow_unused=True)
        zero = torch.zeros_like(top)
        self.gradients = {
            place: zero if found is None else found
            for place, found in zip([*places, ("top", 0)], gradients, strict=True)
        }
        self.run = {place: value.detach() for place, value in run.items()}

    def strengths(self) -> np.ndarray:
        found = np.zeros(self.graph.possible.shape)
        carried = (self.sides[1].resid[0] - self.sides[0].resid[0])[None]
        for layer, block in enumerate(self.encoder.blocks):
            n, h = len(carried), self.run["resid", layer]
            u = _carried(block.norm_before_attention, h, carried)
            found[self.graph.head_receivers(layer), :n] = self._to_heads(layer, u)
            carried = torch.cat([carried, self._heads(layer)])
            summed = h + self.run["attn", layer]
            carried = _carried(block.norm_after_attention, summed, carried)
            x = block.norm_after_attention(summed)
            found[self.graph.mlp_receiver(layer), : len(carried)] = self._to_mlp(layer, x, carried)
            carried = torch.cat([carried, (self.sides[1].mlp[layer] - self.sides[0].mlp[layer])[None]])
            carried = _carried(block.norm_after_mlp, x + self.run["mlp", layer], carried)
        found[-1] = _products(carried, self.gradients["top", 0][None])[0]
        return found

    def _to_heads(self, layer: int, u: Tensor) -> np.ndarray:
        """[heads * 3, senders]"""
        block, heads = self.encoder.blocks[layer], self.encoder.heads
        rows = []
        for part, made in zip(PARTS, (block.query, block.key, block.value), strict=True):
            gradient = split_heads(self.gradients[part, layer][None], heads)[0]  # [heads, S, d_head]
            to_u = torch.einsum("hsc,hcd->hsd", gradient, made.weight.detach().unflatten(0, (heads, -1)))
            rows.append(_products(u, to_u))
        return np.stack(rows, axis=1).reshape(heads * len(PARTS), -1)

    def _to_mlp(self, layer: int, x: Tensor, carried: Tensor) -> np.ndarray:
        block = self.encoder.blocks[layer]
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            out = block.mlp(block.norm_before_mlp(x))
            (gradient,) = torch.autograd.grad(out, x, self.gradients["mlp", layer])
        return _products(carried, gradient[None])[0]

    def _heads(self, layer: int) -> Tensor:
        """What each head adds to the stream, perturbed less baseline: [heads, S, d]."""
        heads = self.encoder.heads
        difference = split_heads((self.sides[1].z[layer] - self.sides[0].z[layer])[None], heads)[0]
        W_O = self.encoder.blocks[layer].output.weight.detach().unflatten(1, (heads, -1))
        return torch.einsum("hsc,dhc->hsd", difference, W_O)


def _carried(norm: Callable[[Tensor], Tensor], at: Tensor, tangents: Tensor) -> Tensor:
    """Small changes [n, S, d] of what a norm reads as changes of what it returns."""
    _load_forward_derivatives()
    with torch.no_grad():
        return jvp(norm, (at.detach().repeat(len(tangents), 1, 1),), (tangents,))[1]


@cache
def _load_forward_derivatives() -> None:
    """Torch loads them at the first use, in a way that it warns of itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        jvp(torch.sin, (torch.zeros(1),), (torch.ones(1),))


def _products(carried: Tensor, gradients: Tensor) -> np.ndarray:
    """[receivers, senders]"""
    return (gradients.flatten(1) @ carried.flatten(1).T).detach().double().numpy()
