"""Ablation: sites of a run replaced by nothing in particular, and what that does to the score.

- `zero`: by 0.
- `mean`: each token's value by the mean over a reference set of the tokens of its category ([CLS] and [SEP] are
  nothing like text; a category that the reference lacks takes the mean of all tokens).
- `resample`: each token's value by that of a random token of its category in the run of another pair, one of
  another query where there is one. All sites of a set take the same tokens, so that they fit together.

`denoise` ablates the baseline run, `noise` the perturbed one. The reference are the baseline texts of the pairs.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.recording import Recording
from whyrank.interventions.wavefront import Wavefront
from whyrank.rankers.neural import NeuralRanker, no_gradients

KINDS = ("zero", "mean", "resample")
#: Reference texts that a mean is taken over at most, drawn from the pairs.
REFERENCES = 200
ALL = "all"


@dataclass(frozen=True)
class Ablation(Intervention):
    """The intervention; `with_reference` adds the pairs that mean and resample need."""

    kind: str = "zero"
    direction: str = "denoise"
    seed: int = 0
    reference: tuple[MinimalPair, ...] = field(default=(), repr=False)
    means: dict[Site, dict[str, Tensor]] = field(default_factory=dict, repr=False, hash=False, compare=False)
    method = "ablation"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"unknown ablation '{self.kind}'", todo=f"choose {', '.join(KINDS)}")

    def inputs(self) -> list[object]:
        content = hashlib.sha256("\n".join(pair.to_json() for pair in self.reference).encode()).hexdigest()
        return [self.method, self.kind, self.direction, self.seed, content]

    def check(self, encoder: Encoder, patches: Sequence[SiteSet]) -> None:
        super().check(encoder, patches)
        patterns = [site for patch in patches for site in patch if site.part == "pattern"]
        if patterns and self.kind != "zero":
            raise UserError(f"{patterns[0]}: a pattern has no {self.kind}", todo="ablate z, or take zero")

    def with_reference(self, pairs: Sequence[MinimalPair]) -> Ablation:
        """The same with a reference set drawn from these pairs."""
        if self.kind == "zero":
            return self
        chosen = list(pairs)
        if self.kind == "mean" and len(chosen) > REFERENCES:
            chosen = random.Random(self.seed).sample(chosen, REFERENCES)
        return Ablation(self.kind, self.direction, self.seed, tuple(chosen))

    def prepared(self, ranker: NeuralRanker, patches: Sequence[SiteSet], side: str) -> Ablation:
        """The same with the means of the sites over the reference set; one text at a time is held."""
        if self.kind != "mean":
            return self
        sites = {_whole(site) for patch in patches for site in patch}
        means = mean_values(ranker, self.reference, sites, side)
        return Ablation(self.kind, self.direction, self.seed, self.reference, means)

    def scores(self, opened: OpenedPair, patches: Sequence[SiteSet]) -> Tensor:
        target, _ = opened.runs(self.direction)
        value = self._values(opened, target)

        def states(some: Sequence[SiteSet]) -> Tensor:
            return Wavefront(target, lambda _, site: value(site), some, opened.categories).run()

        return opened.scores_of(patches, states, self.direction)

    def _values(self, opened: OpenedPair, target: Recording):  # type: ignore[no-untyped-def]
        """What a site becomes, made once for all patches that name it."""
        if self.kind == "zero":
            return lambda site: torch.zeros(())
        if self.kind == "mean":
            return cache(
                lambda site: _kept(target, site, torch.stack([self._mean(site, name) for name in opened.names]))
            )
        donor = OpenedPair.of(opened.ranker, self.donor(opened.pair), opened.side)
        tokens = self.tokens(opened, donor)
        return cache(lambda site: _resampled(target, donor.baseline_run, site, tokens))

    def _mean(self, site: Site, name: str) -> Tensor:
        by_category = self.means[_whole(site)]
        return by_category.get(name, by_category[ALL])

    def donor(self, pair: MinimalPair) -> MinimalPair:
        """Another pair of the reference set, of another query where there is one; the same one each time."""
        others = [one for one in self.reference if one.query != pair.query]
        others = others or [one for one in self.reference if one.id != pair.id]
        if not others:
            raise UserError("resample needs another pair to take values from", todo="give two pairs or more")
        return random.Random(f"{self.seed} {pair.id}").choice(others)

    def tokens(self, opened: OpenedPair, donor: OpenedPair) -> list[int]:
        """For each token of the pair, the donor's token whose values it takes."""
        draw = random.Random(f"{self.seed} {opened.pair.id} tokens")
        places: dict[str, list[int]] = {}
        for place, name in enumerate(donor.names):
            places.setdefault(name, []).append(place)
        return [draw.choice(places.get(name, range(len(donor.names)))) for name in opened.names]


def mean_values(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    sites: Iterable[Site],
    side: str = "document",
) -> dict[Site, dict[str, Tensor]]:
    """For each site, the mean value of the tokens of each category, and of all, over the pairs' baselines."""
    sites = list(sites)
    sums: dict[tuple[Site, str], Tensor] = {}
    counts: dict[tuple[Site, str], int] = {}
    for pair in pairs:
        opened = OpenedPair.of(ranker, pair, side)
        with no_gradients():
            run = Recording.of(ranker.encoder, opened.baseline_run.inputs)
        for site in sites:
            value = run.value(site).double()
            for name, chosen in [*opened.categories.items(), (ALL, torch.ones(len(run), dtype=torch.bool))]:
                sums[site, name] = sums.get((site, name), 0) + value[chosen].sum(0)
                counts[site, name] = counts.get((site, name), 0) + int(chosen.sum())
    means: dict[Site, dict[str, Tensor]] = {site: {} for site in sites}
    for (site, name), total in sums.items():
        means[site][name] = (total / counts[site, name]).float()
    return means


def _whole(site: Site) -> Site:
    """The site without its cut."""
    return Site(site.part, site.layer, site.head)


def _kept(target: Recording, site: Site, values: Tensor) -> Tensor:
    """The values at the positions that a recording keeps of this site."""
    rows = target.kept_rows(site.layer or 0) if site.part in ("z", "attn", "mlp") else None
    return values if rows is None else values[rows]


def _resampled(target: Recording, donor: Recording, site: Site, tokens: list[int]) -> Tensor:
    """The donor's values at the tokens chosen; after the top layer's attention only rows that are read are kept,
    on both sides the same ones."""
    rows = target.kept_rows(site.layer or 0) if site.part in ("z", "attn", "mlp") else None
    return donor.value(site)[tokens] if rows is None else donor.value(site)
