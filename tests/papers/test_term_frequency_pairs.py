"""Pairs made of pairs, and what heads look at in them."""

import pytest

from tests.checkpoints import save
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.encoders.inputs import Inputs
from whyrank.papers.term_frequency.attention import PATTERN, SHOWN, attention_quantities, example_pattern
from whyrank.papers.term_frequency.sets import minimal_context, null_pairs
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def made(request):
    ranker = load("bi-minilm-l3")
    return ranker, make_pairs("TFC1:append,TFC1:prepend,TFC1:middle", "demo", [ranker], Choices(documents=5)).pairs


def test_a_null_pair_differs_in_the_word_alone(made):
    ranker, pairs = made
    nulls = {pair.id: pair for pair in null_pairs(pairs)}
    assert len(nulls) == len(pairs)
    for pair in pairs:
        null = nulls[f"null:{pair.id}"]
        (word,) = set(null.contents["perturbed"])
        assert word not in pair.query.lower().split() and word != pair.term
        assert null.contents["baseline"] == pair.contents["baseline"] and null.variant == "null"
        realise_for_patching(null, ranker)  # aligned for the same tokenizer
    assert null_pairs(pairs)[0] == null_pairs(pairs)[0]


def test_minimal_context_keeps_the_window_and_moves_nothing(made):
    ranker, pairs = made

    def pieces(word):
        return len(ranker.pieces.tokenizer.encode(word, add_special_tokens=False).ids)

    for pair, bare in zip(pairs, minimal_context(pairs, pieces, window=2), strict=True):
        before, after = pair.slotted.segments, bare.slotted.segments
        kept = [word for segment in after for word in segment.split() if word.strip(".,;:!?'\"()") != pair.filler]
        assert len(kept) <= 6 and len(before) == len(after)
        assert bare.contents == pair.contents
        whole, names = realise_for_patching(pair, ranker).names, realise_for_patching(bare, ranker).names
        places = [[i for i, name in enumerate(some) if name == "inj"] for some in (whole, names)]
        moved = [a - b for a, b in zip(*places, strict=True)]
        assert all(abs(step) <= 1 for step in moved), "a filler for every piece, but for pieces such as '°C'"


def test_attention_between_categories_by_loops(tmp_path):
    ranker = load(str(save(tmp_path / "bi")), kind="bi-encoder")
    pair = MinimalPair("p", "red cat", "the cat sat on a", "the cat sat on cat", term="cat", qid="q", k=3,
                       slot={"baseline": [(15, 16)], "perturbed": [(15, 18)]})  # fmt: skip
    realised = realise_for_patching(pair, ranker)
    names = realised.names
    assert names.count("inj") == 1 and names.count("qterm+") == 1
    inputs = ranker.opened_inputs([realised.texts.perturbed])
    assert isinstance(inputs, Inputs)
    found = {row.quantity: row for row in attention_quantities(ranker, [pair], ["1.2"])}
    from whyrank.encoders.site import Site

    site = Site.parse("L1.H2.pattern")
    pattern = ranker.encoder.run(inputs, read=[site]).values[site][0].detach()
    inj, duplicate = names.index("inj"), names.index("qterm+")
    assert found["inj -> qterm+"].mean.value == pytest.approx(float(pattern[inj, duplicate]), abs=1e-6)
    assert found["qterm+ -> inj"].mean.value == pytest.approx(float(pattern[duplicate, inj]), abs=1e-6)
    others = [i for i, name in enumerate(names) if name == "other"]
    seps = [i for i, name in enumerate(names) if name == "sep"]
    expected = sum(float(pattern[i, j]) for i in others for j in seps) / len(others)
    assert found["other -> sep"].mean.value == pytest.approx(expected, abs=1e-6)
    assert "inj -> qterm-" not in found, "the document has no other query word: missing, not 0"
    assert found["inj -> sep"].k == 3
    given = {}
    for row in attention_quantities(ranker, [pair], ["1.2"], quantities=PATTERN):
        given[row.source] = given.get(row.source, 0.0) + row.mean.value
    assert set(given) == set(names) and all(value == pytest.approx(1.0, abs=1e-5) for value in given.values())
    shown = example_pattern(ranker, pair, "1.2")
    assert [token.category for token in shown.tokens] == names and len(names) <= SHOWN
    assert shown.weights[inj][duplicate] == pytest.approx(float(pattern[inj, duplicate]), abs=1e-4)
