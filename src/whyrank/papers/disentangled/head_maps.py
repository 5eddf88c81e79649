"""What each head does to the score before training and after: activation patching on TFC1 pairs, and how alike the
maps are, among seeds, between BERT and DGRe, and with the backbone that both began as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from whyrank.axioms.api import PairOptions, make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.evaluation.estimate import is_significant
from whyrank.interventions.aligned import aligned_pairs
from whyrank.interventions.api import neural
from whyrank.interventions.effects import Effects
from whyrank.interventions.options import PatchOptions
from whyrank.interventions.patching import Patching
from whyrank.interventions.statistics import clusters
from whyrank.papers.disentangled.kept_models import BEFORE, BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import means
from whyrank.rankers.neural import NeuralRanker

AXIOM = "TFC1:append"


def head_maps(
    models: KeptModels,
    backbone: str,
    collection: Collection,
    run: Run,
    count: int,
    *,
    folder: Path,
    shards: Path | None,
    watch: OpenProgress,
    seed: int = 0,
) -> dict[str, Any]:
    """All heads patched in all models on the same pairs; the rows go to `folder`, a file a model."""
    groups: dict[str, list[NeuralRanker]] = {title: list(models.opened(title)) for title in (BERT, DGRE)}
    first, why = _backbone(backbone, models.max_length)
    if first is not None:
        groups = {BEFORE: [first], **groups}
    pairs = make_pairs(
        AXIOM,
        collection,
        [some[0] for some in groups.values()],
        Choices(documents=count, seed=seed),
        PairOptions(run),
    ).pairs
    found = {
        title: [
            _patched(ranker, pairs, folder, shards and shards / f"{title}-{number}", watch)
            for number, ranker in enumerate(some)
        ]
        for title, some in groups.items()
    }
    return {
        "axiom": AXIOM, "pairs": len(pairs), "backbone": why,
        "backbone_kind": None if first is None else first.kind,
        "maps": {
            title: {"models": [one.name for one in groups[title]], **_map(some, seed)}
            for title, some in found.items()
        },
        "alike": alike(found, seed),
    }  # fmt: skip


def _backbone(name: str, max_length: int) -> tuple[NeuralRanker | None, str | None]:
    """The backbone as the ranker it is by itself, or why it is none."""
    try:
        ranker = neural(name, max_length)
    except UserError as error:
        return None, str(error)
    ranker.name = BEFORE
    return ranker, None


def _patched(
    ranker: NeuralRanker, pairs: Sequence[MinimalPair], folder: Path, shards: Path | None, watch: OpenProgress
) -> Effects:
    """The rows of a model, from their file if they are there."""
    path = folder / f"{ranker.name.replace(', seed ', '-seed').replace(' ', '-')}.parquet"
    if path.is_file():
        return Effects(Effects.read(path).frame)

    def step(name: str, count: int) -> Any:
        return watch(f"patching {ranker.name}", count)

    some = aligned_pairs(ranker, pairs, skip=True).scored
    rows, _ = Patching(ranker, some, PatchOptions(), shards=shards, progress=step).rows()
    rows.write(path)
    return Effects(rows.frame)


def _map(seeds: Sequence[Effects], seed: int) -> dict[str, Any]:
    """Each head's share of the gap: each seed's own, the mean over the seeds whose gap is surely above 0 (a share
    of a gap near 0 can be anything, and one such seed would be all of the mean), in how many of these it is
    significant."""
    told, gaps = [one.summary(seed=seed) for one in seeds], [gap_of(one, seed) for one in seeds]
    by_site = [{site["site"]: site for site in one["sites"]} for one in told]
    heads = []
    for name, first in by_site[0].items():
        mine = [sites[name] for sites, gap in zip(by_site, gaps, strict=True) if gap["sure"] and name in sites]
        shares = [site["share"] for site in mine if site["share"] is not None]
        significant = sum(is_significant(site["p_holm"]) for site in mine)
        heads.append({
            "layer": first["layer"], "head": first["head"], "share": fmean(shares) if shares else None,
            "by_seed": [sites[name]["share"] for sites in by_site if name in sites],
            "significant": significant, "of": len(mine),
            "interval": first["share_interval"] if len(by_site) == 1 else None,
        })  # fmt: skip
    return {"heads": heads, "gaps": gaps, "pairs": told[0]["pairs"]}


def gap_of(effects: Effects, seed: int = 0) -> dict[str, Any]:
    """The mean of perturbed - baseline over the pairs, which shares are of, with its interval; whether it is
    surely above 0."""
    pairs = effects.frame.drop_duplicates("pair")
    gaps = (pairs["perturbed"] - pairs["base"]).to_numpy(dtype=float)
    told = means({"gap": gaps.tolist()}, clusters(pairs).tolist(), seed)["gap"]
    return {**told, "sure": told["low"] is not None and told["low"] > 0}


def alike(found: Mapping[str, Sequence[Effects]], seed: int = 0) -> list[dict[str, Any]]:
    """Correlations of maps, head by head: of each group with itself (two seeds) and with each other group, the
    mean over the pairs of models with the lowest and the highest, and each with its interval over queries."""
    rows = []
    for one, other in [*((name, name) for name in found), *combinations(found, 2)]:
        pairs = (
            list(combinations(found[one], 2))
            if one == other
            else [(a, b) for a in found[one] for b in found[other]]
        )
        told = [a.correlation(b, seed=seed).to_json() for a, b in pairs]
        known = [row["pearson"] for row in told if row["pearson"] is not None]
        if known:
            rows.append({
                "of": one, "with": other, "mean": fmean(known), "least": min(known), "most": max(known),
                "pairs_of_models": len(known), "each": told,
            })  # fmt: skip
    return rows
