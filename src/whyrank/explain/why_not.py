"""Why an expected document is not on top: its rank, what keeps it down, and the smallest changes that lift it.

Every change is scored and its rank counted among the candidates' own scores: words of the document that lower the
score taken out; the query's words that it lacks, and the words that carry the document on top, added at its start,
where every ranker reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.axioms.terms import with_topic
from whyrank.explain.explanation import Lift, TermEffect, WhyNot, Words
from whyrank.explain.material import Candidate
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.versus import Without, fewest_words
from whyrank.text.words import ENGLISH, Analyzer
from whyrank.text.words import words as words_of

#: Words that are tried as additions, at most, of the query and of the document on top.
FROM_QUERY, FROM_TOP = 8, 4


def why_not(
    texts: ScoredTexts,
    query: str,
    expected: Candidate,
    found: Words,
    candidates: Sequence[Candidate],
    top: int,
    without: Without,
    carried_by: Sequence[TermEffect] = (),
    analyzer: Analyzer | None = None,
) -> WhyNot:
    """`candidates` are all that were ranked; `carried_by` the words of the document on top; `analyzer` says which
    forms of a word are the same."""
    stems_of = analyzer or Analyzer()
    others = [one for one in candidates if one.docid != expected.docid or one.docid is None]
    texts.score("candidates", [(query, one.text) for one in others])
    before = [texts[query, one.text] for one in others if _listed_before(one, expected)]
    scores = sorted((texts[query, one.text] for one in others), reverse=True)
    held, stems = set(words_of(expected.text)), set(stems_of(expected.text))
    every = list(dict.fromkeys(words_of(query)))
    asked = with_topic(every, english=stems_of.stem == ENGLISH) or every
    missing = tuple(word for word in asked if stems.isdisjoint(stems_of(word)))
    needed = scores[min(top, len(scores)) - 1] if scores else found.score
    lowering = [one.word for one in reversed(found.terms) if one.effect < 0]
    adding = [*missing[:FROM_QUERY], *_carriers(carried_by, held, missing)]

    def added(words: Sequence[str]) -> tuple[str, str]:
        return query, f"{' '.join(words)} {expected.text}"

    def lift(kind: str, words: Sequence[str], change: Without) -> Lift | None:
        chosen = fewest_words(texts, words, change, lambda score: score > needed) if scores else None
        return None if chosen is None else Lift(kind, chosen, *_placed(texts[change(chosen)], scores))

    lifts = (lift("removed", lowering, without), lift("added", adding, added))
    rank = 1 + sum(score > found.score for score in scores) + before.count(found.score)
    return WhyNot(
        rank=rank, of=len(others) + 1, top=top, needed=needed, missing=missing,
        listed_at=expected.rank, among_candidates=len(others) < len(candidates),
        lifts=tuple(one for one in lifts if one is not None),
    )  # fmt: skip


def _carriers(carried_by: Sequence[TermEffect], held: set[str], missing: Sequence[str]) -> list[str]:
    strongest = [one.word for one in carried_by if one.effect > 0 and one.word not in held]
    return [word for word in strongest if word not in missing][:FROM_TOP]


def _listed_before(one: Candidate, expected: Candidate) -> bool:
    """Of two candidates with the same score the one listed first is first; a newcomer comes after both."""
    return expected.rank is None or (one.rank is not None and one.rank < expected.rank)


def _placed(score: float, others: Sequence[float]) -> tuple[float, int]:
    """The score, and its rank among these."""
    return score, 1 + sum(other >= score for other in others)
