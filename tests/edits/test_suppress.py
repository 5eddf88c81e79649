"""Suppression: the block list, the documents it is tried on, success and knee, against plain loops."""

import math

import numpy as np
import pytest

from tests.edits.dialed import COLLECTION, cross_encoder, dialed
from whyrank.collections.bm25 import first_stage
from whyrank.core.errors import UserError
from whyrank.edits.block_list import BlockList
from whyrank.edits.rows import applied
from whyrank.edits.suppress import SuppressionSettings, inject, knee, suppression
from whyrank.edits.unedited import Unedited

SCALES = (1.0, 5.0, 40.0, 300.0)


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return cross_encoder(tmp_path_factory.mktemp("ranker"))


@pytest.fixture(scope="module")
def unedited(ranker):
    return Unedited.ranked(ranker, COLLECTION, first_stage(COLLECTION, 9), depth=9)


@pytest.fixture
def listed(ranker, tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# words\nberlin\n\nblue\nslow cat\n  blue \nzebra\n?!\nSlow\n")
    return BlockList.read(path, ranker.pieces.tokenizer)


def test_a_list_has_single_words_that_the_ranker_knows(listed):
    assert listed.words == ("berlin", "blue", "Slow")
    assert listed.skipped == {
        "not a single word": ("slow cat", "?!"),
        "not in the ranker's vocabulary": ("zebra",),
    }
    assert [str(edit) for edit in listed.edit(5)] == ["down berlin=5sd", "down blue=5sd", "down Slow=5sd"]
    assert listed.holds_none("the cat") and not listed.holds_none("a SLOW cat") and listed.holds_none("bluebell")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "this block list is empty"),
        ("# nothing\n\n", "this block list is empty"),
        ("two words\nzebra\n", r"\(1 not a single word; 1 not in the ranker's vocabulary\)"),
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
    found = suppression(dial, listed, unedited, SuppressionSettings(6, 0.01, SCALES))
    injected = inject(listed, unedited, 6)
    rises = [float(ranker.score([one.unsafe])[0] - ranker.score([one.safe])[0]) for one in injected]
    kept = [one for one, rise in zip(injected, rises, strict=True) if rise > 0.01]
    assert 0 < len(kept) < len(injected) and (found.drawn, found.kept) == (len(injected), len(kept))
    assert found.rise.value == pytest.approx(np.mean([rise for rise in rises if rise > 0.01]), abs=1e-5)
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


def test_where_no_score_rises_there_is_nothing_to_suppress(ranker, unedited, listed):
    with pytest.raises(UserError, match="no listed word raises a score by more than 1000"):
        suppression(dialed(ranker), listed, unedited, SuppressionSettings(2, 1000))


def test_where_every_document_is_unsafe_it_says_so(ranker, unedited, tmp_path):
    (tmp_path / "all.txt").write_text("the\nmany\nred\nberlin\nhouse\n")
    everything = BlockList.read(tmp_path / "all.txt", ranker.pieces.tokenizer)
    with pytest.raises(UserError, match="every document holds a listed word"):
        inject(everything, unedited, 3)


def test_work_that_was_stopped_goes_on(ranker, unedited, listed, tmp_path, monkeypatch):
    dial = dialed(ranker)
    whole = suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES))
    plain, calls = ranker.scores, []

    def failing(pairs, progress=None):
        calls.append(len(pairs))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(pairs, progress)

    monkeypatch.setattr(ranker, "scores", failing)
    with pytest.raises(KeyboardInterrupt):
        suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES), shards=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.shard")}
    assert len(kept) == 3
    assert suppression(dial, listed, unedited, SuppressionSettings(4, scales=SCALES), shards=tmp_path) == whole
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
