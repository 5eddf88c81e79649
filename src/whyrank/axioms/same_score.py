"""Pairs whose two sides score the same: float32 noise decides neither an outcome nor the sign of a gap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

#: Scores that differ by less, as a part of the largest, are the same: it is the noise of float32.
SAME_SCORE = 1e-6


def noise(scores: Iterable[float]) -> float:
    """The difference between two of these scores that says nothing."""
    return SAME_SCORE * max((abs(score) for score in scores), default=0.0)


def same_scores(sides: Sequence[tuple[float, float]]) -> int:
    """How many of the (baseline, perturbed) scores are the same."""
    least = noise(score for both in sides for score in both)
    return sum(1 for baseline, perturbed in sides if abs(perturbed - baseline) <= least)


def no_preference(same: int, pairs: int) -> list[str]:
    """What an audit cannot say because of such pairs; nothing where there are none."""
    if not same:
        return []
    if same == pairs:
        return ["both sides score the same in every pair: this says nothing about what the ranker prefers"]
    return [f"both sides score the same in {same} of {pairs} pairs, which say nothing about what it prefers"]


def no_gap(same: int, pairs: int) -> list[str]:
    """What patching cannot say because of such pairs; nothing where there are none."""
    if not same:
        return []
    if same == pairs:
        return ["both sides score the same in every pair: there is no gap that a site could have a share of"]
    return [f"both sides score the same in {same} of {pairs} pairs, which add nothing to shares of the gap"]
