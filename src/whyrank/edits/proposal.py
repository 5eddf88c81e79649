"""A scale for an edit, chosen by what it is meant to do on one half of the queries, and tried on the other half.

On the half that chooses, each scale's gain is, for each query with documents of both kinds, the share of pairs of
a holder and another document that change places as the edit means it, less the share that do the reverse; its loss
is that of nDCG@10, where queries are judged. Chosen is the largest gain within the allowed loss. What is said of
the proposed scale is measured on the other half, which had no part in the choice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from whyrank.edits.cost import Compared
from whyrank.edits.edit import RULES, Edit
from whyrank.edits.holders import holding, moves_of_edits, passes
from whyrank.edits.intent import MOST_LOSS, Proposal, TriedScale
from whyrank.edits.rows import RowChange
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate

#: Standard deviations of U_0.
SCALES = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
#: The ranking with a change: its scores, and how many pairs were scored for them.
Rescored = Callable[[Unedited, RowChange, str], np.ndarray]


def proposal(
    unedited: Unedited,
    change_of: Callable[[Edit], RowChange],
    edit: Edit,
    rescored: Rescored,
    *,
    scales: Sequence[float] = SCALES,
    max_loss: float | None = None,
    seed: int = 0,
) -> Proposal:
    """The scale that is proposed for all terms of an edit."""
    chooses, tests = halves(unedited, edit, seed)
    most = MOST_LOSS if max_loss is None else max_loss
    tried = []
    for scale in scales:
        at = edit.at(scale)
        scores = rescored(chooses, change_of(at), f"choosing {scale:g}")
        tried.append(_tried(chooses, scores, at, scale, most, seed))
    gaining = [one for one in tried if one.allowed and (one.gain.value or 0.0) > 0]
    found = Proposal(RULES[0], tuple(tried), None, most, len(chooses.queries), len(tests.queries))
    if not gaining:
        return found
    best = max(gaining, key=lambda one: (one.gain.value or 0.0, -one.scale))
    at = edit.at(best.scale)
    scores = rescored(tests, change_of(at), f"testing {best.scale:g}")
    cost = Compared.of(tests, scores).cost(seed)
    return replace(found, chosen=best.scale, holders=moves_of_edits(tests, scores, at, seed), cost=cost)


def halves(unedited: Unedited, edit: Edit, seed: int = 0) -> tuple[Unedited, Unedited]:
    """The queries in two halves, by the seed; those that can tell, having documents of both kinds, in halves,
    too."""
    holds = [holding(term) for term in edit.terms]
    kinds: dict[str, set[tuple[bool, ...]]] = {}
    for row, (_, text) in zip(unedited.rows, unedited.pairs, strict=True):
        kinds.setdefault(row.qid, set()).add(tuple(one(text) for one in holds))
    order = random.Random(seed).sample(sorted(kinds), len(kinds))
    order.sort(key=lambda qid: len(kinds[qid]) < 2)
    return unedited.of(frozenset(order[::2])), unedited.of(frozenset(order[1::2]))


def _tried(half: Unedited, scores: np.ndarray, edit: Edit, scale: float, most: float, seed: int) -> TriedScale:
    gains: dict[str, list[float]] = {}
    for one in edit:
        for qid, passed, was_passed, pairs in passes(half, scores, holding(one.term)):
            net = (passed - was_passed) * (1 if one.direction == "up" else -1)
            gains.setdefault(qid, []).append(net / pairs)
    gain = Estimate.mean([float(np.mean(some)) for some in gains.values()], list(gains), seed)
    difference = Compared.of(half, scores).cost(seed).difference
    loss = None if difference is None or difference.value is None else -difference.value
    return TriedScale(scale, gain, loss, loss is None or loss <= most)
