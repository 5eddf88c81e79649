"""Scores for an explanation: each distinct text is scored once, and never more texts than the budget allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from whyrank.core.caller import OpenBar, no_bar
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.rankers.ranker import Pair, Ranker

#: Texts that are scored for one explanation unless something else is asked for.
BUDGET = 400
#: The smallest budget: some for the query's words, some for sentences, some for words.
LEAST_BUDGET = 20


class ScoredTexts:
    """The scores of a ranker, kept; `left` says how many more texts may be scored."""

    def __init__(self, ranker: Ranker, budget: int = BUDGET, progress: OpenBar = no_bar) -> None:
        if budget < LEAST_BUDGET:
            raise UserError(f"{budget} scored texts cannot explain a score", todo=f"give {LEAST_BUDGET} or more")
        self.ranker, self.budget, self._progress = ranker, budget, progress
        self._scores: dict[Pair, float] = {}
        self._advance: Progress | None = None

    def __len__(self) -> int:
        """How many texts were scored."""
        return len(self._scores)

    @property
    def left(self) -> int:
        return self.budget - len(self._scores)

    def __getitem__(self, pair: Pair) -> float:
        return self._scores[pair]

    def __contains__(self, pair: Pair) -> bool:
        return pair in self._scores

    def allow(self, more: int) -> None:
        """Lets so many more texts be scored."""
        self.budget += more

    def take(self, others: ScoredTexts) -> None:
        """Knows the scores of others, too, and may score what is left of their budget."""
        self.budget += others.budget
        self._scores |= others._scores

    def missing(self, pairs: Iterable[Pair]) -> list[Pair]:
        """The pairs that would have to be scored, each once."""
        return [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]

    def score(self, step: str, pairs: Iterable[Pair]) -> None:
        """Scores those pairs that are not scored yet; asking for more than is left is the caller's mistake."""
        new = self.missing(pairs)
        assert len(new) <= self.left, f"{len(new)} texts, and {self.left} are left"
        if not new:
            return
        if self._advance is not None:
            found = self.ranker.score(new, self._advance)
        else:
            with self._progress(step, len(new), "texts") as advance:
                found = self.ranker.score(new, advance)
        self._scores |= dict(zip(new, map(float, found), strict=True))

    @contextmanager
    def search(self, step: str, most: int) -> Iterator[None]:
        """One bar for a search that scores at most so many texts, few at a time."""
        most = min(most, self.left)
        if not most:
            yield
            return
        self.budget, kept = len(self) + most, self.budget
        try:
            with self._progress(step, most, "texts") as self._advance:
                yield
        finally:
            self.budget, self._advance = kept, None

    def score_some(self, step: str, pairs: Iterable[Pair]) -> None:
        """As many of the pairs as the budget allows, in their order."""
        self.score(step, self.missing(pairs)[: self.left])
