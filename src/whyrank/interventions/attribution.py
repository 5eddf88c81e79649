"""Attribution patching: every site at once, to first order.

    effect of a site  ~  sum over its positions of (source's value - target's value) . d score / d value

One pass forward and one backward through the target's run serve all sites; the source's values are one pass more.
`steps` integrates the gradient instead (Sundararajan et al.; over inputs, as EAP-IG): the mean gradient along the
straight way from the target's embeddings to the source's, taken at the middle of equal steps. At `embed`
the attributions of all positions then sum to the whole gap, as the number of steps grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention, Measured
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.packed import Kept, Packed
from whyrank.interventions.prepared import TOKENS_AT_ONCE, PreparedPair

#: A layer's attention inputs; asking for them makes the top layer whole.
INSIDE_ATTENTION = frozenset({"q", "k", "v", "pattern"})
HEAD_PARTS = ("z", "q", "k", "v")
Places = list[tuple[str, int]]


@dataclass(frozen=True)
class Attribution(Intervention):
    """The intervention, approximate; `steps` 0 is the plain gradient at the target."""

    direction: str = "denoise"
    steps: int = 0
    method = "attribution"

    def inputs(self) -> list[object]:
        return [self.method, self.direction, self.steps]

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        if not any(len(patch.sites) for patch in patches):
            return torch.full((len(patches),), opened.own_score(self.direction))
        return self.measure([opened], [patches])[0].patched

    def measure(self, group: Sequence[PreparedPair], patches: Sequence[Sequence[SiteSet]]) -> list[Measured]:
        """What the scores would be if the score were linear: target's score + attribution."""
        places = sorted({_place(site) for some in patches for patch in some for site in patch})
        if not places:
            return super().measure(group, patches)
        if any(part == "pattern" for part, _ in places) and len(group) > 1:
            return [self.measure([one], [some])[0] for one, some in zip(group, patches, strict=True)]
        scores, by_position = Passes(group, places, self.direction == "noise", self.steps).attributions()
        found = []
        for i, (one, some) in enumerate(zip(group, patches, strict=True)):
            mine = {place: each[i] for place, each in by_position.items()}
            sums = {site: _over(mine[_place(site)], site, one) for patch in some for site in patch}
            own = scores[i][self.direction == "noise"]
            patched = torch.tensor([own + sum(sums[site] for site in patch) for patch in some])
            found.append(Measured(*scores[i], patched))
        return found


class Passes:
    """The passes of a group of pairs: the source's values, the target's with their gradients."""

    def __init__(self, group: Sequence[PreparedPair], places: Places, noise: bool, steps: int) -> None:
        self.group, self.places, self.steps = group, places, steps
        self.encoder, self.rows = group[0].ranker.encoder, group[0].ranker.rows
        self.target, self.source = (1, 0) if noise else (0, 1)
        parts = {part for part, _ in places}
        #: The rows that the top layer computes after attention; None is all.
        self.computed = None if parts & INSIDE_ATTENTION else self.rows
        self.all_layers = group[0].ranker.reads_all_layers
        self.parts = sorted(parts | {"resid"} if self.all_layers else parts)

    def attributions(self) -> tuple[list[tuple[float, float]], dict[tuple[str, int], list[Tensor]]]:
        """Both scores of each pair; and by (part, layer), for each pair, the attribution at each position, and of
        each head where the part has them: [S] or [S, H]."""
        with torch.no_grad():
            there, away = self._plain(self.source)
            here, home = self._plain(self.target) if self.steps else ({}, [])
        with torch.inference_mode(False), torch.enable_grad():
            gradients, kept, scores = self._gradients()
        here, home = (here, home) if self.steps else (kept, scores)
        found = {}
        for place, gradient in gradients.items():
            found[place] = self._per_position(place, gradient, there[place] - here[place].detach())
        sides = (home, away) if self.target == 0 else (away, home)
        return list(zip(*sides, strict=True)), found

    def _plain(self, side: int) -> tuple[Kept, list[float]]:
        """One side's values and scores."""
        packed = Packed(self.encoder, [one.inputs.only(side) for one in self.group])
        kept, top = packed.run(packed.embed(), self.computed, self.parts)
        return kept, [float(score) for score in self._scores(packed, kept, top)]

    def _gradients(self) -> tuple[Kept, Kept, list[float]]:
        """The gradients of each pair's score, averaged over the steps; and, of the target itself (no steps), the
        values and the scores. Few steps at once, so that memory does not grow with them."""
        middles = [(i + 0.5) / self.steps for i in range(self.steps)] if self.steps else [0.0]
        tokens = sum(one.inputs.ids.shape[1] for one in self.group)
        size = max(1, TOKENS_AT_ONCE // tokens)
        total: Kept = {}
        for start in range(0, len(middles), size):
            some = torch.tensor(middles[start : start + size])
            found, kept, scores = self._gradients_at(some)
            for place, gradient in found.items():
                share = gradient / len(middles)
                total[place] = total[place] + share if place in total else share
        return total, kept, scores

    def _gradients_at(self, middles: Tensor) -> tuple[Kept, Kept, list[float]]:
        """The gradients at some steps of the way, summed over them."""
        inputs = [one.inputs.only(self.target).repeated(len(middles)) for one in self.group]
        packed, ways = Packed(self.encoder, inputs), []
        with torch.no_grad():
            for one in self.group:
                ends = self.encoder.embed(one.inputs)
                ways.append(ends[self.target] + middles[:, None, None] * (ends[self.source] - ends[self.target]))
        kept, top = packed.run(packed.pack(ways).requires_grad_(), self.computed, self.parts)
        scores = self._scores(packed, kept, top)
        found = torch.autograd.grad(torch.stack(scores).sum(), [kept[place] for place in self.places])
        summed = {
            place: self._over_steps(place, gradient, len(middles))
            for place, gradient in zip(self.places, found, strict=True)
        }
        return summed, kept, [float(score.detach()) for score in scores]

    def _over_steps(self, place: tuple[str, int], gradient: Tensor, steps: int) -> Tensor:
        """A packed gradient summed over the steps of each pair: [T, .], or [1, H, S, S] for a pattern."""
        if place[0] == "pattern":
            return gradient.sum(0, keepdim=True)
        parts = gradient.split([steps * length for length in self._lengths(place)])
        return torch.cat([part.unflatten(0, (steps, -1)).sum(0) for part in parts])

    def _lengths(self, place: tuple[str, int]) -> list[int]:
        """How many rows of each pair are computed of a part."""
        few = self._few(place)
        return [one.inputs.ids.shape[1] if few is None else len(few) for one in self.group]

    def _few(self, place: tuple[str, int]) -> Sequence[int] | None:
        part, layer = place
        return self.computed if part != "resid" and layer == self.encoder.layers - 1 else None

    def _scores(self, packed: Packed, kept: Kept, top: Tensor) -> list[Tensor]:
        """Each pair's score, summed over the steps."""
        count = None if self.computed is None else len(self.computed)
        last = packed.unpack(self.encoder.anatomy.final_norm(top), count)
        if self.all_layers:
            below = [packed.unpack(kept["resid", layer]) for layer in range(self.encoder.layers)]
            last = [torch.stack(states, dim=1) for states in zip(*below, last, strict=True)]
        if self.computed is None and self.rows is not None:
            last = [one[:, list(self.rows)] for one in last]
        return [
            one.read_out(mine, inputs).sum()
            for one, inputs, mine in zip(self.group, packed.batches, last, strict=True)
        ]

    def _per_position(self, place: tuple[str, int], gradient: Tensor, difference: Tensor) -> list[Tensor]:
        """gradient . difference for each pair and position (and head)."""
        part, few = place[0], self._few(place)
        if part == "pattern":  # [1, H, S, S], of the only pair
            return [(gradient[0] * difference[0]).sum(-1).T]
        product, found = gradient * difference, []
        if part in HEAD_PARTS:
            product = product.unflatten(-1, (self.encoder.heads, -1))
        for one, mine in zip(self.group, product.sum(-1).split(self._lengths(place)), strict=True):
            if few is not None:
                whole = mine.new_zeros(one.inputs.ids.shape[1], *mine.shape[1:])
                whole[list(few)] = mine
                mine = whole
            found.append(mine)
        return found


def _place(site: Site) -> tuple[str, int]:
    return ("resid", 0) if site.part == "embed" else (site.part, int(site.layer))  # type: ignore[arg-type]


def _over(attribution: Tensor, site: Site, one: PreparedPair) -> float:
    """The sum over the positions that a site is cut to."""
    mine = attribution if site.head is None else attribution[:, site.head]
    if site.at is None:
        return float(mine.sum())
    return float(mine[site.at] if isinstance(site.at, int) else mine[one.categories[site.at]].sum())
