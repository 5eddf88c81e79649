"""A pair as one ranker reads it: cut to its length, checked; with fillers counted for its tokenizer if it may be
padded (`contents`)."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from whyrank.axioms.axiom import plain_variant
from whyrank.axioms.fillers import MASK, plain_filler
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.slots import SIDES
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import CutsDocuments, Pair, Ranker
from whyrank.text.alignment import (
    CannotAlign,
    Misaligned,
    SidesDiffer,
    Slotted,
    Tokenize,
    align,
    check_aligned,
    fit,
)
from whyrank.text.categories import categorise


class Realised(NamedTuple):
    """The two (query, document) inputs that a ranker scores."""

    baseline: Pair
    perturbed: Pair


class ForPatching(NamedTuple):
    """The two inputs of an aligned pair, each token's category, the same on both sides, and the slots."""

    texts: Realised
    names: list[str]
    slotted: Slotted


def realise(pair: MinimalPair, ranker: Ranker) -> Realised:
    """The pair's inputs for this ranker; CannotAlign when it does not fit, or is ours and does not align."""
    slotted = slotted_for(pair, ranker)
    return Realised((pair.query, slotted.text("baseline")), (pair.query, slotted.text("perturbed")))


def realise_for_patching(pair: MinimalPair, ranker: NeuralRanker, side: str = "document") -> ForPatching:
    """An aligned pair's inputs and categories. On the `query` side of a ranker that encodes both apart, the two
    texts that differ stand as queries, and the pair's `query` as the document."""
    if not pair.aligned:
        raise CannotAlign("the pair is not aligned by nature")
    slotted = slotted_for(pair, ranker, side, to_patch=True)
    texts = [slotted.text(one) for one in SIDES]
    inputs = [(text, pair.query) if side == "query" else (pair.query, text) for text in texts]
    if reason := ranker.why_not_opened(inputs):
        raise CannotAlign(reason)
    return ForPatching(Realised(*inputs), _categories(pair, slotted, ranker, side), slotted)


def slotted_for(pair: MinimalPair, ranker: Ranker, side: str = "document", *, to_patch: bool = False) -> Slotted:
    """The pair cut for this ranker: with fillers if it may be padded, else as its author wrote it; if it is
    `to_patch`, CannotAlign unless that is aligned."""
    whole = pair.slotted
    if pair.contents is None:
        cut = fitted(pair.query, whole, "", False, ranker, side)
    else:
        cut = fitted(pair.query, whole, pair.filler, pair.aligned, ranker, side)
    check_slots(pair.axiom, pair.variant, whole, cut)
    if pair.contents is None and to_patch and isinstance(ranker, NeuralRanker):
        return _aligned_as_given(cut, partial(ranker.opened_tokens, pair.query, side=side), pair.slot is None)
    return cut


def _aligned_as_given(slotted: Slotted, tokenize: Tokenize, by_words: bool) -> Slotted:
    """The slots, if they stand at the same tokens on both sides; where we found them `by_words`, in one if need
    be."""
    longest = len(tokenize(slotted.text("baseline")))
    try:
        check_aligned(slotted, tokenize, longest)
    except Misaligned as reason:
        if not by_words or isinstance(reason, SidesDiffer):
            raise
        slotted = slotted.merged()
        check_aligned(slotted, tokenize, longest)
    return slotted


def fitted(
    query: str, slotted: Slotted, filler: str, aligned: bool, ranker: Ranker, side: str = "document"
) -> Slotted:
    """Slots aligned, or only cut, for a ranker."""
    if filler == MASK:
        filler = own_filler(query, ranker)
        slotted = exchange_fillers(slotted, MASK, filler)
    if not isinstance(ranker, CutsDocuments):
        return slotted
    if not isinstance(ranker, NeuralRanker):
        return fit(slotted, partial(ranker.document_tokens, query), ranker.document_length)
    tokenize = partial(ranker.opened_tokens, query, side=side)
    if aligned:
        return align(slotted, filler, tokenize, ranker.opened_length(side))
    return fit(slotted, tokenize, ranker.opened_length(side))


def own_filler(query: str, ranker: Ranker) -> str:
    """What a ranker reads for the mask filler: its own mask token; a plain word where it has none."""
    if isinstance(ranker, NeuralRanker):
        known = ranker.pieces.tokenizer.token_to_id
        found = next((token for token in ("[MASK]", "<mask>") if known(token) is not None), None)
        if found:
            return found
    return plain_filler(query)


def exchange_fillers(slotted: Slotted, old: str, new: str) -> Slotted:
    """The same slots with another filler."""
    sides = (
        tuple(new if content == old else content for content in side)
        for side in (slotted.baseline, slotted.perturbed)
    )
    return Slotted(slotted.segments, *sides)


def check_slots(axiom: str | None, variant: str | None, whole: Slotted, cut: Slotted) -> None:
    """Raises when the cut took part of the change: only TFC1's replacements mean the same with fewer of them."""
    if len(cut.baseline) < len(whole.baseline) and (axiom, plain_variant(variant)) != ("TFC1", "replace"):
        raise CannotAlign("part of the change lies beyond the model's length")


def token_categories(pair: MinimalPair, ranker: NeuralRanker) -> list[str]:
    """Each token's category, the same for both sides of an aligned pair."""
    return realise_for_patching(pair, ranker).names


def _categories(pair: MinimalPair, slotted: Slotted, ranker: NeuralRanker, side: str) -> list[str]:
    sides = []
    kinds = [_kind(pair, both) for both in zip(slotted.baseline, slotted.perturbed, strict=True)]
    query = pair.query if side == "document" else ""
    for one in SIDES:
        text, spans = slotted.text(one), slotted.spans(one)
        changed = [span for span, kind in zip(spans, kinds, strict=True) if kind == "inj"]
        fillers = [span for span, kind in zip(spans, kinds, strict=True) if kind == "filler"]
        tokens = ranker.opened_tokens(pair.query, text, side=side)
        sides.append(categorise(tokens, text, query=query, term=pair.term, changed=changed, fillers=fillers))
    if sides[0] != sides[1]:
        raise CannotAlign("the words around the change are not the same on both sides")
    return sides[0]


def _kind(pair: MinimalPair, contents: tuple[str, str]) -> str:
    """What a slot holds: the change (or the term on both sides), fillers on both sides, or unchanged text."""
    fillers = {pair.filler, "[MASK]", "<mask>"} if pair.filler == MASK else {pair.filler}
    if all(set(content.split()) <= fillers for content in contents):
        return "filler"
    term = (pair.term or "").lower()
    return "inj" if contents[0] != contents[1] or contents[0].lower() == term else "other"
