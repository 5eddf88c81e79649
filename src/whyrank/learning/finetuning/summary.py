"""The table of a fine-tuning: means with intervals over queries, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.learning.finetuning.jobs import Tuned
from whyrank.learning.finetuning.tuner import CHOOSES, MEASURES, FineTuner, OnProgress
from whyrank.learning.judgements import used_json
from whyrank.learning.material import Values
from whyrank.learning.tables import differences, table_row

#: The row of the ranker before any training, and that of what it re-ranks.
UNTRAINED, FIRST_STAGE = "untrained", "first stage"
#: What the paper compares: aligned with not, and embeddings alone with all parameters.
AMONG_CONDITIONS = (
    ("aligned-full", "full"), ("aligned-embeddings", "embeddings"), ("embeddings", "full"),
)  # fmt: skip


def finetuned(tuning: FineTuner, watch: OnProgress | None = None) -> dict[str, Any]:
    """Trains, and gives all that finetune.json says of it."""
    untrained, first_stage = tuning.test.measured(tuning.ranker, MEASURES), tuning.test.first_stage(MEASURES)
    trained, material, pairs = tuning.run(watch), tuning.material, tuning.pairs
    return {
        "ranker": tuning.ranker.name,
        "collection": material.name,
        "settings": {**tuning.settings.to_json(), "max_length": tuning.ranker.max_length},
        "chooses": CHOOSES,
        "split": {part: list(qids) for part, qids in tuning.split},
        "judgements": used_json(tuning.what, [tuning.split]),
        "left_out": material.left_out,
        "pairs": {"positives": pairs.positives, "examples": len(pairs), "lacking": material.lacking},
        "aligned_tokens": tuning.aligned.tokens if tuning.aligned else None,
        **summarise(trained, untrained, first_stage, seed=tuning.settings.seed),
        "runs": [{**one.to_json(), "model": f"models/{one.condition}-seed{one.seed}"} for one in trained],
        "baselines": {UNTRAINED: untrained, FIRST_STAGE: first_stage},
    }


def summarise(
    trained: Sequence[Tuned], untrained: Values, first_stage: Values, *, seed: int = 0
) -> dict[str, Any]:
    """`table` and `differences`, for finetune.json."""
    rows: dict[str, list[Values]] = {FIRST_STAGE: [first_stage], UNTRAINED: [untrained]}
    for one in trained:
        rows.setdefault(one.condition, []).append(one.test)
    conditions = [name for name in rows if name not in (FIRST_STAGE, UNTRAINED)]
    among = [(a, b) for a, b in AMONG_CONDITIONS if a in rows and b in rows]
    against = [(name, UNTRAINED) for name in conditions]
    return {
        "table": [table_row(name, measure, rows[name], seed) for name in rows for measure in MEASURES],
        "differences": [
            *differences("conditions", among, rows, MEASURES, seed),
            *differences("training", against, rows, MEASURES, seed),
        ],
    }  # fmt: skip
