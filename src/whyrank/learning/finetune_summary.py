"""The table of a fine-tuning: means with intervals over queries, and which differences are more than chance.

A query is the unit: its values under several seeds are averaged for a mean or a paired test, and drawn together
by the bootstrap.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.significance import holm, paired_t_test
from whyrank.learning.finetune import CHOOSES, MEASURES, FineTuning, Watch
from whyrank.learning.jobs import Trained
from whyrank.learning.measured import Values

#: The row of the ranker before any training, and that of what it re-ranks.
UNTRAINED, FIRST_STAGE = "untrained", "first stage"
#: What the paper compares: aligned with not, and embeddings alone with all parameters.
AMONG_CONDITIONS = (
    ("aligned-full", "full"), ("aligned-embeddings", "embeddings"), ("embeddings", "full"),
)  # fmt: skip
#: Row -> the values of each of its seeds; a row that has no seeds has one.
BySeed = Mapping[str, Sequence[Values]]


def finetuned(tuning: FineTuning, watch: Watch | None = None) -> dict[str, Any]:
    """Trains, and gives all that finetune.json says of it."""
    untrained, first_stage = tuning.test.measured(tuning.ranker, MEASURES), tuning.test.first_stage(MEASURES)
    trained, material, pairs = tuning.run(watch), tuning.material, tuning.pairs
    return {
        "ranker": tuning.ranker.name,
        "collection": material.name,
        "settings": {**tuning.settings.to_json(), "max_length": tuning.ranker.max_length},
        "chooses": CHOOSES,
        "split": {part: list(qids) for part, qids in tuning.split},
        "left_out": material.left_out,
        "pairs": {"positives": pairs.positives, "examples": len(pairs), "lacking": material.lacking},
        "aligned_tokens": tuning.aligned.tokens if tuning.aligned else None,
        **summarise(trained, untrained, first_stage, seed=tuning.settings.seed),
        "runs": [{**one.to_json(), "model": f"models/{one.condition}-seed{one.seed}"} for one in trained],
        "baselines": {UNTRAINED: untrained, FIRST_STAGE: first_stage},
    }


def summarise(
    trained: Sequence[Trained], untrained: Values, first_stage: Values, *, seed: int = 0
) -> dict[str, Any]:
    """`table` and `differences`, for finetune.json."""
    rows: dict[str, list[Values]] = {FIRST_STAGE: [first_stage], UNTRAINED: [untrained]}
    for one in trained:
        rows.setdefault(one.condition, []).append(one.test)
    conditions = [name for name in rows if name not in (FIRST_STAGE, UNTRAINED)]
    among = [(a, b) for a, b in AMONG_CONDITIONS if a in rows and b in rows]
    against = [(name, UNTRAINED) for name in conditions]
    return {
        "table": [_row(name, measure, rows, seed) for name in rows for measure in MEASURES],
        "differences": [
            *_differences("conditions", among, rows, seed), *_differences("training", against, rows, seed),
        ],
    }  # fmt: skip


def _row(name: str, measure: str, rows: BySeed, seed: int) -> dict[str, Any]:
    seeds = [values[measure] for values in rows[name]]
    values = np.array([[value] for one in seeds for value in one.values()])
    (interval,) = clustered_intervals(values, [qid for one in seeds for qid in one], seed=seed)
    return {
        "name": name, "measure": measure, "mean": float(values.mean()), **_plain(interval._asdict()),
        "by_seed": [fmean(one.values()) for one in seeds], "queries": len(seeds[0]),
    }  # fmt: skip


def _differences(family: str, pairs: Sequence[tuple[str, str]], rows: BySeed, seed: int) -> list[dict[str, Any]]:
    """Paired differences over the same queries, Holm-corrected over the family."""
    tests = [(a, b, measure) for a, b in pairs for measure in MEASURES]
    found = [(_by_query(rows[a], measure), _by_query(rows[b], measure)) for a, b, measure in tests]
    p_values = [paired_t_test(*_columns(x, y)).p for x, y in found]
    told: list[dict[str, Any]] = []
    for (a, b, measure), (x, y), p, adjusted in zip(tests, found, p_values, holm(p_values), strict=True):
        gaps = np.array([[x[qid] - y[qid]] for qid in x])
        (interval,) = clustered_intervals(gaps, list(x), seed=seed)
        row = {"difference": float(gaps.mean()), **interval._asdict(), "p": p, "p_holm": adjusted}
        told.append(
            {"family": family, "of": a, "against": b, "measure": measure, **_plain(row), "queries": len(x)}
        )
    return told


def _by_query(seeds: Sequence[Values], measure: str) -> dict[str, float]:
    """A query's mean over the seeds."""
    return {qid: fmean(values[measure][qid] for values in seeds) for qid in seeds[0][measure]}


def _columns(x: Mapping[str, float], y: Mapping[str, float]) -> tuple[list[float], list[float]]:
    assert x.keys() == y.keys(), "a paired test is over the same queries"
    return [x[qid] for qid in x], [y[qid] for qid in x]


def _plain(row: Mapping[str, float]) -> dict[str, float | None]:
    return {key: value if math.isfinite(value) else None for key, value in row.items()}
