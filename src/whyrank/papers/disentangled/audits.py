"""Which axioms vanilla BERT and DGRe obey, trained on the same data, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from whyrank.audit.results import Row
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.api import PairOptions, make_pairs
from whyrank.axioms.make import Choices
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.progress import OpenProgress
from whyrank.papers.disentangled.kept_models import BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import difference, means, with_holm

#: Ranker -> its rows.
Rows = Mapping[str, Sequence[Row]]


def audited(
    models: KeptModels,
    collection: Collection,
    run: Run,
    count: int,
    *,
    shards: Path | None,
    watch: OpenProgress,
    seed: int = 0,
) -> dict[str, Any]:
    """Both audited on the same pairs, of `count` documents an axiom out of a run over test queries."""
    rankers = {title: models.opened(title) for title in (BERT, DGRE)}
    aligned = [some[0] for some in rankers.values()]  # seeds read alike
    made = make_pairs("all", collection, aligned, Choices(documents=count, seed=seed), PairOptions(run))
    every = [ranker for some in rankers.values() for ranker in some]
    with watch("auditing", 2 * len(made.pairs) * len(every)) as advance:
        found = audit_pairs(every, made.pairs, seed=seed, shards=shards, progress=advance)
    rows = {one.name: [row for row in found.rows if row.ranker == one.name] for one in found.rankers}
    names = {title: [ranker.name for ranker in some] for title, some in rankers.items()}
    return {
        "axioms": axioms_compared(rows, names, seed), "documents": count, "pairs": len(made.pairs),
        "seeds": {title: len(some) for title, some in names.items()}, "dropped": made.drop_counts(),
    }  # fmt: skip


def axioms_compared(rows: Rows, names: Mapping[str, Sequence[str]], seed: int = 0) -> list[dict[str, Any]]:
    """For each axiom the share of pairs that hold in each group, and DGRe's less BERT's over the same pairs,
    Holm-corrected over the axioms. `names` are the rankers of each group."""
    by_pair = {ranker: {row.pair: row for row in some} for ranker, some in rows.items()}
    rankers = [ranker for group in names.values() for ranker in group]
    shared = [row for row in rows[rankers[0]] if all(row.pair in by_pair[ranker] for ranker in rankers)]
    labels = list(dict.fromkeys(row.label for row in shared))
    told = [_axiom(label, [row for row in shared if row.label == label], by_pair, names, seed) for label in labels]
    return with_holm(told)


def _axiom(
    label: str,
    pairs: Sequence[Row],
    by_pair: Mapping[str, Mapping[str, Row]],
    names: Mapping[str, Sequence[str]],
    seed: int,
) -> dict[str, Any]:
    clusters = [row.qid if row.qid is not None else f"text {row.query}" for row in pairs]
    holds = {
        group: [fmean(by_pair[name][row.pair].outcome == "holds" for name in rankers) for row in pairs]
        for group, rankers in names.items()
    }
    gap = difference(holds[DGRE], holds[BERT], clusters, seed)
    return {"axiom": label, "holds": means(holds, clusters, seed, share=True), **gap}
