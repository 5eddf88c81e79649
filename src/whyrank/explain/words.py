"""Which words cause a score: each is taken out, and the ranker scores what is left.

    effect(w) = score(q, d) - score(q, d without w)

An intervention on the text, so it is causal and the same for every ranker, and exact: no gradient, no
surrogate. What it cannot show is a word that another word stands in for: taking out one of the two changes
little. `terms` takes out all occurrences of a word together, which lifts that for plain repetition.

Only what the ranker reads of a document is taken out, and `budget` texts are scored at most. Where every word
would be more, sentences are taken out first, then the words of those that change the score most; `coverage` says
what was read and what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.given import collection_of
from whyrank.core.caller import SILENT, Caller, OpenBar
from whyrank.core.errors import UserError
from whyrank.core.runs import Run
from whyrank.explain.explanation import Coverage, Explanation, SentenceEffect, TermEffect, WordEffect
from whyrank.explain.parts import places_of, sentences_of, without
from whyrank.rankers.given import rankers_of
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.tokens import Span
from whyrank.text.words import WordSpan, word_spans

#: Texts that are scored for one explanation, at most.
BUDGET = 1000
#: The smallest budget: some for the query's words, some for sentences, some for words.
LEAST_BUDGET = 20


def explain(
    ranker: str | Ranker,
    query: str,
    document: str,
    *,
    collection: str | Collection | None = None,
    budget: int = BUDGET,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Explanation:
    """The effect of each word of the document, of each of its distinct words, and of each query word.

    `budget` bounds how many texts are scored. BM25 counts words in `collection`.
    """
    spans = word_spans(document)
    if not spans or not word_spans(query):
        raise UserError("there is no word to explain", todo="give a query and a document with words")
    if budget < LEAST_BUDGET:
        raise UserError(f"{budget} scored texts cannot explain a score", todo=f"give {LEAST_BUDGET} or more")
    opened = None if collection is None else collection_of(collection, caller)
    (model,) = rankers_of(ranker, opened, caller, device)
    inputs = {"ranker": model.fingerprint(), "query": query, "document": document, "budget": budget}
    with Run.open(out, Explanation.COMMAND, inputs, caller) as run:
        result = run.finished(Explanation)
        if result is None:
            result = _Work(model, query, document, spans, budget, caller.progress).explanation()
            run.save(result)
        return result


class _Work:
    """One explanation: the texts that are scored, each once, and their scores."""

    def __init__(
        self, ranker: Ranker, query: str, document: str, spans: Sequence[WordSpan], budget: int, progress: OpenBar
    ) -> None:
        self.ranker, self.query, self.document, self.budget = ranker, query, document, budget
        self.progress = progress
        self.words = len(spans)
        self.characters = ranker.characters_read(query, document)
        self.read = [word for word in spans if word.start < self.characters] or list(spans[:1])
        self.text = _read_at_most(ranker, query, document, self.characters)
        self.scores: dict[Pair, float] = {}

    def explanation(self) -> Explanation:
        asked = places_of(word_spans(self.query))
        tried = dict(list(asked.items())[: self.budget // 4])
        pairs = [(without(self.query, where), self.text) for where in tried.values()]
        self._score("query words", [(self.query, self.text), *pairs])
        sentences: tuple[SentenceEffect, ...] = ()
        chosen = self.read
        if len(self.scores) + _texts(chosen) > self.budget:
            sentences = self._sentences()
            chosen = self._of_the_strongest(sentences)
        terms = {word: self._read_places[word] for word in places_of(chosen)}
        self._score("words", [*map(self._without_word, chosen), *map(self._without, terms.values())])
        return Explanation(
            ranker=self.ranker.name,
            query=self.query,
            document=self.document,
            score=self.scores[self.query, self.text],
            words=tuple(WordEffect(*word, self._effect(self._without_word(word))) for word in chosen),
            terms=_strongest_first(terms, lambda where: self._effect(self._without(where))),
            query_terms=_strongest_first(
                tried, lambda where: self._effect((without(self.query, where), self.text))
            ),
            coverage=Coverage(
                self.words, len(self.read), len(chosen), self.characters, len(self.scores), len(asked) - len(tried)
            ),
            sentences=sentences,
        )

    def _sentences(self) -> tuple[SentenceEffect, ...]:
        spans = sentences_of(self.document[: self.characters], self.read, self.budget // 4)
        self._score("sentences", [self._without([span]) for span in spans])
        return tuple(SentenceEffect(*span, self._effect(self._without([span]))) for span in spans)

    def _of_the_strongest(self, sentences: Sequence[SentenceEffect]) -> list[WordSpan]:
        """The words of the sentences that change the score most, as many as may still be tried, in their order."""
        left = (self.budget - len(self.scores)) // 2  # a word is taken out by itself, and with its repetitions
        strongest = sorted(sentences, key=lambda one: -abs(one.effect))
        words = (word for one in strongest for word in self.read if one.start <= word.start < one.end)
        return sorted(islice(words, left), key=lambda word: word.start)

    @cached_property
    def _read_places(self) -> dict[str, list[Span]]:
        return places_of(self.read)

    def _without(self, where: Sequence[Span]) -> Pair:
        return self.query, without(self.text, where)

    def _without_word(self, word: WordSpan) -> Pair:
        return self._without([(word.start, word.end)])

    def _effect(self, pair: Pair) -> float:
        return self.scores[self.query, self.text] - self.scores[pair]

    def _score(self, name: str, pairs: Sequence[Pair]) -> None:
        """A pair that recurs (a word that occurs once is also a whole term) is scored once."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.scores]
        if new:
            with self.progress(f"taking out {name}", len(new), "texts") as advance:
                scored = self.ranker.score(new, advance)
            self.scores |= dict(zip(new, map(float, scored), strict=True))


def _read_at_most(ranker: Ranker, query: str, document: str, characters: int) -> str:
    """The document up to where it could be read if all that is read of it now were taken out: what comes after can
    play no part, and is not read again for each word."""
    if characters >= len(document):
        return document
    reach = characters + ranker.characters_read(query, document[characters:])
    blank = re.compile(r"\s").search(document, reach)
    return document[: blank.start()] if blank else document


def _texts(words: Sequence[WordSpan]) -> int:
    """How many texts are scored for these words at most: each without one, and without all of a repeated one."""
    return len(words) + sum(len(where) > 1 for where in places_of(words).values())


def _strongest_first(
    places: dict[str, list[Span]], effect: Callable[[list[Span]], float]
) -> tuple[TermEffect, ...]:
    terms = [TermEffect(word, len(where), effect(where)) for word, where in places.items()]
    return tuple(sorted(terms, key=lambda term: -term.effect))
