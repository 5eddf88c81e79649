"""Attribution patching: every site at once, to first order.

    effect of a site  ~  sum over its positions of (source's value - target's value) . d score / d value

One pass forward and one backward through the target's run give all sites; the source's values are one pass more.
`steps` integrates the gradient instead (Sundararajan et al.; over inputs, as EAP-IG): the mean gradient along the
straight way from the target's embeddings to the source's, taken at the middle of so many equal steps. At `embed`
the attributions of all positions then sum to the whole gap, as the number of steps grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.recording import Recording, watched_pass

#: A layer's attention inputs; asking for them makes the top layer whole.
INSIDE_ATTENTION = frozenset("qkv") | {"pattern"}


@dataclass(frozen=True)
class Attribution(Intervention):
    """The intervention, approximate; `steps` 0 is the plain gradient at the target."""

    direction: str = "denoise"
    steps: int = 0
    method = "attribution"

    def told(self) -> list[object]:
        return [self.method, self.direction, self.steps]

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        """What the scores would be if the score were linear: target's score + attribution."""
        wanted = {_place(site) for patch in patches for site in patch}
        by_position = self._attributions(opened, wanted)
        own = opened.baseline if self.direction == "denoise" else opened.perturbed
        sums: dict[Site, float] = {}
        for site in {site for patch in patches for site in patch}:
            sums[site] = _over(by_position[_place(site)], site, opened)
        return torch.tensor([own + sum(sums[site] for site in patch) for patch in patches])

    def _attributions(self, opened: OpenedPair, wanted: set[tuple[str, int]]) -> dict[tuple[str, int], Tensor]:
        """For each (part, layer), the attribution of each head (where it has heads) and position: [(H,) S]."""
        target, source = opened.runs(self.direction)
        gradients = self._gradients(opened, target, source, wanted)
        found = {}
        for (part, layer), gradient in gradients.items():
            rows = target.kept_rows(layer) if part in ("z", "attn", "mlp") else None
            difference = _whole(source, part, layer) - _whole(target, part, layer)
            if rows is not None and gradient.shape[-2] != len(rows):
                gradient = gradient[..., rows, :]
            product = (gradient * difference).sum(-1)
            if rows is not None:
                spread = product.new_zeros(*product.shape[:-1], len(target))
                spread[..., rows] = product
                product = spread
            found[part, layer] = product.cpu()
        return found

    def _gradients(
        self, opened: OpenedPair, target: Recording, source: Recording, wanted: set[tuple[str, int]]
    ) -> dict[tuple[str, int], Tensor]:
        """The mean gradient of the score along the way, by (part, layer)."""
        encoder, (start, end) = target.encoder, (target.resid[0], source.resid[0])
        middles = torch.tensor([(i + 0.5) / self.steps for i in range(self.steps)] if self.steps else [0.0])
        with torch.inference_mode(False), torch.enable_grad():
            way = start.clone() + middles[:, None, None] * (end - start).clone()
            h = way.detach().clone().requires_grad_()
            inputs = target.inputs.repeated(len(middles))
            parts = {part for part, _ in wanted}
            kept, top = watched_pass(
                encoder, h, inputs, None if parts & INSIDE_ATTENTION else target.rows, sorted(parts)
            )
            if parts & INSIDE_ATTENTION and target.rows is not None:
                top = top[:, list(target.rows)]
            score = opened.read_out(encoder.anatomy.final_norm(top), inputs).sum()
            places = sorted(wanted)
            tensors = [kept[place] for place in places]
            found = torch.autograd.grad(score, tensors)
        return {place: gradient.mean(0) for place, gradient in zip(places, found, strict=True)}


def _place(site: Site) -> tuple[str, int]:
    return ("resid", 0) if site.part == "embed" else (site.part, int(site.layer))  # type: ignore[arg-type]


def _whole(run: Recording, part: str, layer: int) -> Tensor:
    """A part's value for all heads: [H, S, .], or [S, d] where it has none."""
    if part in ("q", "k", "v"):
        return run.attention_input(part, layer)
    if part == "pattern":
        return run.pattern(layer)
    x: Tensor = getattr(run, part)[layer]
    return x.unflatten(-1, (run.encoder.heads, -1)).transpose(0, 1) if part == "z" else x


def _over(attribution: Tensor, site: Site, opened: OpenedPair) -> float:
    """The sum over the positions that a site is cut to."""
    mine = attribution if site.head is None else attribution[site.head]
    if site.at is None:
        return float(mine.sum())
    return float(mine[site.at] if isinstance(site.at, int) else mine[opened.categories[site.at]].sum())
