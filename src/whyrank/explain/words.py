"""Which words cause a score: each is taken away, and the ranker scores what is left.

    effect(w) = score(q, d) - score(q, d without w)

An intervention on the text, so it is causal and the same for every ranker, and exact: no gradient, no surrogate.
`terms` takes all occurrences of a word together. Words that stand in for each other matter only together
(`together.py`).

Only what the ranker reads of a document is taken away, sentences first, then the words of the sentences that
change the score most, as far as the budget goes; `coverage` says what was read and what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property

from whyrank.core.errors import UserError
from whyrank.explain.explanation import Coverage, JointEffect, SentenceEffect, TermEffect, WordEffect, Words
from whyrank.explain.parts import places_of, sentences_of
from whyrank.explain.removal import Removal
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.together import joint_effects
from whyrank.explain.truncation import query_characters_read
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.tokens import Span
from whyrank.text.words import WordSpan, word_spans

#: Where not all words can be tried, one text of so many is left to what comes after them: words together, words of
#: both texts, the smallest change.
KEPT = 5


class WordSearch:
    """The effects of the words of one pair of texts; `remove` makes the removal for the part of the document that
    can be read, which is `text`."""

    def __init__(
        self,
        texts: ScoredTexts,
        query: str,
        document: str,
        remove: Callable[[str], Removal],
    ) -> None:
        spans = word_spans(document)
        if not spans or not word_spans(query):
            raise UserError("there is no word to explain", todo="give a query and a document with words")
        self.texts, self.query, self.words = texts, query, len(spans)
        self.characters = texts.ranker.characters_read(query, document)
        self.read = [word for word in spans if word.start < self.characters] or list(spans[:1])
        self.text = readable(texts.ranker, query, document, self.characters)
        self.removal = remove(self.text)

    def found(self) -> Words:
        """The effect of each word of the document, of each distinct word, of each sentence, each query word."""
        every = word_spans(self.query)
        reach = query_characters_read(self.texts.ranker, self.query, self.text)
        asked, unread = places_of(every), [word for word in every if word.start >= reach]
        read = places_of([word for word in every if word.start < reach])
        tried = dict(list(read.items())[: max(1, self.texts.left // 4)])
        self.texts.score("query words", [self.whole, *map(self._without_in_query, tried.values())])
        sentences = self._sentences()
        chosen = self._words_to_try(sentences)
        terms = {word: self._read_places[word] for word in places_of(chosen)}
        self.texts.score("words", [*map(self._without_word, chosen), *map(self._without, terms.values())])
        effects = {word: self._effect(self._without(where)) for word, where in terms.items()}
        return Words(
            score=self.texts[self.whole],
            words=tuple(WordEffect(*word, self._effect(self._without_word(word))) for word in chosen),
            terms=_strongest_first([TermEffect(word, len(terms[word]), effects[word]) for word in terms]),
            query_terms=_strongest_first(
                [TermEffect(word, len(where), self._effect(self._without_in_query(where)))
                 for word, where in tried.items()]
            ),
            sentences=sentences,
            joint=self._joint(effects, sentences, chosen),
            coverage=Coverage(
                self.words, len(self.read), len(chosen), self.characters, len(self.texts), len(asked) - len(tried),
                len(unread),
            ),
        )  # fmt: skip

    @property
    def whole(self) -> Pair:
        return self.query, self.text

    def _sentences(self) -> tuple[SentenceEffect, ...]:
        spans = sentences_of(self.text[: self.characters], self.read, max(1, self.texts.left // 4))
        self.texts.score("sentences", [self._without([span]) for span in spans])
        return tuple(SentenceEffect(*span, self._effect(self._without([span]))) for span in spans)

    def _words_to_try(self, sentences: Sequence[SentenceEffect]) -> list[WordSpan]:
        """The words of the sentences that change the score most, as many as the budget allows, in their order."""
        strongest = sorted(sentences, key=lambda one: -abs(one.effect))
        every = [word for one in strongest for word in self.read if one.start <= word.start < one.end]
        found, left = self._within(every, self.texts.left), self.texts.left
        if len(found) < len(every):
            found = self._within(every, left - left // KEPT)
        return sorted(found, key=lambda word: word.start)

    def _within(self, words: Sequence[WordSpan], most: int) -> list[WordSpan]:
        """The first words, as many as so many texts are enough for."""
        new: set[Pair] = set()
        for number, word in enumerate(words):
            new |= set(self.texts.missing({self._without_word(word), self._without(self._read_places[word.word])}))
            if len(new) > most:
                return list(words[:number])
        return list(words)

    def _joint(
        self, effects: dict[str, float], sentences: Sequence[SentenceEffect], chosen: Sequence[WordSpan]
    ) -> tuple[JointEffect, ...]:
        """Looked for in each sentence and in all of the text."""
        places = [(one.start, one.end) for one in sentences] + [(0, len(self.text))]
        groups = [
            tuple(dict.fromkeys(word.word for word in chosen if start <= word.start < end))
            for start, end in places
        ]
        return joint_effects(self.texts, self.whole, self.without, effects, groups)

    @cached_property
    def _read_places(self) -> dict[str, list[Span]]:
        return places_of(self.read)

    def _without(self, where: Sequence[Span]) -> Pair:
        return self.query, self.removal.document(where)

    def _without_word(self, word: WordSpan) -> Pair:
        return self._without([(word.start, word.end)])

    def without(self, terms: Sequence[str]) -> Pair:
        """The pair without all occurrences of these words."""
        return self._without(sorted(span for term in terms for span in self._read_places[term]))

    def _without_in_query(self, where: Sequence[Span]) -> Pair:
        return self.removal.query(where), self.text

    def _effect(self, pair: Pair) -> float:
        return self.texts[self.whole] - self.texts[pair]


def readable(ranker: Ranker, query: str, document: str, characters: int) -> str:
    """The document up to where it could be read if all that is read of it now were taken away: what comes after
    can play no part, and is not read again for each word."""
    if characters >= len(document):
        return document
    reach = characters + ranker.characters_read(query, document[characters:])
    blank = re.compile(r"\s").search(document, reach)
    return document[: blank.start()] if blank else document


def _strongest_first(terms: list[TermEffect]) -> tuple[TermEffect, ...]:
    return tuple(sorted(terms, key=lambda term: -term.effect))
