"""What each head does to the score before training and after: activation patching on TFC1 pairs, and how alike the
maps are, among seeds, between BERT and DGRe, and with the backbone that both began as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from statistics import fmean

from whyrank.axioms.api import PairOptions, make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import Interval
from whyrank.interventions.aligned import aligned_pairs
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.options import PatchOptions
from whyrank.interventions.patching import Patching
from whyrank.interventions.statistics import SiteSummary, clusters, compare_maps
from whyrank.interventions.summary import summarise
from whyrank.papers.disentangled.kept_models import BEFORE, BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import means
from whyrank.papers.disentangled.results import HeadMap, HeadMaps, MappedHead, MapsAlike
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import neural_ranker

AXIOM = "TFC1:append"
#: Why a share has no interval.
SEVERAL = "mean of several seeds"


def head_maps(
    models: KeptModels,
    backbone: str,
    collection: Collection,
    run: Run,
    count: int,
    *,
    folder: Path,
    shards: Path | None,
    progress: OpenProgress,
    seed: int = 0,
) -> HeadMaps:
    """All heads patched in all models on the same pairs; the rows go to `folder`, one file per model."""
    groups: dict[str, list[NeuralRanker]] = {title: list(models.opened(title)) for title in (BERT, DGRE)}
    first, why = _backbone(backbone, models.max_length)
    if first is not None:
        groups = {BEFORE: [first], **groups}
    readers = [some[0] for some in groups.values()]
    pairs = make_pairs(AXIOM, collection, readers, Choices(documents=count, seed=seed), PairOptions(run)).pairs
    found = {
        title: [
            _patched(ranker, pairs, folder, shards and shards / f"{title}-{number}", progress)
            for number, ranker in enumerate(some)
        ]
        for title, some in groups.items()
    }
    maps = {title: _map([one.name for one in groups[title]], some, seed) for title, some in found.items()}
    kind = None if first is None else first.kind
    return HeadMaps(AXIOM, len(pairs), why, kind, maps, alike(found, seed))


def _backbone(name: str, max_length: int) -> tuple[NeuralRanker | None, str | None]:
    """The backbone as the ranker it is by itself, or why it is none."""
    try:
        ranker = neural_ranker(name, max_length)
    except UserError as error:
        return None, str(error)
    ranker.name = BEFORE
    return ranker, None


def _patched(
    ranker: NeuralRanker, pairs: Sequence[MinimalPair], folder: Path, shards: Path | None, progress: OpenProgress
) -> EffectTable:
    """The rows of a model, from their file if they are there."""
    path = folder / f"{ranker.name.replace(', seed ', '-seed').replace(' ', '-')}.parquet"
    if path.is_file():
        return EffectTable.read(path)
    some = aligned_pairs(ranker, pairs, skip=True).scored
    shown = lambda name, count: progress(f"patching {ranker.name}", count)  # noqa: E731
    rows, _ = Patching(ranker, some, PatchOptions(), shards=shards, progress=shown).rows()
    rows.write(path)
    return rows


def _map(models: Sequence[str], seeds: Sequence[EffectTable], seed: int) -> HeadMap:
    """Each head's share of the gap: each seed's own, the mean over the seeds whose gap is surely above 0 (a share
    of a gap near 0 can be anything, and one such seed would decide the mean), in how many of these it is
    significant."""
    summaries = [summarise(one.frame, seed=seed) for one in seeds]
    gaps = [gap_of(one, seed) for one in seeds]
    by_site = [{site.site: site for site in one.sites} for one in summaries]
    heads = []
    for name, first in by_site[0].items():
        mine = [
            sites[name] for sites, gap in zip(by_site, gaps, strict=True) if gap.is_above_zero and name in sites
        ]
        by_seed = tuple(sites[name].share.value for sites in by_site if name in sites)
        significant = sum(site.is_significant for site in mine)
        assert first.layer is not None and first.head is not None
        heads.append(MappedHead(first.layer, first.head, _mean_share(mine), by_seed, significant, len(mine)))
    return HeadMap(tuple(models), tuple(heads), tuple(gaps), summaries[0].pairs)


def _mean_share(seeds: Sequence[SiteSummary]) -> Estimate:
    """Over the seeds; the interval is that of the only one."""
    known = [site.share for site in seeds if site.share.value is not None]
    if len(known) == 1:
        return known[0]
    value = fmean(one.value or 0.0 for one in known) if known else None
    pairs, queries = (max((getattr(one, name) for one in seeds), default=0) for name in ("n", "queries"))
    return Estimate.of(value, Interval.none(SEVERAL), pairs, queries)


def gap_of(effects: EffectTable, seed: int = 0) -> Estimate:
    """The mean of perturbed - baseline over the pairs, which shares are of."""
    pairs = effects.frame.drop_duplicates("pair")
    gaps = (pairs["perturbed"] - pairs["base"]).to_numpy(dtype=float)
    return means({"gap": gaps.tolist()}, clusters(pairs).tolist(), seed)["gap"]


def alike(found: Mapping[str, Sequence[EffectTable]], seed: int = 0) -> tuple[MapsAlike, ...]:
    """Correlations of maps, head by head: of each group with itself (two seeds) and with each other group."""
    rows = []
    for one, other in [*((name, name) for name in found), *combinations(found, 2)]:
        pairs = combinations(found[one], 2) if one == other else product(found[one], found[other])
        each = [_correlation(a, b, seed) for a, b in pairs]
        known = [row.value for row in each if row.value is not None]
        if known:
            rows.append(MapsAlike(one, other, fmean(known), min(known), max(known), tuple(each)))
    return tuple(rows)


def _correlation(one: EffectTable, other: EffectTable, seed: int) -> Estimate:
    """Pearson's r over heads; intervals are over the queries of the pairs."""
    found, _ = compare_maps(one.frame, other.frame, seed=seed)
    pairs = one.frame.drop_duplicates("pair")
    return Estimate.of(found.pearson, found.interval, len(pairs), clusters(pairs).nunique())
