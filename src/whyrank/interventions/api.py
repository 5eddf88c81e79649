"""`patch`: the whole way from names to effects."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import SiteSet
from whyrank.engines.engine import open_engine
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.aligned import AlignedPairs, aligned_pairs, pair_table
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.effects import Effects
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import change_of
from whyrank.interventions.summary import by_category
from whyrank.interventions.sweep import sweep
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Ranker

METHODS = ("activation", "path", "attribution", "ablation")


@dataclass(frozen=True)
class Request:
    """What to do to a ranker's runs; the command line's options have the same names."""

    method: str = "activation"
    sites: str = "heads"
    by: str | None = None
    to: str = "logits"
    direction: str = "denoise"
    freeze_mlp: bool = False
    ablate: str | None = None
    reference: str | None = None
    steps: int = 0
    screen: int | None = None
    check: int = 16
    side: str = "document"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UserError(f"unknown method '{self.method}'", todo=f"choose {', '.join(METHODS)}")
        if self.screen is not None and self.method not in ("activation", "attribution"):
            raise UserError(f"--screen does not go with {self.method}", todo="it screens activation patching")
        if self.freeze_mlp and self.method != "path":
            raise UserError(f"--freeze-mlp does not go with {self.method}", todo="it belongs to --method path")
        if self.ablate is not None and self.method != "ablation":
            raise UserError(f"--ablate does not go with {self.method}", todo="it belongs to --method ablation")
        if self.reference is not None and self.ablate not in ("mean", "resample"):
            raise UserError("--reference is for --ablate mean or resample", todo="leave it out")
        if self.steps and not self.approximate:
            raise UserError(f"--steps does not go with {self.method}", todo="it belongs to --method attribution")
        if self.steps < 0 or self.check < 1 or (self.screen is not None and self.screen < 1):
            raise UserError("steps, check and screen count something", todo="give 1 or more")
        if self.to != "logits" and self.method != "path":
            raise UserError(f"--to does not go with {self.method}", todo="it belongs to --method path")

    @property
    def approximate(self) -> bool:
        """Whether attribution comes first."""
        return self.method == "attribution" or self.screen is not None

    def intervention(self, reference: Sequence[MinimalPair]) -> Intervention:
        """The intervention; `reference` are the pairs whose baselines an ablation takes its values from."""
        if self.approximate:
            return Attribution(self.direction, self.steps)
        if self.method == "path":
            return PathPatching.to(self.to, freeze_mlp=self.freeze_mlp, direction=self.direction)
        if self.method == "ablation":
            return Ablation(self.ablate or "zero", self.direction, self.seed).with_reference(reference)
        return Activation(self.direction)

    def plan(self, encoder: Encoder, intervention: Intervention) -> SitePlan:
        """The sites; of all heads or blocks, those that can send to the receivers."""
        keep = intervention.reached_from if isinstance(intervention, PathPatching) else None
        plan = SitePlan.parse(self.sites, encoder, self.by, keep)
        if not plan.sets:
            raise UserError(f"no site of '{self.sites}' is below {self.to}", todo="choose a receiver higher up")
        intervention.check(encoder, plan.sets)
        return plan


def patch(
    ranker: Ranker | str,
    pairs: Sequence[MinimalPair] | AlignedPairs | Path | str,
    request: Request | None = None,
    *,
    first: int | None = None,
    skip: bool = False,
    pad: bool = False,
    engine: str = "local",
    workers: int | None = None,
    shards: Path | None = None,
    step: OpenProgress | None = None,
    **options: Any,
) -> Effects:
    """What sites of a ranker do to its score on minimal pairs: one row a pair and site.

        effects = whyrank.patch("ce-minilm-l12", "tfc1.jsonl", method="path", sites="heads", to="logits")
        effects.summary()["sites"]

    Options are the fields of `Request`; `first` takes only so many pairs. Texts are scored as they are given; a
    pair whose sides differ in token length is refused, or padded with fillers (`pad`), or left out and counted
    (`skip`); `effects.pairs` has the texts that were scored beside those given. With `shards`, a folder, work that
    was stopped goes on where it was.
    """
    request = replace(request or Request(), **options)
    opened = neural(ranker)
    opened.check_side(request.side)
    request.plan(opened.encoder, request.intervention([]))
    aligned = (
        pairs
        if isinstance(pairs, AlignedPairs)
        else aligned_pairs(opened, pairs, request.side, first=first, skip=skip, pad=pad)
    )
    some = aligned.scored
    reference = some
    if request.reference:
        reference = aligned_pairs(opened, request.reference, request.side, skip=skip, pad=pad).scored
    intervention = request.intervention(reference)
    plan = request.plan(opened.encoder, intervention)
    step = step or no_progress
    with open_engine(engine, workers) as where:

        def swept(name: str, pairs: Sequence[MinimalPair], plan: SitePlan, how: Intervention) -> Effects:
            kept = None if shards is None else shards / how.method
            with step(name, len(pairs)) as advance:
                return sweep(
                    opened, pairs, plan, how, side=request.side, shards=kept, engine=where, progress=advance
                )

        effects = swept(intervention.method, some, plan, intervention)
        family = _check_sites(effects, plan)
        if request.approximate:
            exact = Activation(request.direction)
            chosen, checked = _exact_part(request, effects, plan, some)
            effects = Effects.joined([effects, swept("exact", checked, chosen, exact)])
    screened = family if request.screen is not None else None
    table = pair_table(opened, aligned, request.side, effects.scores_of_pairs())
    return replace(effects, by=request.by, family=screened, dropped=aligned.dropped, pairs=table)


def neural(ranker: Ranker | str, max_length: int | None = None) -> NeuralRanker:
    """The ranker, opened, reading at most so many tokens; BM25 has nothing inside."""
    if ranker == "bm25":
        raise UserError("bm25 cannot be opened", todo="choose a neural ranker, such as ce-minilm-l12")
    settings: dict[str, Any] = {} if max_length is None else {"max_length": max_length}
    loaded = load(ranker, **settings) if isinstance(ranker, str) else ranker
    if not isinstance(loaded, NeuralRanker):
        raise UserError(f"{loaded.name} cannot be opened", todo="choose a neural ranker, such as ce-minilm-l12")
    return loaded


def _exact_part(
    request: Request, effects: Effects, plan: SitePlan, pairs: Sequence[MinimalPair]
) -> tuple[SitePlan, Sequence[MinimalPair]]:
    """What is patched exactly: the best sites in all pairs (screen), or all sites in a sample of the pairs."""
    if request.screen is None:
        count = min(request.check, len(pairs))
        return plan, random.Random(request.seed).sample(list(pairs), count)
    return replace(plan, sets=best_sites(effects, plan, request.screen)), pairs


def _check_sites(effects: Effects, plan: SitePlan) -> int:
    """How many sites (and cuts) there are rows of; refused when some site is in no pair at all."""
    frame = by_category(effects.frame) if plan.by == "position" else effects.frame
    found = {str(name) for name in frame["site"].unique()}
    lacking = [one for one in plan.sets if plan.by is None and str(one) not in found]
    if lacking:
        raise UserError(f"no pair has {lacking[0]}", todo="choose a position or category that the pairs have")
    return len(found)


def best_sites(effects: Effects, plan: SitePlan, count: int) -> tuple[SiteSet, ...]:
    """The sites whose summed change is largest; of a site that is cut, its largest cut counts."""
    frame = by_category(effects.frame) if plan.by == "position" else effects.frame
    sums = change_of(frame).groupby(frame["site"]).sum().abs()
    size: dict[str, float] = {}
    for name, value in sums.items():
        whole = _uncut(str(name)) if plan.by else str(name)
        size[whole] = max(size.get(whole, 0.0), float(value))
    order = sorted(plan.sets, key=lambda one: -size.get(str(one), 0.0))
    return tuple(one for one in plan.sets if one in set(order[:count]))


def _uncut(name: str) -> str:
    return str(SiteSet(tuple(replace(site, at=None) for site in SiteSet.parse(name))))
