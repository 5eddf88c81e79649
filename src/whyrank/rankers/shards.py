"""Scoring in shards that survive a kill: what was scored is kept until all is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from whyrank.core.kept import content_key, keep_json, kept_json
from whyrank.core.progress import Progress
from whyrank.rankers.ranker import Pair, Ranker, Scorer, Scores

#: Pairs a shard: what a kill can cost, some seconds. Enough to sort by length.
PAIRS_PER_SHARD = 512


def score_in_shards(
    ranker: Ranker, pairs: Sequence[Pair], shards: Path | None = None, progress: Progress | None = None
) -> Scores:
    """The pairs' scores. With `shards`, a folder for this work, finished shards are kept there, and a second call
    after a kill takes them up, if they are of the same ranker and pairs."""
    if shards is None:
        return ranker.scores(pairs, progress)
    values: list[float] = []
    cut = 0
    scorer, fingerprint = ranker.long_scorer(), ranker.fingerprint()
    for number, start in enumerate(range(0, len(pairs), PAIRS_PER_SHARD)):
        shard = shards / f"{number:05d}.shard"
        some = pairs[start : start + PAIRS_PER_SHARD]
        found = _scored(scorer, some, shard, content_key(fingerprint, some), progress)
        values += found.scores
        cut += found.cut
    return Scores(np.array(values), cut)


@dataclass(frozen=True)
class Shard:
    """The scores of some pairs, and how many of the documents were cut."""

    scores: list[float]
    cut: int


def _scored(scorer: Scorer, pairs: Sequence[Pair], path: Path, key: str, progress: Progress | None) -> Shard:
    """The pairs' scores, from the shard if it is there and of this content, else scored and kept in it."""
    known: Shard | None = kept_json(path, key, Shard)
    if known is not None:
        if progress:
            progress(len(pairs))
        return known
    values, cut = scorer(pairs, progress)
    made = Shard([float(value) for value in values], int(cut))
    keep_json(path, key, vars(made))
    return made
