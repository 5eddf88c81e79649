"""What a page says of its ranker: a word of warning with its name, and where its score is read."""

from __future__ import annotations

from whyrank.rankers.neural import NeuralRanker


def label(ranker: NeuralRanker) -> str:
    """The ranker's name, and what is missing of it."""
    if ranker.kind == "late-interaction" and getattr(ranker, "projection", None) is None:
        return f"{ranker.name} (its projection is missing)"
    return ranker.name


def reads(ranker: NeuralRanker) -> str:
    """What the score is read from."""
    if ranker.kind == "late-interaction":
        return "MaxSim over all tokens"
    if ranker.kind == "sparse":
        return "the largest weight of each word piece over all tokens"
    tokens = "[CLS]" if ranker.rows == (0,) else "the mean of all tokens"
    return f"a head on {tokens}" if ranker.kind == "cross-encoder" else tokens
