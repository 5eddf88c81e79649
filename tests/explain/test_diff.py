"""Two rankings compared: moves by hand, the measure by ir_measures, words by real scores; the gate."""

from xml.etree import ElementTree

import ir_measures
import pytest

from tests.cli.run import one_line, whyrank
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved
from whyrank.collections.trec import write_run
from whyrank.core.errors import UserError
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.gate import Condition, check
from whyrank.explain.diff import RunDiff, diff, rank_biased_overlap
from whyrank.rankers.load import load

TEXTS = {"a": "red cat", "b": "blue dog tree", "c": "the dog", "d": "a cat and a dog"}
QUERIES = {f"q{i}": word for i, word in enumerate(["cat", "dog", "red", "tree", "blue dog", "red cat", "the"])}
QRELS = {qid: {"a": 2, "b": 1} for qid in QUERIES}
COLLECTION = Collection.from_records("t", TEXTS, QUERIES, QRELS)


def run(*orders):
    """A run in which the queries have these orders of documents."""
    return {
        f"q{i}": [Retrieved(f"q{i}", docno, rank, 10.0 - rank, "t") for rank, docno in enumerate(order, start=1)]
        for i, order in enumerate(orders)
    }


BEFORE = run("abcd", "bacd", "abcd", "abcd", "abcd", "cdab", "abcd")
AFTER = run("abcd", "cdba", "abcd", "bacd", "abcd", "abcd", "abcd")


def test_what_moved_and_what_that_gained():
    found = diff(BEFORE, AFTER, collection=COLLECTION, depth=4)
    assert (found.queries, found.changed, found.gained, found.lost) == (7, 3, 1, 2)
    assert {row.qid for row in found.rows} == {"q1", "q3", "q5"}
    (row,) = [one for one in found.rows if one.qid == "q3"]
    assert [(move.docid, move.before, move.after, move.grade) for move in row.moves] == [
        ("a", 1, 2, 2),
        ("b", 2, 1, 1),
    ]
    theirs = [
        ir_measures.calc_aggregate([ir_measures.nDCG @ 10], ir_qrels(), scored(one))[ir_measures.nDCG @ 10]
        for one in (BEFORE, AFTER)
    ]
    assert found.comparison.difference.value == pytest.approx(theirs[1] - theirs[0])
    assert found.comparison.difference.queries == 7


def test_documents_that_enter_or_leave_have_no_rank():
    found = diff(run("abcd"), run("dabc"), depth=1)
    assert [(move.docid, move.before, move.after) for move in found.rows[0].moves] == [
        ("a", 1, None),
        ("d", None, 1),
    ]
    assert found.measure is None and found.comparison is None
    assert found.overlap.low is None, "one query has no interval"


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [("abc", "abc", 1.0), ("ab", "cd", 0.0), ("ab", "ba", 0.9 / 1.9), ("abc", "ab", 1.0)],
)
def test_rank_biased_overlap_by_hand(first, second, overlap):
    assert rank_biased_overlap(first, second) == pytest.approx(overlap)


def test_the_words_behind_a_move_are_each_rankers_own():
    bm25, other = load("bm25", collection=COLLECTION), load("bm25", collection=COLLECTION, b=0.0)
    found = diff(BEFORE, AFTER, collection=COLLECTION, rankers=[bm25, other], depth=4)
    (row,) = [one for one in found.rows if one.qid == "q5"]
    words = {one.word: one for move in row.moves if move.docid == "a" for one in move.words}
    assert words.keys() == {"red", "cat"} and max(one.before for one in words.values()) == 1


def test_a_diff_is_saved_and_read(tmp_path):
    found = diff(BEFORE, AFTER, collection=COLLECTION, out=tmp_path / "d")
    assert RunDiff.read(tmp_path / "d") == found == diff(BEFORE, AFTER, collection=COLLECTION, out=tmp_path / "d")
    page = (tmp_path / "d" / "report.html").read_text()
    assert page.index("3 of 7 queries changed") < page.index("<svg")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"before": run("ab"), "after": {"x": []}}, "no query in common"),
        ({"rankers": ["bm25"], "collection": COLLECTION}, "give 2 rankers and collection"),
        ({"rankers": ["bm25", "bm25"]}, "give 2 rankers and collection"),
        ({"depth": 0}, "depth"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(UserError, match=message):
        diff(**{"before": BEFORE, "after": AFTER, **options})


def test_conditions_print_as_they_parse():
    assert str(Condition.parse("TFC1:append<0.9")) == "TFC1:append < 0.9"
    assert Condition.parse("TFC1 >= 90%") == Condition("TFC1", ">=", 0.9)
    for text in ("", "TFC1", "TFC1 < x", "< 3", "TFC1 < 1.2.3"):
        with pytest.raises(UserError, match="is not a condition"):
            Condition.parse(text)


def test_a_gate_checks_every_number_of_the_name_and_an_undefined_one_fails():
    one, none = Estimate(0.5, None, None, 9, 3, "too few queries"), Estimate.undefined()
    checks = check([Condition.parse("TFC1 < 0.4")], {"TFC1": {"first": one, "second": none}})
    assert [found.fails for found in checks] == [False, True]
    assert "too few queries" in str(checks[0])
    with pytest.raises(UserError, match="there is no value 'TFC2'"):
        check([Condition.parse("TFC2 < 1")], {"TFC1": {"first": one}})


@pytest.mark.parametrize(("limit", "code"), [("-0.5", 0), ("0.5", 3)])
def test_the_command_is_a_gate(tmp_path, limit, code):
    write_run(tmp_path / "a.trec", BEFORE)
    write_run(tmp_path / "b.trec", AFTER)
    lines = [f"{qid} 0 {docno} {grade}" for qid, grades in QRELS.items() for docno, grade in grades.items()]
    (tmp_path / "qrels").write_text("\n".join(lines) + "\n")
    done = whyrank("diff", "a.trec", "b.trec", "--qrels", "qrels", "--fail-if", f"nDCG@10 < {limit}",
                   "--junit", "gate.xml", cwd=tmp_path)  # fmt: skip
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith("3 of 7 queries changed")
    assert f"gate {'fails' if code else 'holds'}: change of nDCG@10" in done.stderr
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", str(int(bool(code))))
    assert (suite.find("testcase/failure") is not None) == bool(code)


def test_a_wrong_condition_is_refused_before_any_work(tmp_path):
    done = whyrank("diff", "missing.a", "missing.b", "--fail-if", "nDCG", cwd=tmp_path)
    assert "'nDCG' is not a condition" in one_line(done)


def ir_qrels():
    return [
        ir_measures.Qrel(qid, docno, grade) for qid, grades in QRELS.items() for docno, grade in grades.items()
    ]


def scored(found):
    return [ir_measures.ScoredDoc(row.qid, row.docno, row.score) for rows in found.values() for row in rows]
