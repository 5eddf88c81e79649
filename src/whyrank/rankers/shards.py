"""Scoring in shards that survive a kill: what was scored is kept until all is done."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from whyrank import __version__
from whyrank.rankers.ranker import Pair, Progress, Ranker, Scorer, Scores
from whyrank.store.atomic import write_text

#: Pairs a shard: what a kill can cost, some seconds. Enough to sort by length.
PAIRS_A_SHARD = 512


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
    for number, start in enumerate(range(0, len(pairs), PAIRS_A_SHARD)):
        shard = shards / f"{number:05d}.json"
        some = pairs[start : start + PAIRS_A_SHARD]
        content = hashlib.sha256(json.dumps([__version__, fingerprint, some]).encode()).hexdigest()
        scores, cuts = _scored(scorer, some, shard, content, progress)
        values += scores
        cut += cuts
    return Scores(np.array(values), cut)


def forget_shards(shards: Path) -> None:
    """Deletes the shards of work that is done."""
    shutil.rmtree(shards, ignore_errors=True)


def _scored(
    scorer: Scorer, pairs: Sequence[Pair], shard: Path, content: str, progress: Progress | None
) -> tuple[list[float], int]:
    """The pairs' scores, from the shard if it is there and of this content, else scored and kept in it."""
    if shard.exists():
        kept = json.loads(shard.read_text(encoding="utf-8"))
        if kept["of"] == content:
            if progress:
                progress(len(pairs))
            return kept["scores"], kept["cut"]
    values, cut = scorer(pairs, progress)
    scores = [float(value) for value in values]
    write_text(shard, json.dumps({"of": content, "scores": scores, "cut": cut}))
    return scores, cut
