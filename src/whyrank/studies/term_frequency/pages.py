"""Rankers of the atlas that need a word of warning."""

from __future__ import annotations

from whyrank.rankers.neural import NeuralRanker


def label(ranker: NeuralRanker) -> str:
    """The ranker's name, and what is missing of it."""
    if ranker.kind == "late-interaction" and ranker.checkpoint.settings.get("projection") is None:
        return f"{ranker.name} (its projection is missing)"
    return ranker.name
