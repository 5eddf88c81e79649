"""What an edit costs: agreement against ir_measures, and only changed pairs scored again."""

import math
import random

import ir_measures
import numpy as np
import pytest
from ir_measures import nDCG

from tests.edits.dialed import COLLECTION, cross_encoder, dialed
from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.edits.cost import Compared, agreement, preview
from whyrank.edits.dialed import Dialed
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.unedited import Unedited


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("ranker"))


@pytest.fixture
def unedited(ranker):
    return Unedited.ranked(ranker, COLLECTION, first_stage(COLLECTION, 9), depth=9)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [3, 10, 25])
def test_agreement_is_the_ndcg_with_gains_from_the_unedited_order(seed, size):
    before = [f"d{i}" for i in range(size)]
    after = random.Random(seed).sample(before, size)
    qrels = {"q": {docno: max(0, 10 - rank) for rank, docno in enumerate(before)}}
    run = {"q": {docno: float(-rank) for rank, docno in enumerate(after)}}
    assert agreement(before, after) == pytest.approx(
        ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10]
    )


def test_agreement_by_hand():
    assert agreement(["a", "b"], ["a", "b"]) == 1
    # gains 10 and 9: (9 / 1 + 10 / log2 3) / (10 / 1 + 9 / log2 3)
    assert agreement(["a", "b"], ["b", "a"]) == pytest.approx((9 + 10 / math.log2(3)) / (10 + 9 / math.log2(3)))
    below = [f"d{i}" for i in range(10)]
    assert agreement([*below, "x", "y"], [*below, "y", "x"]) == 1


def test_the_unedited_ranking_is_by_score_with_the_texts_that_were_scored(ranker, unedited):
    assert len(unedited.rows) == sum(len(rows) for rows in first_stage(COLLECTION, 9).values())
    np.testing.assert_allclose(ranker.score(unedited.pairs), unedited.scores, atol=1e-5)
    for rows in unedited.run(unedited.scores).values():
        assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=True)
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))


def test_ties_keep_the_order_they_had(unedited):
    same = unedited.run(np.zeros(len(unedited.rows)))
    before = unedited.run(unedited.scores)
    assert {qid: [row.docno for row in rows] for qid, rows in same.items()} == {
        qid: [row.docno for row in rows] for qid, rows in before.items()
    }


def test_only_pairs_with_a_changed_token_are_scored_again(ranker, unedited, monkeypatch):
    change = dialed(ranker).change(Edit.of(up=["cat=30"]))
    with applied(ranker, change):
        everything = ranker.score(unedited.pairs)
    seen = []
    plain = ranker.scores
    monkeypatch.setattr(ranker, "scores", lambda pairs, progress=None: (seen.extend(pairs), plain(pairs))[1])
    scores, count = unedited.rescored(change)
    np.testing.assert_allclose(scores, everything, atol=1e-5)
    assert np.abs(scores - unedited.scores).max() > 0.01
    assert count == len(seen) == sum("cat" in f"{q} {d}".split() for q, d in unedited.pairs) < len(unedited.pairs)


def test_a_scale_of_0_changes_nothing_and_scores_nothing(ranker, unedited):
    change = dialed(ranker).change(Edit.of(up=["cat=0"]))
    assert change.tokens and not change.moved
    scores, count = unedited.rescored(change)
    assert count == 0 and (scores == unedited.scores).all()


def test_the_cost_is_ndcg_by_ir_measures_and_the_difference_is_paired(ranker, unedited):
    change = dialed(ranker).change(Edit.of(up=["cat=50", "red=50"], down=["house=50"]))
    found = preview(unedited, change)
    cost, values = found.ranking.cost, {}
    for name, run in (("ndcg_before", found.before), ("ndcg_after", found.after)):
        scores = {qid: {row.docno: row.score for row in rows} for qid, rows in run.items()}
        values[name] = {m.query_id: m.value for m in ir_measures.iter_calc([nDCG @ 10], COLLECTION.qrels, scores)}
        assert getattr(cost, name).value == pytest.approx(np.mean(list(values[name].values())))
        assert getattr(cost, name).pairs == 4, "q5 has no judgement"
    differences = [values["ndcg_after"][qid] - values["ndcg_before"][qid] for qid in COLLECTION.qrels]
    difference = cost.difference
    assert difference.value == pytest.approx(np.mean(differences), abs=1e-12)
    assert difference.low is None and difference.no_interval == "too few queries"
    assert cost.agreement.value < 1 and cost.queries == 5
    assert found.ranking.pairs == len(unedited.pairs) and 0 < found.ranking.rescored <= found.ranking.pairs


def test_changes_name_the_documents_that_move(ranker, unedited):
    change = dialed(ranker).change(Edit.of(up=["cat=50", "red=50"], down=["house=50"]))
    found = preview(unedited, change)
    changes = found.ranking.changes
    assert changes and len(changes) == found.ranking.cost.changed_queries
    assert [one.agreement for one in changes] == sorted(one.agreement for one in changes)
    for one in changes:
        for document in one.documents:
            rows = (
                {row.docno: row for row in found.before[one.qid]},
                {r.docno: r for r in found.after[one.qid]},
            )
            assert [rows[i][document.docno].rank for i in (0, 1)] == [document.before, document.after]
            assert document.before != document.after
            assert document.grade == COLLECTION.qrels.get(one.qid, {}).get(document.docno)


def test_an_edit_that_does_nothing_costs_nothing(ranker, unedited):
    ranking = preview(unedited, dialed(ranker).change(Edit.of(up=["cat=1"]))).ranking
    assert ranking.changes == () and ranking.cost.agreement.value == 1
    assert ranking.cost.difference.value == 0 and ranking.cost.changed_queries == 0


def test_without_judgements_there_is_only_agreement(ranker):
    bare = Collection.from_records("bare", list(COLLECTION.documents()), COLLECTION.queries)
    unedited = Unedited.ranked(ranker, bare, first_stage(bare, 5), depth=5)
    cost = Compared.of(unedited, unedited.scores).cost()
    assert cost.ndcg_before is cost.difference is None and cost.agreement.value == 1


def test_a_second_call_takes_up_what_was_scored(ranker, tmp_path, monkeypatch):
    change = dialed(ranker).change(Edit.of(up=["cat=30"]))
    stage = first_stage(COLLECTION, 9)
    first = Unedited.ranked(ranker, COLLECTION, stage, depth=9, shards=tmp_path)
    scores, _ = first.rescored(change, shards=tmp_path)
    monkeypatch.setattr(ranker, "scores", lambda *_: pytest.fail("nothing is to be scored again"))
    again = Unedited.ranked(ranker, COLLECTION, stage, depth=9, shards=tmp_path)
    np.testing.assert_array_equal(again.rescored(change, shards=tmp_path)[0], scores)


def test_what_an_edit_does_is_described(ranker):
    texts = Collection.from_records("texts", {"a": "cat cats", "b": "berlin"}, {})
    about, change = Dialed(ranker, dialed(ranker), texts), Edit.of(up=["cat=3"], down=["berlin=2"])
    assert [turn.piece for turn in about.dial.turns(change)] == ["cat", "berlin"]
    assert about.shared(change) == () and about.spellings(change) == {} and len(change) == 2
