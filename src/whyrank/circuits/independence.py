"""Are IDF and matching separate signals? Two checks.

1. U_0 of a query token against its matching score, the attention it gives to the document summed over the matching
   heads: r near 0 if the two are separate (.143 in the paper).
2. The matching heads, all together, as one sender to the scoring heads' queries: near 0 if they tell the scoring
   heads what matched (values), not where to look (queries).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.attention_tests import Text, pearson_json
from whyrank.circuits.head import Head, together
from whyrank.circuits.reading import Reading
from whyrank.circuits.search import PARTS
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.evaluation.correlation import ClusteredMoments
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import summarise_sites
from whyrank.interventions.sweep import sweep
from whyrank.rankers.cross_encoder import CrossEncoder

if TYPE_CHECKING:
    import numpy as np


def idf_against_matching(
    ranker: CrossEncoder,
    heads: Sequence[Head],
    texts: Sequence[Text],
    u0: np.ndarray,
    watch: OpenProgress | None = None,
) -> dict[str, Any]:
    """r over query tokens between U_0 and the summed matching score."""
    last = max(head.layer for head in heads) + 1
    places = [head.layer * ranker.encoder.heads + head.head for head in heads]
    moments = ClusteredMoments(1)
    with (watch or no_progress)("U0 against matching", len(texts)) as tell:
        for one in texts:
            reading = Reading.of(ranker, one.query, one.text, last)
            scores = reading.matching().flatten(0, 1)[places].sum(0).numpy()
            moments.add(one.qid, u0[reading.query_ids], scores[None])
            tell(1)
    return pearson_json(moments.correlations()[0])


def matching_to_scoring(
    ranker: CrossEncoder,
    matching: Sequence[Head],
    scoring: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    seed: int = 0,
    shards: Path | None = None,
    watch: OpenProgress | None = None,
) -> dict[str, Any]:
    """The share of the gap that all matching heads below the scoring heads send to their v, q and k, each
    apart."""
    below = [head for head in matching if head.layer < min(one.layer for one in scoring)]
    found: dict[str, Any] = {
        "senders": [str(head) for head in below],
        "receivers": [str(head) for head in scoring],
    }
    for part in PARTS if below else ():
        path = PathPatching(together(scoring, part))
        folder = None if shards is None else shards / part
        with (watch or no_progress)(f"matching heads to the scoring heads' {part}", len(pairs)) as tell:
            frame = sweep(ranker, pairs, SitePlan((together(below),)), path, shards=folder, progress=tell).frame
        found[part] = summarise_sites(frame, seed=seed)[0].to_json()
    return found
