"""From options to rows: what was asked is swept, and attribution checked, or followed, by exact patching."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress, no_progress
from whyrank.encoders.site import SiteSet
from whyrank.engines.engine import Engine, Local
from whyrank.interventions.activation import Activation
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.options import PatchOptions
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.selection import by_category
from whyrank.interventions.statistics import change_of
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

#: Opens the progress of a step: its name and its number of pairs.
OpenProgress = Callable[[str, int], AbstractContextManager[Progress]]


LOCAL = Local()


@dataclass(frozen=True)
class Patching:
    """One ranker, its pairs (with the texts that are scored) and the options; where shards are kept and run."""

    ranker: NeuralRanker
    pairs: Sequence[MinimalPair]
    options: PatchOptions
    reference: Sequence[MinimalPair] = ()
    shards: Path | None = None
    engine: Engine = LOCAL
    progress: OpenProgress = no_progress

    def rows(self) -> tuple[EffectTable, int | None]:
        """All rows, and of a screen how many sites (and cuts) attribution looked at."""
        options = self.options
        how = options.intervention(self.reference or self.pairs)
        plan = options.plan(self.ranker.encoder, how)
        table = self._swept(how.method, self.pairs, plan, how)
        family = _check_sites(table, plan)
        if options.approximate:
            chosen, checked = self._exact_part(table, plan)
            exact = self._swept("exact", checked, chosen, Activation(options.direction))
            table = EffectTable.joined([table, exact])
        return table, family if options.screen is not None else None

    def _swept(self, name: str, pairs: Sequence[MinimalPair], plan: SitePlan, how: Intervention) -> EffectTable:
        shards = None if self.shards is None else self.shards / how.method
        with self.progress(name, len(pairs)) as advance:
            return sweep(
                self.ranker, pairs, plan, how, side=self.options.side, shards=shards, engine=self.engine,
                progress=advance,
            )  # fmt: skip

    def _exact_part(self, table: EffectTable, plan: SitePlan) -> tuple[SitePlan, Sequence[MinimalPair]]:
        """What is patched exactly: the best sites in all pairs (screen), or all sites in a sample of the pairs."""
        options, pairs = self.options, list(self.pairs)
        if options.screen is not None:
            return replace(plan, sets=_best_sites(table, plan, options.screen)), pairs
        return plan, random.Random(options.seed).sample(pairs, min(options.check, len(pairs)))


def _check_sites(table: EffectTable, plan: SitePlan) -> int:
    """How many sites (and cuts) there are rows of; refused when some site is in no pair at all."""
    frame = by_category(table.frame) if plan.by == "position" else table.frame
    found = {str(name) for name in frame["site"].unique()}
    lacking = [one for one in plan.sets if plan.by is None and str(one) not in found]
    if lacking:
        raise UserError(f"no pair has {lacking[0]}", todo="choose a position or category that the pairs have")
    return len(found)


def _best_sites(table: EffectTable, plan: SitePlan, count: int) -> tuple[SiteSet, ...]:
    """The sites whose summed change is largest; of a site that is cut, its largest cut counts."""
    frame = by_category(table.frame) if plan.by == "position" else table.frame
    sums = change_of(frame).groupby(frame["site"]).sum().abs()
    size: dict[str, float] = {}
    for name, value in sums.items():
        whole = _uncut(str(name)) if plan.by else str(name)
        size[whole] = max(size.get(whole, 0.0), float(value))
    order = sorted(plan.sets, key=lambda one: -size.get(str(one), 0.0))
    return tuple(one for one in plan.sets if one in set(order[:count]))


def _uncut(name: str) -> str:
    return str(SiteSet(tuple(replace(site, at=None) for site in SiteSet.parse(name))))
