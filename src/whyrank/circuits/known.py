"""Heads that a paper names in a model: 'Pathway to Relevance' on cross-encoder/ms-marco-MiniLM-L-12-v2."""

from __future__ import annotations

#: The model that the paper opened, as a short name or on the hub.
PAPERS_MODEL = ("ce-minilm-l12", "ms-marco-minilm-l-12-v2")

SCORING = ("10.1", "10.4", "10.7", "10.10")
CONTEXTUALIZATION = ("8.10", "9.11")
MATCHING = ("0.8", "1.7", "2.1", "3.1", "4.9", "5.7", "5.9", "6.3", "6.5", "7.9", "8.0", "8.1", "8.8")
#: All 19 by role.
ROLES = {"scoring": SCORING, "contextualization": CONTEXTUALIZATION, "matching": MATCHING}
#: Layers, heads in each, width.
SHAPE = (12, 12, 384)


def text() -> str:
    """The heads as `whyrank circuit --heads` reads them."""
    return ";".join(f"{role}={','.join(heads)}" for role, heads in ROLES.items())


def is_papers_model(name: str) -> bool:
    """Whether a ranker of this name is the one whose heads the paper names."""
    return any(known in name.lower() for known in PAPERS_MODEL)
