"""Which heads and paths carry the effect of the leading word against its counterfactual.

d' is the document with fillers for the word, so all other tokens keep their place. A head's output from the pass
over d is put into the pass over d'; what returns of the effect is its share, downstream layers included:

    share(h) = (s(d' with h from d) - s(d')) / (s(d) - s(d'))

`to_score` is the share on the straight path from the head to the score, all other heads held (path patching).
Shares of several heads do not sum to 1: heads in a chain carry the same signal. The heads that a gradient estimate
puts first are patched exactly; straight paths are exact for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head, together
from whyrank.core.errors import UserError
from whyrank.explain.account import HeadEffect, HeadGroup, Heads
from whyrank.explain.explained import Explained, cuts
from whyrank.explain.removal import Replacement
from whyrank.interventions.api import patch
from whyrank.rankers.neural import NeuralRanker

#: Heads that are patched exactly, and those that are listed.
PATCHED, LISTED = 24, 12
#: An effect below this is nobody's.
LEAST_EFFECT = 1e-3


def heads_of(explained: Explained, groups: Mapping[str, Sequence[Head]]) -> Heads | None:
    """The heads behind the document's leading word, and what some groups of heads carry together; None for a
    ranker without heads, or a word without an effect."""
    ranker = explained.texts.ranker
    if not isinstance(ranker, NeuralRanker) or not explained.terms:
        return None
    word = max(explained.terms, key=lambda one: abs(one.effect)).word
    without = Replacement(ranker, explained.query, explained.document).document(cuts(explained.document)[word])
    pair = MinimalPair("explained", explained.query, without, explained.document, qid="explained")
    try:
        activation = _effects(ranker, pair, "heads", screen=PATCHED)
    except UserError:  # a pass that cannot be opened: a document in several chunks
        return None
    base, gap = activation.pop("base"), activation.pop("gap")
    if abs(gap) < LEAST_EFFECT:
        return None
    straight = _straight(ranker, pair)
    names = dict.fromkeys([*_strongest(activation, LISTED), *_strongest(straight, LISTED // 2)])
    listed = [HeadEffect(_name(one), activation.get(one), straight.get(one)) for one in names]
    total = ranker.encoder.layers * ranker.encoder.heads
    return Heads(word, base + gap, base, total, len(activation), tuple(listed), _groups(ranker, pair, groups))


def _effects(ranker: NeuralRanker, pair: MinimalPair, sites: str, **options: object) -> dict[str, float]:
    """The share of the gap by site, exact ones; and the baseline's score and the gap."""
    frame = patch(ranker, [pair], sites=sites, **options).to_pandas()  # type: ignore[arg-type]
    exact = frame[frame["method"] != "attribution"]
    base, gap = float(exact["base"].iloc[0]), float((exact["perturbed"] - exact["base"]).iloc[0])
    effects = zip(exact["site"], exact["effect"], strict=True)
    shares = {str(site): float(effect) / gap if gap else 0.0 for site, effect in effects}
    return {**shares, "base": base, "gap": gap}


def _straight(ranker: NeuralRanker, pair: MinimalPair) -> dict[str, float]:
    """Each head's share on the path straight to the score; none for a family whose read-out has no such path."""
    try:
        found = _effects(ranker, pair, "heads", method="path")
    except UserError:
        return {}
    return {name: value for name, value in found.items() if name not in ("base", "gap")}


def _groups(
    ranker: NeuralRanker, pair: MinimalPair, groups: Mapping[str, Sequence[Head]]
) -> tuple[HeadGroup, ...]:
    """Each group patched at once."""
    found = []
    for name, heads in groups.items():
        site = str(together(heads))
        share = _effects(ranker, pair, site)[site]
        found.append(HeadGroup(name, tuple(map(str, heads)), share))
    return tuple(found)


def _strongest(shares: Mapping[str, float], most: int) -> list[str]:
    return sorted(shares, key=lambda name: -abs(shares[name]))[:most]


def _name(site: str) -> str:
    return site.removesuffix(".z")
