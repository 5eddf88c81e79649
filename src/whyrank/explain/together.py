"""Words that matter only together: found by taking many away at once, and narrowed down to the fewest.

    surplus(G) = |effect(G)| - max(|sum of effect(w), w in G|, |sum of those of the sign of effect(G)|)

A group of terms whose surplus is large holds words that stand in for each other. (By the first sum alone, a word
that raises the score and one that lowers it would, where both together do what the first one does by itself.)
It is narrowed as in delta debugging (Zeller & Hildebrandt 2002): parts are put back as long as what is left still
has a surplus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

from whyrank.explain.explanation import JointEffect
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.ranker import Pair

Group = tuple[str, ...]
#: Of the terms with the largest effects, so many are taken away two by two.
STRONGEST = 6
#: Groups that are narrowed down, those with the largest surplus.
NARROWED = 3
#: Texts that the search may score.
MOST_SCORED = 120
#: A surplus counts when it is at least this share of the largest effect.
LEAST = 0.25


def joint_effects(
    texts: ScoredTexts,
    whole: Pair,
    without: Callable[[Group], Pair],
    effects: Mapping[str, float],
    groups: Sequence[Group],
) -> tuple[JointEffect, ...]:
    """The joint effects that exceed the single ones, each verified by a score, the largest surplus first.

    `groups` are where to look: the terms of each sentence, and all terms. The strongest are tried two by two.
    """
    with texts.search("words together", min(MOST_SCORED, 2 * texts.left // 3)):
        return _Search(texts, whole, without, effects).found(groups)


class _Search:
    def __init__(
        self, texts: ScoredTexts, whole: Pair, without: Callable[[Group], Pair], effects: Mapping[str, float]
    ) -> None:
        self.texts, self.whole, self.without, self.effects = texts, whole, without, effects

    def found(self, groups: Sequence[Group]) -> tuple[JointEffect, ...]:
        strongest = sorted(self.effects, key=lambda word: -abs(self.effects[word]))[:STRONGEST]
        tried: list[Group] = [*combinations(strongest, 2), *(group for group in groups if len(group) > 1)]
        self._score(tried)
        known = [group for group in dict.fromkeys(tried) if self._effect(group) is not None]
        sizes = [*self.effects.values(), *(self._effect(group) or 0.0 for group in known)]
        least = LEAST * max(map(abs, sizes), default=0.0)
        wide = [group for group in known if len(group) > 2 and self._surplus(group) > least]
        wide.sort(key=lambda group: (-(self._surplus(group) // least), len(group)))
        narrow: list[Group] = []
        for group in wide:
            if len(narrow) < NARROWED and not any(self._accounts_for(one, group, least) for one in narrow):
                narrow.append(self._narrowed(group, least))
        kept = dict.fromkeys(g for g in [*known, *narrow] if len(g) == 2 or g in narrow)
        joint = [
            JointEffect(group, self._effect(group) or 0.0, self._single(group))
            for group in kept
            if self._surplus(group) > least > 0
        ]
        return tuple(sorted(joint, key=lambda one: abs(one.single) - abs(one.effect)))

    def _accounts_for(self, part: Group, group: Group, least: float) -> bool:
        """Whether a part of a group has what surplus the group has."""
        return set(part) <= set(group) and self._surplus(group) - self._surplus(part) <= least

    def _narrowed(self, group: Group, least: float) -> Group:
        """The fewest of its terms that still have a surplus, as far as the budget goes."""
        parts = 2
        while len(group) > 2:
            size = -(-len(group) // parts)
            smaller = [group[:i] + group[i + size :] for i in range(0, len(group), size)]
            smaller = [one for one in smaller if len(one) > 1]
            self._score(smaller)
            good = [one for one in smaller if self._surplus(one) > least]
            if good:
                group, parts = max(good, key=self._surplus), max(parts - 1, 2)
            elif parts >= len(group) or not self.texts.left:
                return group
            else:
                parts = min(2 * parts, len(group))
        return group

    def _score(self, groups: Sequence[Group]) -> None:
        self.texts.score_some("words together", map(self.without, groups))

    def _effect(self, group: Group) -> float | None:
        """None where the budget did not reach."""
        pair = self.without(group)
        return self.texts[self.whole] - self.texts[pair] if pair in self.texts else None

    def _single(self, group: Group) -> float:
        return sum(self.effects[word] for word in group)

    def _surplus(self, group: Group) -> float:
        joint = self._effect(group)
        if joint is None:
            return 0.0
        same = sum(self.effects[word] for word in group if self.effects[word] * joint > 0)
        return abs(joint) - max(abs(self._single(group)), abs(same))
