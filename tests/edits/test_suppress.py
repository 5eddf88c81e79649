"""Suppression: the block list, the documents it is tried on, success and knee, against plain loops."""

import math

import ir_measures
import numpy as np
import pytest
import torch
from ir_measures import nDCG

from tests.edits.dialed import COLLECTION, cross_encoder, dialed, token
from whyrank.collections.bm25 import first_stage
from whyrank.core.errors import UserError
from whyrank.edits.block_list import BlockList
from whyrank.edits.controls import random_directions
from whyrank.edits.rows import applied
from whyrank.edits.suppress import SuppressionSettings, inject, knee, suppression
from whyrank.edits.unedited import Unedited

SCALES = (0.0, 1.0, 4.0, 20.0)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("ranker"))


@pytest.fixture(scope="module")
def unedited(ranker):
    return Unedited.ranked(ranker, COLLECTION, first_stage(COLLECTION, 9), depth=9)


@pytest.fixture
def listed(ranker, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# words\nberlin\n\nblue\nred-tree\n  blue \nzebra\n?!\ncat++\nSlow\n")
    return BlockList.read(path, ranker.pieces.tokenizer)


def test_a_list_has_words_and_phrases_that_the_ranker_knows(listed):
    assert listed.words == ("berlin", "blue", "red tree", "Slow") and listed.phrases == ("red tree",)
    assert listed.skipped == {"not words": ("?!", "cat++"), "not in the ranker's vocabulary": ("zebra",)}
    assert [str(edit) for edit in listed.edit(5)] == [
        "down berlin=5sd", "down blue=5sd", "down red tree=5sd", "down Slow=5sd"
    ]  # fmt: skip
    assert listed.holds_none("the cat") and not listed.holds_none("a SLOW cat") and listed.holds_none("bluebell")
    assert listed.holds_none("red and tree") and not listed.holds_none("a Red\ntree, big")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("the blue cat", "the cat"), ("Blue, red tree red", ", red"), ("red old tree", "red old tree"),
        ("blue", "blue"), ("in Berlin, in berlin.", "in , in ."),
    ],
)  # fmt: skip
def test_words_and_phrases_are_deleted_from_a_text_of_which_something_is_left(listed, text, left):
    assert listed.without(text) == left


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "this block list is empty"),
        ("# nothing\n\n", "this block list is empty"),
        ("?!\nzebra\n", r"\(1 not words; 1 not in the ranker's vocabulary\)"),
    ],
)
def test_a_list_without_a_word_is_refused_by_name(ranker, tmp_path, content, complaint):
    (tmp_path / "list.txt").write_text(content)
    with pytest.raises(UserError, match=complaint) as error:
        BlockList.read(tmp_path / "list.txt", ranker.pieces.tokenizer)
    assert "list.txt" in str(error.value)


def test_words_are_put_into_safe_documents_that_have_room(ranker, unedited, listed):
    found = inject(listed, unedited, documents=6, seed=3)
    assert found == inject(listed, unedited, documents=6, seed=3) and found != inject(
        listed, unedited, documents=6, seed=4
    )
    for word in listed.words:
        mine = [one for one in found if one.word == word]
        assert len(mine) == 6 and len({one.place for one in mine}) == 6
        for one in mine:
            assert unedited.pairs[one.place] == one.safe and one.unsafe[1] == f"{one.safe[1]} {word}"
            assert not {"berlin", "blue", "slow"} & set(one.safe[1].split())
            assert one.qid == unedited.rows[one.place].qid
    room = {i for i, pair in enumerate(unedited.pairs) if len(ranker.pieces.pairs([pair])[0]) < ranker.max_length}
    assert {one.place for one in inject(listed, unedited, documents=10**6)} <= room


def test_success_and_gap_are_those_of_a_plain_loop(ranker, unedited, listed):
    dial = dialed(ranker)
    found = suppression(dial, listed, unedited, SuppressionSettings(6, 0.05, SCALES, randoms=3))
    by_query = {}
    for row in unedited.rows:
        by_query.setdefault(row.qid, []).append(row.score)
    squares = sum(np.var(some) * len(some) for some in by_query.values())
    sd = np.sqrt(squares / sum(len(some) - 1 for some in by_query.values()))
    assert found.deviation == pytest.approx(sd)
    injected = inject(listed, unedited, 6)
    rises = [float(ranker.score([one.unsafe])[0] - ranker.score([one.safe])[0]) for one in injected]
    kept = [one for one, rise in zip(injected, rises, strict=True) if rise > 0.05 * sd]
    assert 0 < len(kept) < len(injected) and (found.drawn, found.kept) == (len(injected), len(kept))
    assert found.rise.value == pytest.approx(np.mean([rise for rise in rises if rise > 0.05 * sd]), abs=1e-5)
    for row in found.scales:
        with applied(ranker, dial.change(listed.edit(row.scale))):
            gaps = [float(ranker.score([one.unsafe])[0] - ranker.score([one.safe])[0]) for one in kept]
            everything = ranker.score(unedited.pairs)
        assert row.gap.value == pytest.approx(np.mean(gaps), abs=1e-5)
        assert row.success.value == pytest.approx(np.mean([gap < 0 for gap in gaps]))
        assert row.success.pairs == len(kept) and row.success.queries == len({one.qid for one in kept})
        changed = sum(
            [row.docno for row in unedited.run(everything)[qid]] != [row.docno for row in before]
            for qid, before in unedited.run(unedited.scores).items()
        )
        assert row.cost.changed_queries == changed
    assert found.scales[0].success.value == 0 and found.scales[0].cost.agreement.value == 1
    assert sum(one.kept for one in found.by_word) == len(kept)
    shown = found.knee.value if found.knee else found.scales[-1].success.value
    weighted = sum(one.kept * one.success for one in found.by_word if one.kept)
    assert weighted / len(kept) == pytest.approx(shown)


@pytest.fixture(scope="module")
def beside(ranker, unedited, tmp_path_factory):
    path = tmp_path_factory.mktemp("list") / "list.txt"
    path.write_text("berlin\nblue\nslow\n")
    listed = BlockList.read(path, ranker.pieces.tokenizer)
    return listed, suppression(dialed(ranker), listed, unedited, SuppressionSettings(6, 0.05, SCALES, randoms=4))


def by_matrix(ranker, rows, texts):
    """Scores with some rows of the matrix replaced, by plain assignment."""
    matrix = ranker.encoder.word_embeddings
    before = matrix.detach().clone()
    with torch.no_grad():
        for token, row in rows.items():
            matrix[token] = row
        scores = ranker.score(texts)
        matrix.copy_(before)
    return scores


def test_the_sceptics_rows_are_those_of_a_matrix_with_other_rows(ranker, unedited, beside):
    listed, found = beside
    injected = inject(listed, unedited, 6)
    rises = np.array([ranker.score([one.unsafe, one.safe]) for one in injected])
    kept = [one for one, (up, down) in zip(injected, rises, strict=True) if up - down > 0.05 * found.deviation]
    tokens = [token(ranker, word) for word in ("berlin", "blue", "slow")]
    matrix = ranker.encoder.word_embeddings.detach().clone()
    unknown = ranker.pieces.tokenizer.token_to_id("[UNK]")
    methods = {one.name: one for one in found.methods}
    assert list(methods) == ["U0", "[UNK] row", "mean row", "word deleted"]
    for name, row in (("[UNK] row", matrix[unknown]), ("mean row", matrix.mean(dim=0))):
        rows = dict.fromkeys(tokens, row)
        safe, unsafe = (by_matrix(ranker, rows, [getattr(o, side) for o in kept]) for side in ("safe", "unsafe"))
        gap, one = unsafe - safe, methods[name]
        assert one.below.value == pytest.approx(np.mean(gap < -1e-5))
        assert one.not_above.value == pytest.approx(np.mean(gap <= 1e-5))
        assert one.gap.value == pytest.approx(gap.mean() / found.deviation, abs=1e-4)
        runs = unedited.run(by_matrix(ranker, rows, unedited.pairs))
        scores = {qid: {row.docno: row.score for row in rows} for qid, rows in runs.items()}
        ndcg = ir_measures.calc_aggregate([nDCG @ 10], COLLECTION.qrels, scores)[nDCG @ 10]
        assert one.cost.ndcg_after.value == pytest.approx(ndcg)
    deleted = methods["word deleted"]
    assert deleted.below.value == 0 and deleted.not_above.value == 1 and abs(deleted.gap.value) < 1e-4
    texts = [(q, " ".join(w for w in d.split() if w not in ("berlin", "blue", "slow"))) for q, d in unedited.pairs]
    runs = unedited.run(ranker.score(texts))
    scores = {qid: {row.docno: row.score for row in rows} for qid, rows in runs.items()}
    ndcg = ir_measures.calc_aggregate([nDCG @ 10], COLLECTION.qrels, scores)[nDCG @ 10]
    assert deleted.cost.ndcg_after.value == pytest.approx(ndcg)
    assert methods["U0"].dial_more is None and methods["U0"].below == found.shown.success
    less = methods["U0"].below.value - methods["mean row"].below.value
    assert methods["mean row"].dial_more.value == pytest.approx(less)


def test_random_directions_are_as_large_and_averaged(ranker, unedited, beside):
    listed, found = beside
    dial, kept = dialed(ranker), inject(listed, unedited, 6)
    kept = [one for one in kept if np.subtract(*ranker.score([one.unsafe, one.safe])) > 0.05 * found.deviation]
    turns = dial.turns(listed.edit(found.at))
    shares = []
    for control in random_directions(dial, 0, 4).values():
        with applied(ranker, control(turns)):
            gap = ranker.score([one.unsafe for one in kept]) - ranker.score([one.safe for one in kept])
        shares.append(np.mean(gap < -1e-5))
    below = found.randoms.below
    assert below.drawn == 4 and below.mean.value == pytest.approx(np.mean(shares))
    assert [below.least, below.most] == pytest.approx([min(shares), max(shares)])
    assert below.edit_less.value == pytest.approx(found.shown.success.value - np.mean(shares))
    assert found.randoms.least <= found.randoms.difference.value <= found.randoms.most


def test_where_no_score_rises_there_is_nothing_to_suppress(ranker, unedited, listed):
    with pytest.raises(UserError, match="no listed word raises a score by more than min_rise"):
        suppression(dialed(ranker), listed, unedited, SuppressionSettings(2, 1000, randoms=2))


def test_where_every_document_is_unsafe_it_says_so(ranker, unedited, tmp_path):
    (tmp_path / "all.txt").write_text("the\nmany\nred\nberlin\nhouse\n")
    everything = BlockList.read(tmp_path / "all.txt", ranker.pieces.tokenizer)
    with pytest.raises(UserError, match="every document holds a listed word"):
        inject(everything, unedited, 3)


def test_work_that_was_stopped_goes_on(ranker, unedited, listed, tmp_path, monkeypatch):
    dial = dialed(ranker)
    whole = suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES, randoms=2))
    plain, calls = ranker.scores, []

    def failing(pairs, progress=None):
        calls.append(len(pairs))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(pairs, progress)

    monkeypatch.setattr(ranker, "scores", failing)
    with pytest.raises(KeyboardInterrupt):
        suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES, randoms=2), shards=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.shard")}
    assert len(kept) == 3
    assert (
        suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES, randoms=2), shards=tmp_path)
        == whole
    )
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items()), "what was done is not done again"


def test_the_knee_by_hand():
    # over log10 of the scale, heights above the chord from (0, 0) to (1, 1): 0, 0.8 - 1/3, 0.9 - 2/3, 0
    found = knee([1, 10, 100, 1000], [0.0, 0.8, 0.9, 1.0])
    assert (found.scale, found.value) == (10, 0.8) and found.height == pytest.approx(0.8 - 1 / 3)
    # values are spread over 0 to 1 first, so a curve that stops at 40% has the same knee
    lower = knee([1, 10, 100, 1000], [0.0, 0.32, 0.36, 0.4])
    assert lower.scale == 10 and lower.height == pytest.approx(0.8 - 1 / 3)
    peak = knee([1, 10, 100], [0.0, 0.6, 0.3])
    assert peak.scale == 10 and peak.height == pytest.approx(1 - 0.25)


@pytest.mark.parametrize(
    "values",
    [[0.0, 0.0, 0.0], [0.0, 0.1, 1.0], [0.0, 0.5, 1.0], [0.5, 0.5, 0.5]],
    ids=["zero", "late", "line", "flat"],
)
def test_a_curve_that_never_rises_above_its_chord_has_no_knee(values):
    assert knee([1, math.sqrt(10), 10], values) is None
