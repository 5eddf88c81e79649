"""A pair as one ranker reads it: fillers counted for its tokenizer, cut to its length, checked."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from whyrank.axioms.pair import SIDES, MinimalPair
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.alignment import CannotAlign, Slotted, align, fit
from whyrank.text.categories import categorise


class Realised(NamedTuple):
    """The two (query, document) inputs that a ranker scores."""

    baseline: Pair
    perturbed: Pair


def realise(pair: MinimalPair, ranker: Ranker) -> Realised:
    """The pair's inputs for this ranker; CannotAlign when it does not fit or does not align."""
    slotted = slotted_for(pair, ranker)
    return Realised((pair.query, slotted.text("baseline")), (pair.query, slotted.text("perturbed")))


def slotted_for(pair: MinimalPair, ranker: Ranker) -> Slotted:
    """The pair with its fillers and its cut for this ranker. BM25 counts words, which are aligned as they are."""
    whole = pair.slotted
    cut = fitted(pair.query, whole, pair.filler, pair.aligned, ranker)
    check_slots(pair.axiom, pair.variant, whole, cut)
    return cut


def fitted(query: str, slotted: Slotted, filler: str, aligned: bool, ranker: Ranker) -> Slotted:
    """Slots aligned, or only cut, for a ranker."""
    if not isinstance(ranker, NeuralRanker):
        return slotted
    tokenize = partial(ranker.document_tokens, query)
    if aligned:
        return align(slotted, filler, tokenize, ranker.max_length)
    return fit(slotted, tokenize, ranker.max_length)


def check_slots(axiom: str | None, variant: str | None, whole: Slotted, cut: Slotted) -> None:
    """Raises when the cut took part of the change: only TFC1's replacements mean the same with fewer of them."""
    if len(cut.baseline) < len(whole.baseline) and (axiom, variant) != ("TFC1", "replace"):
        raise CannotAlign("part of the change lies beyond the model's length")


def token_categories(pair: MinimalPair, ranker: NeuralRanker) -> list[str]:
    """Each token's category, the same for both sides of an aligned pair."""
    if not pair.aligned:
        raise CannotAlign("the pair is not aligned by nature")
    slotted = slotted_for(pair, ranker)
    sides = []
    for side in SIDES:
        text, spans = slotted.text(side), slotted.spans(side)
        is_filler = [
            _is_filler(contents, pair.filler) for contents in zip(slotted.baseline, slotted.perturbed, strict=True)
        ]
        changed = [span for span, filler in zip(spans, is_filler, strict=True) if not filler]
        fillers = [span for span, filler in zip(spans, is_filler, strict=True) if filler]
        tokens = ranker.document_tokens(pair.query, text)
        sides.append(categorise(tokens, text, query=pair.query, term=pair.term, changed=changed, fillers=fillers))
    assert sides[0] == sides[1], f"{pair.id}: the two sides must have the same categories"
    return sides[0]


def _is_filler(contents: tuple[str, str], filler: str) -> bool:
    """Whether a slot holds nothing but fillers on both sides."""
    return all(set(content.split()) <= {filler} for content in contents)
