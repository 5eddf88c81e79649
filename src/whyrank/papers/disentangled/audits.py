"""Which axioms vanilla BERT and DGRe obey, trained on the same data, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from whyrank.audit.results import Row
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.api import PairOptions, make_pairs
from whyrank.axioms.make import Choices
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.progress import OpenProgress
from whyrank.papers.disentangled.kept_models import BERT, DGRE, KeptModels
from whyrank.papers.disentangled.paired import corrected, difference, means
from whyrank.papers.disentangled.results import AuditsCompared, AxiomCompared

#: Ranker -> its rows.
Rows = Mapping[str, Sequence[Row]]


def audited(
    models: KeptModels,
    collection: Collection,
    run: Run,
    count: int,
    *,
    shards: Path | None,
    progress: OpenProgress,
    seed: int = 0,
) -> AuditsCompared:
    """Both audited on the same pairs, of `count` documents per axiom out of a run over test queries."""
    rankers = {title: models.opened(title) for title in (BERT, DGRE)}
    aligned = [some[0] for some in rankers.values()]  # seeds read alike
    made = make_pairs("all", collection, aligned, Choices(documents=count, seed=seed), PairOptions(run))
    every = [ranker for some in rankers.values() for ranker in some]
    with progress("auditing", 2 * len(made.pairs) * len(every)) as advance:
        found = audit_pairs(every, made.pairs, seed=seed, shards=shards, progress=advance)
    rows = {one.name: [row for row in found.rows if row.ranker == one.name] for one in found.rankers}
    names = {title: [ranker.name for ranker in some] for title, some in rankers.items()}
    seeds = {title: len(some) for title, some in names.items()}
    axioms = axioms_compared(rows, names, seed)
    return AuditsCompared(axioms, count, len(made.pairs), seeds, made.dropped)


def axioms_compared(rows: Rows, names: Mapping[str, Sequence[str]], seed: int = 0) -> tuple[AxiomCompared, ...]:
    """For each axiom the share of pairs that hold in each group, and DGRe's less BERT's over the same pairs,
    Holm-corrected over the axioms. `names` are the rankers of each group."""
    by_pair = {ranker: {row.pair: row for row in some} for ranker, some in rows.items()}
    rankers = [ranker for group in names.values() for ranker in group]
    shared = [row for row in rows[rankers[0]] if all(row.pair in by_pair[ranker] for ranker in rankers)]
    labels = list(dict.fromkeys(row.label for row in shared))
    found = [
        _axiom(label, [row for row in shared if row.label == label], by_pair, names, seed) for label in labels
    ]
    tested = corrected([one.comparison for one in found])
    return tuple(replace(one, comparison=two) for one, two in zip(found, tested, strict=True))


def _axiom(
    label: str,
    pairs: Sequence[Row],
    by_pair: Mapping[str, Mapping[str, Row]],
    names: Mapping[str, Sequence[str]],
    seed: int,
) -> AxiomCompared:
    clusters = [row.cluster for row in pairs]
    holds = {
        group: [fmean(by_pair[name][row.pair].outcome == "holds" for name in rankers) for row in pairs]
        for group, rankers in names.items()
    }
    compared = difference(holds[DGRE], holds[BERT], clusters, seed)
    return AxiomCompared(label, means(holds, clusters, seed, share=True), compared)
