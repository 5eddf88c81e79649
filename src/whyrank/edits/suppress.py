"""Suppressing words: turned down until a document with one of them ranks below the same document without.

Each listed word is appended to safe documents; the pairs whose score rises are kept; all listed words are turned
down at once, at each of a range of scales. Success: the unsafe document scores below the safe one, by the edited
ranker; a tie is none. At the scale proposed, rows moved as far along a random direction show what any change of
that size would do. The cost is that of the edit on the collection's own ranking (see `cost`). The scale at the
knee of success is proposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.edits.block_list import BlockList
from whyrank.edits.controls import controls
from whyrank.edits.cost import Cost
from whyrank.edits.dial import Dial
from whyrank.edits.holders import moves_of_holders
from whyrank.edits.injection import Injected, by_word, inject, rising
from whyrank.edits.knee import knee
from whyrank.edits.rows import RowChange, applied, reads_any
from whyrank.edits.term_edit import Edits
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import TOO_FEW
from whyrank.rankers.ranker import Pair
from whyrank.rankers.shards import score_in_shards

SCALES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1200.0)


def suppress(
    dial: Dial,
    listed: BlockList,
    unedited: Unedited,
    *,
    n: int = 10,
    threshold: float = 0.0,
    scales: Sequence[float] = SCALES,
    rule: str = "from-one",
    seed: int = 0,
    shards: Path | None = None,
    step: OpenProgress | None = None,
) -> dict[str, Any]:
    """Success and cost over the scales, ready for JSON. With `shards`, stopped work goes on."""
    step = step or no_progress
    injected = inject(listed, unedited, n, seed)
    safe = unedited.scores[[one.place for one in injected]]
    with step("injecting", len(injected)) as advance:
        pairs = [one.unsafe for one in injected]
        unsafe = score_in_shards(dial.ranker, pairs, Stages(shards).shards("injected"), advance).values
    kept = rising(injected, unsafe - safe, threshold)
    trial = _Trial(dial, [injected[i] for i in kept], safe[kept], unsafe[kept], shards, step)
    told, successes, rankings = [], [], []
    for scale in scales:
        change = dial.change(listed.edits(scale, rule))
        below, gap = trial.at(change, f"scale {scale:g}")
        scores, _ = unedited.rescored(change, name=f"at scale {scale:g}", shards=shards, step=step)
        successes.append(below)
        rankings.append(scores)
        told.append(
            {
                "scale": scale,
                "success": trial.estimate(below, seed, share=True),
                "gap": trial.estimate(gap, seed),
                "cost": Cost.of(unedited, scores).summary(seed),
            }
        )
    bend = knee(scales, [float(below.mean()) for below in successes])
    chosen = bend.scale if bend else scales[-1]
    at = list(scales).index(chosen)
    shown = successes[at]
    holders = moves_of_holders(
        unedited, rankings[at], lambda text: not listed.holds_none(text), "a listed word", "down", seed
    )
    return {
        "holders": {"scale": chosen, **holders.to_json()},
        "words": len(listed.words), "skipped": listed.skipped, "n": n, "threshold": threshold, "rule": rule,
        "seed": seed, "drawn": len(injected), "kept": len(kept), "rise": trial.estimate(trial.rise, seed),
        "scales": told, "knee": bend.to_json() if bend else None, "by_word": by_word(injected, kept, shown),
        "control": _control(trial, dial, listed.edits(chosen, rule), shown, seed),
    }  # fmt: skip


def _control(trial: _Trial, dial: Dial, edits: Edits, success: np.ndarray, seed: int) -> dict[str, Any]:
    """The same rows moved as far, along one random direction: what of the success any change of that size has."""
    change = controls(dial, seed, drawn=1)["random 1"](dial.turns(edits))
    below, gap = trial.at(change, "a random direction")
    scale = next(iter(edits)).scale
    return {
        "scale": scale, "success": trial.estimate(below, seed, share=True), "gap": trial.estimate(gap, seed),
        "more": trial.estimate(success.astype(float) - below, seed),
    }  # fmt: skip


class _Trial:
    """The kept pairs, scored again at each scale; a safe document only where it has a piece of a listed word."""

    def __init__(
        self,
        dial: Dial,
        kept: list[Injected],
        safe: np.ndarray,
        unsafe: np.ndarray,
        shards: Path | None,
        step: OpenProgress,
    ) -> None:
        self.dial, self.kept, self.safe, self.shards, self.step = dial, kept, safe, shards, step
        self.rise = unsafe - safe

    def at(self, change: RowChange, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Which unsafe documents score below their safe ones, and unsafe - safe."""
        safe_pairs: list[Pair] = [one.safe for one in self.kept]
        touched = np.flatnonzero(reads_any(self.dial.ranker, change.moved, safe_pairs))
        pairs = [one.unsafe for one in self.kept] + [safe_pairs[i] for i in touched]
        with applied(self.dial.ranker, change), self.step(f"injected, {name}", len(pairs)) as advance:
            scores = score_in_shards(
                self.dial.ranker, pairs, Stages(self.shards).shards(f"injected {name}"), advance
            ).values
        safe = self.safe.copy()
        safe[touched] = scores[len(self.kept) :]
        gap = scores[: len(self.kept)] - safe
        return gap < 0, gap

    def estimate(self, values: np.ndarray, seed: int, *, share: bool = False) -> dict[str, Any]:
        """The mean over pairs; its interval redraws queries, or words, whichever makes it wider: pairs of one word
        are edited together. Fewer than 6 words are not redrawn: what is said is said of these words."""
        by_query, by_word = (
            Estimate.mean(values, [getattr(one, key) for one in self.kept], seed, share=share)
            for key in ("qid", "word")
        )
        if by_query.no_interval == TOO_FEW:
            return by_query.to_json()
        wider = max((by_query, by_word), key=lambda one: one.interval.width if one.interval else -1.0)
        return replace(wider, queries=by_query.queries).to_json()
