"""The documents that pairs are made from: a run's documents with their texts, and the collection's statistics."""

from __future__ import annotations

import random
from functools import cached_property

from whyrank.axioms.terms import content_words
from whyrank.collections.bm25 import BM25Index, first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.text.sentences import sentences
from whyrank.text.words import ENGLISH, words

#: A sentence to add has at least and at most so many words.
SHORTEST, LONGEST = 5, 40


class Pool:
    """A collection's queries, a run over them, the texts in it, and document frequencies of words and stems."""

    def __init__(self, collection: Collection, run: Run | None = None, top: int = 100) -> None:
        self.collection, self.queries = collection, collection.queries
        self.index = BM25Index(collection)
        found = run or first_stage(collection, top, self.index)
        self.run: Run = {qid: rows[:top] for qid, rows in found.items() if qid in self.queries and rows}
        self.texts = collection.texts(dict.fromkeys(row.docno for rows in self.run.values() for row in rows))
        self._stem = self.index.analyzer

    def idf(self, word: str) -> float:
        """BM25's IDF of a word's stem in this collection, so that BM25 and the axioms speak of the same."""
        stems = self._stem(word)
        return max((self.index.idf(stem) for stem in stems), default=0.0)

    def terms(self, qid: str) -> tuple[str, ...]:
        """The words of a query that can be selected, the rarest first."""
        known = lambda word: any(self.index.df(stem) for stem in self._stem(word))  # noqa: E731
        return content_words(self.queries[qid], self.idf, known, english=self.collection.language == ENGLISH)

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """In how many of the run's documents each word stands."""
        counts: dict[str, int] = {}
        for text in self.texts.values():
            for word in set(words(text)):
                counts[word] = counts.get(word, 0) + 1
        return counts

    def other_texts(self, qid: str, docno: str) -> list[tuple[str, str]]:
        """The query's other documents."""
        return [(row.docno, self.texts[row.docno]) for row in self.run[qid] if row.docno != docno]

    def foreign_sentences(self, qid: str, generator: random.Random, count: int) -> list[str]:
        """Sentences of documents that this query did not retrieve, without any word of it, by its stem."""
        mine = {row.docno for row in self.run[qid]}
        stems = set(self._stem(self.queries[qid]))
        others = [docno for docno in self._docnos if docno not in mine] or self._docnos
        found: list[str] = []
        for _ in range(50 * count):
            if len(found) == count:
                break
            one = generator.choice(self._sentences(generator.choice(others)) or [""])
            if (
                SHORTEST <= len(words(one)) <= LONGEST
                and not stems.intersection(self._stem(one))
                and one not in found
            ):
                found.append(one)
        return found

    @cached_property
    def _docnos(self) -> list[str]:
        return sorted(self.texts)

    def _sentences(self, docno: str) -> list[str]:
        return sentences(self.texts[docno])
