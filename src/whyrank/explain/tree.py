"""An explanation as search engines write theirs: value, description, details.

    {"value": 9.61, "description": "score by ce-minilm-l12", "details": [{"value": ..., "description": ...}]}

Tools that show the explain output of Lucene engines can show it. Unlike theirs, the values of a node's details
need not sum to its own; the description says whether they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyrank.explain.account import Mechanism, MechanismPart
    from whyrank.explain.explanation import Explanation

SUMS, MEASURED = "sum of", "measured one by one, not a sum"


@dataclass(frozen=True)
class Node:
    """A number and what it is, with the numbers behind it."""

    value: float
    description: str
    details: tuple[Node, ...] = ()


def tree_of(found: Explanation) -> Node:
    """The mechanism, where the family has one, then the words' effects."""
    words = Node(
        found.score,
        f"words of the document, score lost without each ({MEASURED})",
        tuple(Node(one.effect, f"'{one.word}'" + f" x{one.times}" * (one.times > 1)) for one in found.terms),
    )
    details = [words]
    if found.mechanism is not None:
        details.insert(0, _mechanism(found.mechanism, found.score))
    if found.bm25 is not None:
        details.append(_mechanism(found.bm25, sum(one.contribution for one in found.bm25.parts)))
    return Node(found.score, f"score of {found.name} by {found.ranker} for '{found.query}'", tuple(details))


def _mechanism(how: Mechanism, score: float) -> Node:
    parts = [Node(one.contribution, _described(one, how.weight, how.match)) for one in how.parts]
    rest = [Node(how.rest, "the rest")] if how.exact and abs(how.rest) > 1e-6 else []
    return Node(score, f"{how.family} ({SUMS if how.exact else MEASURED})", (*parts, *rest))


def _described(part: MechanismPart, weight: str | None, match: str | None) -> str:
    said = [f"'{part.query}'" + (f" with '{part.document}'" if part.document not in (None, part.query) else "")]
    said += [f"{name}={value:.4g}" for name, value in ((weight, part.weight), (match, part.match))
             if name is not None and value is not None]  # fmt: skip
    return ", ".join(said)
