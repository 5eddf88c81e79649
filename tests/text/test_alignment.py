"""Aligned pairs have as many tokens on both sides, every shared token at the same index, and lose no change."""

from functools import partial

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as some

from tests.text.tokenizers import KINDS, trained
from whyrank.collections.demo import open_demo
from whyrank.text.alignment import CannotAlign, Slotted, align, check_aligned, cut, fit
from whyrank.text.categories import CATEGORIES, categorise
from whyrank.text.words import words

WORDS = ["the", "a", "tap", "dripping", "espresso", "houseplant", "neighbors", "thunderstorm", "café", "naïve"]
WORDS += ["1,500", "°C", "don't", "e-mail"]
odd = some.sampled_from(
    ["🙂", "👩‍👩‍👧", "ﬁ", "Ünï", "日本語", "العربية", "—", "...", "(x)", "$5", "a" * 60, "\t", "ß", "x\u0301"]
)
texts = some.lists(
    some.sampled_from(WORDS) | odd | some.text(min_size=1, max_size=8), min_size=1, max_size=40
).map(" ".join)
terms = some.sampled_from(["tap", "dripping", "houseplants", "antidisestablishmentarianism", "naïve"])


def ids(pieces, text, query):
    """The oracle: the tokenizers library itself."""
    pieces.tokenizer.no_truncation()
    encoding = pieces.tokenizer.encode(query, text) if query else pieces.tokenizer.encode(text)
    return encoding.ids


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("query", [None, "dripping tap"])
@settings(max_examples=120, deadline=None)
@given(
    text=texts, term=terms, where=some.integers(0, 40), copies=some.integers(1, 3), longest=some.integers(20, 80)
)
def test_aligned_or_refused_on_any_text(kind, query, text, term, where, copies, longest):
    assume(text.strip())
    pieces = trained(kind)
    chunks = text.split(" ")
    place = min(where, len(chunks))
    before, after = " ".join(chunks[:place]), " ".join(chunks[place:])
    segments = (before + " " if before else "", *[" "] * (copies - 1), " " + after if after else "")
    slotted = Slotted(segments, ("a",) * copies, (term,) * copies)
    try:
        pair = align(slotted, "a", partial(pieces.whole, query=query), longest)
    except CannotAlign:
        return
    ours, theirs = (ids(pieces, pair.text(side), query) for side in ("baseline", "perturbed"))
    assert len(ours) == len(theirs) <= longest
    assert pair.text("perturbed").count(term) >= len(pair.perturbed) >= 1
    different = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b]
    assert different
    tokens = pieces.whole(pair.text("perturbed"), query=query)
    inside = {i for span in pair.spans("perturbed") for i in tokens.within(span)}
    assert set(different) <= inside
    if len(ids(pieces, slotted.text("perturbed"), query)) + 3 * copies * len(term) <= longest:
        assert pair.segments == slotted.segments, "what fits is not cut"


@pytest.mark.parametrize("kind", KINDS)
def test_plain_text_is_always_aligned(kind):
    pieces, demo = trained(kind), open_demo()
    for document in demo.documents():
        for term in ("tap", "houseplants", "thunderstorm"):
            slotted = Slotted((document.text + " ", ""), ("a",), (term,))
            pair = align(slotted, "a", pieces.whole, 64)
            assert pair.text("perturbed").endswith(term)
            assert pair.text("baseline").split()[-1] == "a"


@pytest.mark.parametrize(
    "name", ["ce-minilm-l12", "bi-minilm-l6", "bi-bge-small", "li-colbert-small", "bi-e5-small"]
)
def test_real_rankers_read_an_aligned_pair_aligned(real, name):
    """Through each family's own reading: query before it, prefix, marker."""
    ranker = real(name)
    for document in list(open_demo().documents())[:20]:
        slotted = Slotted((document.text + " ", " ", ""), ("a", "a"), ("houseplants", "a"))
        pair = align(slotted, "a", partial(ranker.document_tokens, "yellow houseplants"), ranker.max_length)
        tokens = [
            ranker.document_tokens("yellow houseplants", pair.text(side)) for side in ("baseline", "perturbed")
        ]
        assert len(tokens[0]) == len(tokens[1])
        changed = [i for i in range(len(tokens[0])) if tokens[0].ids[i] != tokens[1].ids[i]]
        assert changed == tokens[1].within(pair.spans("perturbed")[0])


def test_an_appended_change_stays_and_the_text_before_it_is_cut():
    pieces = trained("wordpiece")
    text = " ".join(["tap"] * 100)
    pair = align(Slotted((text + " ", ""), ("a",), ("dripping",)), "a", pieces.whole, 30)
    assert pair.text("perturbed").endswith(" dripping")
    assert 26 <= len(ids(pieces, pair.text("perturbed"), None)) <= 30


def test_a_change_in_the_text_that_is_cut_off_is_refused():
    pieces = trained("wordpiece")
    text = " ".join(["tap"] * 100)
    with pytest.raises(CannotAlign, match="does not fit"):
        align(Slotted((text + " ", " tap"), ("a",), ("dripping",)), "a", pieces.whole, 30)


def test_replacements_beyond_the_cut_go_with_the_text():
    pieces = trained("wordpiece")
    segments = ("tap " * 5, " tap" * 40 + " ", " tap" * 5)
    pair = align(Slotted(segments, ("a", "a"), ("dog", "dog")), "a", pieces.whole, 30)
    assert pair.perturbed == ("dog",)
    check_aligned(pair, pieces.whole, 30)


def test_pairs_that_are_not_aligned_are_only_cut():
    pieces = trained("wordpiece")
    added = " " + " ".join(["tap"] * 20)
    pair = fit(Slotted((" ".join(["tap"] * 100), ""), ("",), (added,)), pieces.whole, 40)
    assert pair.text("perturbed") == pair.text("baseline") + added
    assert len(ids(pieces, pair.text("perturbed"), None)) <= 40
    with pytest.raises(CannotAlign):
        fit(Slotted(("", ""), ("tap",), (added * 5,)), pieces.whole, 40)


def test_texts_that_differ_outside_the_change_are_refused():
    with pytest.raises(CannotAlign, match="outside"):
        Slotted.of_spans("one a", "two b", ([(4, 5)], [(4, 5)]))


def test_cutting_keeps_whole_words():
    pieces = trained("bpe")
    slotted = Slotted((" ".join(["antidisestablishmentarianism"] * 8) + " ", ""), ("a",), ("tap",))
    shorter = cut(slotted, 3, pieces.whole, slotted)
    assert set(words(shorter.segments[0])) == {"antidisestablishmentarianism"}
    assert len(words(shorter.segments[0])) == 7


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=60, deadline=None)
@given(text=texts)
def test_every_token_has_exactly_one_category(kind, text):
    assume(text.strip())
    tokens = trained(kind).whole(text, query="dripping tap")
    found = categorise(tokens, text, query="dripping tap", term="tap", changed=[], fillers=[])
    assert len(found) == len(tokens)
    assert set(found) <= set(CATEGORIES)
    assert found[0] == "cls"
    assert found.count("sep") == 2


def test_words_are_matched_whole_with_all_their_pieces(real):
    ranker = real("ce-minilm-l12")
    text = "Espresso taps: an espresso, two ESPRESSOS, dripping. a espresso"
    tokens = ranker.document_tokens("dripping espresso", text)
    start = text.rindex("espresso")
    found = categorise(
        tokens,
        text,
        query="dripping espresso",
        term="espresso",
        changed=[(start, len(text))],
        fillers=[(start - 2, start - 1)],
    )
    shown = {}
    for i, category in enumerate(found):
        if tokens.spans[i] is not None:
            shown.setdefault(category, []).append(text[slice(*tokens.spans[i])])
    assert "".join(shown["qterm+"]).lower() == "espressoespresso"
    assert "".join(shown["qterm-"]) == "dripping"
    assert "".join(shown["inj"]) == "espresso"
    assert shown["filler"] == ["a"]
    assert "".join(shown["other"]).startswith("taps:an,two")
    assert len(shown["qterm+"]) > 2, "a word of several pieces has one category for all of them"
