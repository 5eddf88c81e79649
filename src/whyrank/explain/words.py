"""Which words cause a score: each is taken out, and the ranker scores what is left.

    effect(w) = score(q, d) - score(q, d without w)

An intervention on the text, so it is causal and the same for every ranker, and exact: no gradient, no
surrogate. What it cannot show is a word that another word stands in for: taking out one of the two changes
little. `terms` takes out all occurrences of a word together, which lifts that for plain repetition.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from whyrank.errors import UserError
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.reports.highlighted_text import draw_highlighted_text
from whyrank.text.words import word_spans

#: What stands for a text with its only word taken out, which no ranker can score.
NOTHING = "."


class WordEffect(NamedTuple):
    """One occurrence of a word: text[start:end], and what it adds to the score."""

    word: str
    start: int
    end: int
    effect: float


class TermEffect(NamedTuple):
    """All occurrences of a word together."""

    word: str
    times: int
    effect: float


@dataclass(frozen=True)
class WordExplanation:
    """A score and the words behind it; effects are in the ranker's own score units."""

    ranker: str
    query: str
    document: str
    score: float
    words: tuple[WordEffect, ...]
    terms: tuple[TermEffect, ...]
    query_terms: tuple[TermEffect, ...]

    def in_words(self, most: int = 3) -> str:
        """Two or three sentences for a person."""
        up = [term for term in self.terms if term.effect > 0][:most]
        down = [term for term in reversed(self.terms) if term.effect < 0][:most]
        held = max(self.query_terms, key=lambda term: term.effect, default=None)
        sentences = [f"The score is {self.score:.2f}."]
        if up:
            sentences.append(f"It would fall most without {_listed(up)}.")
        if down and down[0].effect < -0.1 * max((term.effect for term in up), default=0):
            sentences.append(f"It would rise without {_listed(down)}.")
        if held is not None and held.effect > 0:
            sentences.append(f"Of the query's words, '{held.word}' matters most ({-held.effect:+.2f} without it).")
        return " ".join(sentences)

    def draw(self, path: Path | str, most: int = 8) -> Path:
        """The document with each word's effect behind it, and the strongest words as bars, as SVG or PNG."""
        strongest = sorted(
            sorted(self.terms, key=lambda term: -abs(term.effect))[:most], key=lambda term: -term.effect
        )
        return draw_highlighted_text(
            Path(path),
            title=f"“{self.query}”",
            subtitle=f"{self.ranker} scores this document {self.score:.2f}; green raises it, red lowers it",
            text=self.chunks(),
            bars=[(term.word + (f" ×{term.times}" if term.times > 1 else ""), term.effect) for term in strongest],
            bars_label="score lost without the word",
        )

    def chunks(self) -> list[tuple[str, float]]:
        """The document split at white space, each chunk with the effect of the words in it."""
        return [
            (match.group(), sum(word.effect for word in self.words if match.start() <= word.start < match.end()))
            for match in re.finditer(r"\S+", self.document)
        ]


def explain_words(ranker: Ranker, query: str, document: str) -> WordExplanation:
    """The effect of each word of the document, of each of its distinct words, and of each query word."""
    spans = word_spans(document)
    if not spans or not word_spans(query):
        raise UserError("there is no word to explain", todo="give a query and a document with words")
    places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for word, start, end in spans:
        places[word].append((start, end))
    query_places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for word, start, end in word_spans(query):
        query_places[word].append((start, end))
    pairs: list[Pair] = [(query, document)]
    pairs += [(query, without(document, [(start, end)])) for _, start, end in spans]
    pairs += [(query, without(document, where)) for where in places.values()]
    pairs += [(without(query, where), document) for where in query_places.values()]
    score, *rest = _score_each_once(ranker, pairs)
    effects = iter([score - other for other in rest])
    return WordExplanation(
        ranker=ranker.name,
        query=query,
        document=document,
        score=score,
        words=tuple(WordEffect(word, start, end, next(effects)) for word, start, end in spans),
        terms=_strongest_first(places, lambda: next(effects)),
        query_terms=_strongest_first(query_places, lambda: next(effects)),
    )


def without(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with these spans taken out, each with the white space after it; all else stays as it is."""
    left, end = [], 0
    for start, stop in spans:
        left.append(text[end:start])
        end = stop + len(text[stop:]) - len(text[stop:].lstrip())
    rest = "".join([*left, text[end:]])
    return rest if rest.strip() else NOTHING


def _strongest_first(
    places: dict[str, list[tuple[int, int]]], effect: Callable[[], float]
) -> tuple[TermEffect, ...]:
    terms = [TermEffect(word, len(where), effect()) for word, where in places.items()]
    return tuple(sorted(terms, key=lambda term: -term.effect))


def _score_each_once(ranker: Ranker, pairs: list[Pair]) -> list[float]:
    """The pairs' scores; a pair that recurs (a word that occurs once is also a whole term) is scored once."""
    distinct = list(dict.fromkeys(pairs))
    scores = dict(zip(distinct, map(float, ranker.score(distinct)), strict=True))
    return [scores[pair] for pair in pairs]


def _listed(terms: list[TermEffect]) -> str:
    return ", ".join(f"'{term.word}' ({-term.effect:+.2f})" for term in terms)
