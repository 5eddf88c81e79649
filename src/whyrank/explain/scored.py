"""Scores for an explanation: each distinct text is scored once, and never more texts than the budget allows."""

from __future__ import annotations

from collections.abc import Iterable

from whyrank.core.caller import OpenBar, no_bar
from whyrank.core.errors import UserError
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

    def missing(self, pairs: Iterable[Pair]) -> list[Pair]:
        """The pairs that would have to be scored, each once."""
        return [pair for pair in dict.fromkeys(pairs) if pair not in self._scores]

    def score(self, step: str, pairs: Iterable[Pair]) -> None:
        """Scores those pairs that are not scored yet; asking for more than is left is the caller's mistake."""
        new = self.missing(pairs)
        assert len(new) <= self.left, f"{len(new)} texts, and {self.left} are left"
        if new:
            with self._progress(step, len(new), "texts") as advance:
                found = self.ranker.score(new, advance)
            self._scores |= dict(zip(new, map(float, found), strict=True))

    def score_some(self, step: str, pairs: Iterable[Pair]) -> None:
        """As many of the pairs as the budget allows, in their order."""
        self.score(step, self.missing(pairs)[: self.left])
