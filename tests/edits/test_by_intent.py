"""Who else moves by a shared piece, the scale that held-out queries propose, the gate, documents to encode again:
against plain loops, and on a real ranker."""

import json
from itertools import product

import numpy as np
import pytest

import whyrank
from tests.edits.dialed import COLLECTION, cross_encoder, dialed, idf_file
from tests.edits.products import DOCUMENTS, PRODUCTS, QUERIES, every_document
from whyrank.collections.bm25 import first_stage
from whyrank.core.errors import UserError
from whyrank.edits.cost import Compared
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit
from whyrank.edits.encode_again import documents_to_encode
from whyrank.edits.holders import holding
from whyrank.edits.proposal import halves, proposal
from whyrank.edits.results import EditPreview
from whyrank.edits.rows import applied
from whyrank.edits.sharers import sharers, sharers_of_edits
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.gate import GateFailed
from whyrank.text.titles import snippet_of, title_of

WATERPROOF = Edit.parse("up waterproof=2sd")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    ranker = cross_encoder(folder / "ranker")
    return ranker, str(idf_file(ranker, folder / "idf.tsv"))


@pytest.fixture
def shop(real):
    """A real ranker, its ranking of the shop, and the scores with `waterproof` up."""
    ranker = real("bi-minilm-l3")
    unedited = Unedited.ranked(ranker, PRODUCTS, every_document(), depth=len(DOCUMENTS))
    scores, _ = unedited.rescored(Dial.of(ranker).change(WATERPROOF))
    return ranker, unedited, scores


def test_titles_and_snippets():
    assert title_of("First sentence. Second one.") == "First sentence"
    assert title_of("a" * 80) == "a" * 59 + "…" and title_of("two\n  lines") == "two lines"
    text = "x" * 60 + " water " + "y" * 60
    assert snippet_of(text, 61, 66) == "…" + "x" * 49 + " water " + "y" * 49 + "…"
    assert snippet_of("salt water", 5, 10) == "salt water"


def test_sharers_are_those_with_a_piece_and_without_the_word(shop):
    ranker, unedited, scores = shop
    found = sharers(ranker.pieces.tokenizer, unedited, scores, "waterproof", "up")
    assert found.pieces == ("water", "##proof")
    kind = {
        docno: "holds" if "waterproof" in text.lower() else "shares" if "water" in text.lower() else "rest"
        for docno, text in DOCUMENTS.items()
    }
    after = {(row.qid, row.docno): score for row, score in zip(unedited.rows, scores, strict=True)}
    ranks = {
        (row.qid, row.docno): 1 + sum(after[row.qid, other] > after[row.qid, row.docno] for other in DOCUMENTS)
        for row in unedited.rows
    }
    changes, rose, fell = [], 0, 0
    for qid in QUERIES:
        rows = [row for row in unedited.rows if row.qid == qid]
        moved = {row.docno: after[qid, row.docno] - row.score for row in rows}
        mean = {one: np.mean([moved[d] for d in DOCUMENTS if kind[d] == one]) for one in ("shares", "rest")}
        changes.append(mean["shares"] - mean["rest"])
        for row in rows:
            if kind[row.docno] == "shares":
                rose += ranks[qid, row.docno] < row.rank
                fell += ranks[qid, row.docno] > row.rank
    assert found.pairs == 6 * sum(one == "shares" for one in kind.values()) == 24
    assert (found.rose, found.fell) == (rose, fell) and rose > 0
    assert found.change.value == pytest.approx(np.mean(changes)) and found.change.queries == 6
    for one in found.examples:
        assert one.after < one.before and kind[one.docno] == "shares" and one.words == ("water",)
        assert "water" in one.snippet.lower() and one.title == title_of(DOCUMENTS[one.docno])
    assert "share its 'water' and '##proof'" in str(found)


def test_a_word_of_one_piece_that_nobody_shares_is_not_listed(shop):
    ranker, unedited, scores = shop
    tokenizer = ranker.pieces.tokenizer
    assert sharers_of_edits(tokenizer, unedited, scores, Edit.parse("up tent=1sd")) == ()
    both = Edit.parse("up tent=1sd, down tent=2sd")
    assert sharers_of_edits(tokenizer, unedited, scores, both) == (), "no direction was meant"


def test_the_scale_is_chosen_on_one_half_and_told_on_the_other(tiny):
    ranker, _ = tiny
    dial, edit = dialed(ranker), Edit.parse("up cat=1sd")
    unedited = Unedited.ranked(ranker, COLLECTION, first_stage(COLLECTION, 9), depth=9)
    chooses, tests = halves(unedited, edit, seed=1)
    assert set(chooses.queries) | set(tests.queries) == set(unedited.queries)
    assert not set(chooses.queries) & set(tests.queries) and set(chooses.qrels) <= set(chooses.queries)
    scales = (0.5, 2.0, 6.0, 20.0)
    seen = []

    def rescored(half, change, name):
        seen.append((set(half.queries), name))
        return half.rescored(change)[0]

    found = proposal(unedited, dial.change, edit, rescored, scales=scales, max_loss=10.0, seed=1)
    gains = []
    for scale in scales:
        with applied(ranker, dial.change(edit.at(scale))):
            after = ranker.score(chooses.pairs)
        gains.append(np.mean(list(net_passes(chooses, after, "cat"))))
    assert [one.gain.value for one in found.tried] == pytest.approx(gains)
    assert found.chosen == scales[int(np.argmax(gains))] and max(gains) > 0, "argmax is the first of equals"
    assert all(queries == set(chooses.queries) for queries, name in seen if name.startswith("choosing"))
    assert [queries for queries, name in seen if name.startswith("testing")] == [set(tests.queries)]
    scores, _ = tests.rescored(dial.change(edit.at(found.chosen)))
    assert found.cost == Compared.of(tests, scores).cost(1) and found.tested_on == len(tests.queries)
    none = proposal(unedited, dial.change, Edit.parse("up cat=1sd"), rescored, scales=(0.0,), seed=1)
    assert none.chosen is None and "No scale is proposed" in str(none)


def net_passes(unedited, after, word):
    holds = holding(word)
    for qid in unedited.queries:
        places = [i for i, row in enumerate(unedited.rows) if row.qid == qid]
        kinds = [[i for i in places if holds(unedited.pairs[i][1]) is kind] for kind in (True, False)]
        if all(kinds):
            before = unedited.scores
            net = sum(
                int(before[i] < before[j] and after[i] > after[j])
                - int(before[i] > before[j] and after[i] < after[j])
                for i, j in product(*kinds)
            )
            yield net / (len(kinds[0]) * len(kinds[1]))


def test_the_gate_saves_nothing_where_too_much_is_lost(tiny, tmp_path):
    ranker, idf = tiny
    how = {"down": {"cat": 30}, "collection": COLLECTION, "depth": 9, "idf": idf}
    found = whyrank.edit(ranker, **how)
    loss = -found.ranking.cost.difference.value
    assert loss > 0
    with pytest.raises(GateFailed, match="gate fails: nDCG@10 changes by -") as failed:
        whyrank.edit(ranker, **how, max_loss=loss / 2, save=tmp_path / "no", out=tmp_path / "run")
    assert (
        failed.value.result == found
        and not (tmp_path / "no").exists()
        and (tmp_path / "run" / "edit.json").exists()
    )
    whyrank.edit(ranker, **how, max_loss=loss * 1.01, save=tmp_path / "yes")
    assert (tmp_path / "yes" / "model.safetensors").exists()
    with pytest.raises(UserError, match="products has no judgements"):
        whyrank.edit(ranker, up={"cat": 1}, collection=PRODUCTS, max_loss=0.1, idf=idf)
    with pytest.raises(UserError, match="max_loss needs a preview"):
        whyrank.edit(ranker, up={"cat": 1}, max_loss=0.1, idf=idf)


def test_a_bi_encoder_says_which_documents_it_has_to_encode_again(shop, tmp_path):
    ranker, _, _ = shop
    found = whyrank.edit(ranker, WATERPROOF, collection=PRODUCTS, run=every_document(), out=tmp_path / "run")
    pieces = {"water", "##proof"}
    tokenizer = ranker.pieces.tokenizer
    tokenizer.no_truncation()
    wanted = [docno for docno, text in DOCUMENTS.items() if pieces & set(tokenizer.encode(text).tokens)]
    assert list(found.encode_again) == wanted
    assert (tmp_path / "run" / "encode_again.txt").read_text().split() == wanted
    assert EditPreview.read(tmp_path / "run") == found
    assert "encode_again" not in json.loads((tmp_path / "run" / "edit.json").read_text())
    assert documents_to_encode(ranker, PRODUCTS, []) == []
