"""Whether documents that hold an edited word moved as the edit means: against plain loops, and a real ranker."""

from itertools import product

import numpy as np
import pytest

from tests.edits.products import DOCUMENTS, PRODUCTS, QUERIES, every_document
from whyrank.collections.records import Retrieved
from whyrank.edits.cost import preview
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit
from whyrank.edits.holders import holding, moves_of_edits, moves_of_holders
from whyrank.edits.unedited import Unedited


def ranking(before, texts, queries=None):
    """Scores by query and document, as a ranker left them; texts by document."""
    rows = [
        Retrieved(qid, docno, 0, score, "r") for qid, scores in before.items() for docno, score in scores.items()
    ]
    named = queries or {qid: f"query {qid}" for qid in before}
    return Unedited(None, rows, [(named[row.qid], texts[row.docno]) for row in rows], named, {})


def moves(before, after, texts, direction="up", word="w"):
    unedited = ranking(before, texts)
    scores = np.array([after[row.qid][row.docno] for row in unedited.rows])
    return moves_of_holders(unedited, scores, holding(word), f'"{word}"', direction)


@pytest.mark.parametrize(
    ("term", "text", "held"),
    [
        ("waterproof", "A Waterproof tent", True),
        ("waterproof", "water proof, water-proof, waterproofed", False),
        ("water", "waterproof", False),
        ("water", "salt-water.", True),
        ("red tree", "the RED\ntree", True),
        ("red tree", "red, old tree", False),
        ("don", "don't", False),
        ("c++", "I like C++, too", True),
        ("c++", "I like C and C+", False),
        ("caf\u00e9", "CAF\u00c9 open", True),
        ("cafe\u0301", "caf\u00e9 open", True),
    ],
)
def test_a_text_holds_a_term_as_whole_words(term, text, held):
    assert holding(term)(text) is held


@pytest.mark.parametrize("seed", range(5))
def test_change_and_passes_are_those_of_plain_loops(seed):
    random = np.random.default_rng(seed)
    texts = {f"d{i}": "w here" if i % 3 == 0 else "nothing" for i in range(8)}
    before, after = (
        {f"q{q}": {docno: float(random.normal()) for docno in texts} for q in range(7)} for _ in range(2)
    )
    found = moves(before, after, texts)
    passed = was_passed = 0
    for one in found.by_query:
        rise = {docno: after[one.qid][docno] - before[one.qid][docno] for docno in texts}
        kinds = [[docno for docno in texts if (texts[docno] == "w here") is kind] for kind in (True, False)]
        assert (one.holders, one.others) == (3, 5)
        assert one.change == pytest.approx(
            np.mean([rise[d] for d in kinds[0]]) - np.mean([rise[d] for d in kinds[1]])
        )
        for mine, other in product(*kinds):
            above = [scores[one.qid][mine] > scores[one.qid][other] for scores in (before, after)]
            passed += above == [False, True]
            was_passed += above == [True, False]
    assert (found.passed, found.was_passed) == (passed, was_passed)
    assert found.rose == sum(one.change > 0 for one in found.by_query) == 7 - found.fell


TEXTS = {"a": "w", "b": "other", "c": "more"}


def lifted(queries, by, extra=0.0):
    """Before and after: in each of so many queries the holder `a` moves by this much, `b` by `extra`."""
    before = {f"q{i}": {"a": 0.0, "b": 1.0, "c": -1.0} for i in range(queries)}
    after = {qid: {"a": by + i / 100, "b": 1.0 + extra, "c": -1.0} for i, qid in enumerate(before)}
    return before, after


def test_many_queries_that_all_rise_are_clear():
    found = moves(*lifted(8, 2.0), TEXTS)
    assert found.verdict == "yes" and found.passed == 8 and found.was_passed == 0
    assert str(found).startswith(
        'documents that hold "w" rose against the others: their scores rose in 8 of 8 queries'
    )
    assert "[" in str(found) and found.change.low > 0


def test_the_same_edit_meant_the_other_way_is_warned_of():
    found = moves(*lifted(8, 2.0), TEXTS, direction="down")
    assert found.verdict == "no"
    assert str(found).startswith('warning: documents that hold "w" did not fall against the others')
    assert (
        "they passed another document 8 times and were passed 0 times ('w' passed 'other' for 'query q0')"
        in str(found)
    )
    assert moves(*lifted(8, -2.0), TEXTS, direction="down").verdict == "yes"


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_few_queries_are_counted_and_never_look_sure(queries):
    found = moves(*lifted(queries, 2.0), TEXTS)
    assert found.verdict == "unclear" and found.change.low is None
    said = str(found)
    assert f"rose in {queries} of {queries} quer" in said and "too few for an interval" in said and "[" not in said


def test_a_document_without_the_word_that_passes_one_with_it_is_warned_of_although_the_mean_rises():
    before = {f"q{i}": {"a": 1.0, "b": 0.9, "c": 0.0} for i in range(6)}
    after = {qid: {"a": 1.5, "b": 1.6, "c": 0.0} for qid in before}
    found = moves(before, after, TEXTS)
    assert found.change.value > 0 and found.rose == 6
    assert found.verdict == "no" and found.was_passed == 6
    assert "'other' passed 'w' for 'query q0'" in str(found)


def test_an_edit_that_changes_nothing_did_not_raise_anything():
    before, _ = lifted(6, 0.0)
    assert moves(before, before, TEXTS).verdict == "no"


def test_without_a_query_that_has_both_kinds_there_is_no_verdict():
    found = moves({"q": {"a": 1.0}, "p": {"b": 1.0}}, {"q": {"a": 2.0}, "p": {"b": 1.0}}, TEXTS)
    assert found.verdict == "cannot tell" and found.change.value is None
    assert str(found) == (
        'cannot tell whether documents that hold "w" rose against the others: no query has documents of both '
        "kinds among its candidates"
    )
    assert found.change.value is None


def test_each_term_is_judged_by_its_direction_and_one_that_goes_both_ways_is_not():
    before, after = lifted(6, 2.0)
    unedited = ranking(before, TEXTS)
    scores = np.array([after[row.qid][row.docno] for row in unedited.rows])
    found = moves_of_edits(unedited, scores, Edit.of(up=["w=3", "more=2"], down=["other=4", "more=3"]))
    assert [(one.what, one.direction) for one in found] == [('"w"', "up"), ('"other"', "down")]


def test_what_is_only_water_repellent_passes_what_is_waterproof(real):
    ranker = real("bi-minilm-l3")
    unedited = Unedited.ranked(ranker, PRODUCTS, every_document(), depth=len(DOCUMENTS))
    edits = Edit.of(up=["waterproof=5"])
    found = preview(unedited, Dial.of(ranker).change(edits), edits)
    (holders,) = found.holders
    place = {
        name: {row.docno: row.rank for row in run["q5"]}
        for name, run in vars(found).items()
        if name in ("before", "after")
    }
    assert place["before"]["shell"] < place["before"]["windbreaker"]
    assert place["after"]["windbreaker"] < place["after"]["shell"], "the case of the issue"
    assert holders.verdict == "no" and holders.change.queries == len(QUERIES)
    assert holders.was_passed > holders.passed
    assert holders.sentence.startswith('warning: documents that hold "waterproof" did not rise against the others')
