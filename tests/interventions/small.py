"""Small runs of patch: made of numbers, or of a tiny random cross-encoder."""

from __future__ import annotations

import numpy as np
import pandas as pd

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.scored_pair import TextCounts
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.results import Effects
from whyrank.interventions.summary import summarise


def pairs(count=8):
    """Of one query each."""
    return [
        MinimalPair(f"p{i}", "red cat", f"the cat sat on a mat {more}", f"the cat sat on a cat {more}",
                    axiom="TFC1", variant="append", term="cat", qid=f"q{i}", docid=f"d{i}", k=1, rank=1 + 12 * i,
                    tf=i % 2)
        for i, more in ((i, "house " * (i % 3)) for i in range(count))
    ]  # fmt: skip


def frame(queries=8, heads=6, direction="denoise", method="activation"):
    """Head h of layer 0 makes up about h tenths of each gap; head 0 does nothing surely."""
    generator = np.random.default_rng(0)
    rows = []
    for i in range(queries):
        gap = 1 + i / 10
        for head in range(heads):
            effect = gap * head / 10 + generator.normal(0, 0.01) if head else 0.05 + (-1) ** i / 10
            rows.append({
                "pair": f"p{i}", "qid": f"q{i}", "axiom": "TFC1", "rank": 1 + 12 * i, "term_present": i % 2 == 0,
                "site": f"L0.H{head}.z", "layer": 0, "head": head, "method": method, "direction": direction,
                "base": 1.0, "perturbed": 1 + gap, "patched": 1 + effect, "effect": effect,
            })  # fmt: skip
    return EffectTable.of(rows).frame


def effects(rows=None, **changed):
    """The result of rows."""
    rows = frame() if rows is None else rows
    names = list(dict.fromkeys(rows["pair"]))
    texts = pd.DataFrame({
        "pair": names, "query": "red cat", "baseline_text": "a mat", "perturbed_text": "a cat", "base": 1.0,
        "perturbed": 2.0, "padded": False, "cut": False, "given_baseline_text": "a mat",
        "given_perturbed_text": "a cat", "given_base": 1.0, "given_perturbed": 2.0,
    })  # fmt: skip
    known = {
        "ranker": "tiny", "source": "made up", "side": "document", "ablate": None, "freeze_mlp": False, "steps": 0,
        "metric": None, "texts": TextCounts(len(names), len(names), 0, 0, 0), "dropped": {},
    }  # fmt: skip
    return Effects(**vars(summarise(rows)), **{**known, **changed}, frame=rows, pair_frame=texts)
