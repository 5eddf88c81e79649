"""The synonym to put in a term's place: the candidate nearest to it that is neither a query word nor a form of it.

Candidates come from a user's file, which wins, from WordNet, and from the ranker's own input embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from pathlib import Path

from whyrank.core.lines import read_lines
from whyrank.text.words import Analyzer, words

#: Cosine of two words in some embedding; None where one of them has none.
Similarity = Callable[[str, str], float | None]
#: As many as the papers' authors asked for.
CANDIDATES = 20

_stem = Analyzer(stem="english")


def read_synonyms(path: Path | str) -> dict[str, list[str]]:
    """A user's file: a term, a tab, then its synonyms, best first, with commas between them."""
    table: dict[str, list[str]] = {}
    for line in read_lines(path):
        term, tab, others = line.text.partition("\t")
        listed = [one.strip().lower() for one in others.split(",") if one.strip()]
        if not tab or not term.strip() or not listed:
            raise line.wrong(
                "a term, a tab and its synonyms are expected", "for example: car<TAB>automobile, auto"
            )
        table[term.strip().lower()] = listed
    return table


def choose_synonym(
    term: str,
    query: str,
    candidates: Iterable[str],
    similarity: Similarity | None = None,
    own: Mapping[str, list[str]] | None = None,
) -> str | None:
    """The best usable candidate for a term, or None; without a similarity the first usable one."""
    taken = {*_stem(query), *_stem(term)}

    def usable(word: str) -> bool:
        return bool(words(word)) and not taken.intersection(_stem(word)) and not _is_form(word, term)

    mine = [word for word in (own or {}).get(term.lower(), ()) if usable(word)]
    if mine:
        return mine[0]
    left = [word for word in dict.fromkeys(candidates) if usable(word)]
    if similarity is None or not left:
        return next(iter(left), None)
    scored = [(value, -i, word) for i, word in enumerate(left) if (value := similarity(term, word)) is not None]
    return max(scored)[2] if scored else None


def _is_form(word: str, term: str) -> bool:
    """Whether one is the other with something added, or both share their stem: drip, dripping; communism, -ist."""
    short, long = sorted((word.lower(), term.lower()), key=len)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(short, long, strict=False)))
    return (len(short) >= 3 and shared == len(short)) or (shared >= 5 and shared >= 0.75 * len(short))
