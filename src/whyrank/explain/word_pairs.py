"""What a word of the query and a word of the document do together, by replacement:

    joint(i, j) = s(q, d) - s(q - i, d) - s(q, d - j) + s(q - i, d - j)

0 where the score without both is what the two effects say; exact for any ranker, and no part of a sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whyrank.explain.account import Mechanism, WordMatrix
from whyrank.explain.explained import Explained, cuts, part
from whyrank.explain.model_idf import MODEL_IDF, ModelIdf
from whyrank.rankers.ranker import Pair

NOTE = (
    "What each query word adds (the score lost when it is replaced), and the document's word that it acts "
    "with most. These effects are measured one by one and do not sum to the score."
)
IDF_NOTE = " The model's IDF is the share of whole words that it takes to be more common (U0)."
Joint = Mapping[tuple[str, str], float]


def word_pairs(
    family: str,
    explained: Explained,
    most_asked: int,
    most_held: int,
    score: Callable[[Sequence[Pair]], dict[Pair, float]],
    idf: ModelIdf | None = None,
) -> Mechanism:
    """For each query word what it adds, and the word of the document with which it adds most."""
    asked = {one.word: one for one in explained.query_terms[:most_asked]}
    held = sorted(explained.terms, key=lambda one: -abs(one.effect))[:most_held]
    joint = _joint(explained, list(asked), {one.word: one.effect for one in held}, score)
    where = cuts(explained.document)
    parts = []
    for word, one in asked.items():
        row = {b: value for (a, b), value in joint.items() if a == word}
        partner = max(row, key=lambda b: row[b], default=None)
        span = where[partner][0] if partner is not None and row[partner] > 0 else None
        found = (explained.document[slice(*span)], span) if span else None
        share = None if idf is None else idf.share(word)
        parts.append(part(word, found, share, row[partner] if partner and found else None, one.effect))
    left = explained.score - sum(one.contribution for one in parts)
    weight, note = (None, NOTE) if idf is None else (MODEL_IDF, NOTE + IDF_NOTE)
    matrix = matrix_of(joint, list(asked), [one.word for one in held])
    return Mechanism(family, False, tuple(parts), left, weight, "joint effect", note, matrix)


def _joint(
    explained: Explained,
    asked: Sequence[str],
    held: Mapping[str, float],
    score: Callable[[Sequence[Pair]], dict[Pair, float]],
) -> Joint:
    """The joint effects of all that could be scored."""
    of_query, of_text = cuts(explained.query), cuts(explained.document)
    queries = {word: explained.removal.query(of_query[word]) for word in asked if word in of_query}
    texts = {word: explained.removal.document(of_text[word]) for word in held if word in of_text}
    both = {(a, b): (queries[a], texts[b]) for a in queries for b in texts}
    scores = score(list(dict.fromkeys(both.values())))
    effects = {one.word: one.effect for one in explained.query_terms}
    return {
        (a, b): effects[a] + held[b] - (explained.score - scores[pair])
        for (a, b), pair in both.items()
        if pair in scores
    }


def matrix_of(joint: Joint, asked: Sequence[str], held: Sequence[str]) -> WordMatrix | None:
    """The joint effects as a matrix, its columns in the document's order of `held`; None where there are none."""
    if not joint:
        return None
    columns = [b for b in held if any((a, b) in joint for a in asked)]
    return WordMatrix(
        tuple(asked), tuple(columns), tuple(tuple(joint.get((a, b)) for b in columns) for a in asked)
    )
