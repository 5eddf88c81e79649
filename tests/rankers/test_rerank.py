"""Re-ranking a first stage: order, ties, resuming after a kill, passages of long documents."""

import json
from itertools import pairwise

import numpy as np
import pytest

from tests.checkpoints import save
from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved
from whyrank.core.errors import UserError
from whyrank.rankers import shards
from whyrank.rankers.load import load
from whyrank.rankers.passages import BestPassage
from whyrank.rankers.ranker import Ranker, Scores, Source
from whyrank.rankers.rerank import rerank

DOCUMENTS = {"a": "cat", "b": "cat dog", "c": "cat dog tree", "d": "cat sat on the mat in berlin"}
COLLECTION = Collection.from_records("tiny", DOCUMENTS, {"1": "cat", "2": "cat dog", "3": "tree cat"})


class ByLength(Ranker):
    """The longer the better, in words; dies after so many calls."""

    kind, name, source = "test", "by-length", Source("a test", "exact")

    def __init__(self, lives=99):
        self.lives = lives

    def fingerprint(self):
        return "by-length"

    def scores(self, pairs, progress=None):
        if not self.lives:
            raise KeyboardInterrupt
        self.lives -= 1
        return Scores(np.array([len(text.split()) // 2 for _, text in pairs], dtype=float), cut=1)


def test_documents_are_sorted_by_score_and_ties_keep_the_first_stages_order():
    first = {"1": [Retrieved("1", docno, rank, 0.0, "x") for rank, docno in enumerate("acbd", start=1)]}
    run = rerank(ByLength(), COLLECTION, first).run
    assert [(row.docno, row.rank, row.score) for row in run["1"]] == [
        ("d", 1, 3),
        ("c", 2, 1),
        ("b", 3, 1),
        ("a", 4, 0),
    ]


def test_a_killed_run_goes_on_and_gives_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "PAIRS_PER_SHARD", 3)
    first = first_stage(COLLECTION)
    whole = rerank(ByLength(), COLLECTION, first, shards=tmp_path / "other")
    with pytest.raises(KeyboardInterrupt):
        rerank(ByLength(lives=1), COLLECTION, first, shards=tmp_path / "shards")
    assert len(list((tmp_path / "shards").iterdir())) == 1
    survivor = ByLength()
    again = rerank(survivor, COLLECTION, first, shards=tmp_path / "shards")
    assert again == whole
    assert 99 - survivor.lives == len(list((tmp_path / "shards").iterdir())) - 1, (
        "the finished shard is not scored"
    )


def test_a_shard_of_other_pairs_is_not_taken_up(tmp_path):
    rerank(ByLength(), COLLECTION, first_stage(COLLECTION), shards=tmp_path)
    other = Collection.from_records("tiny", {**DOCUMENTS, "d": "cat sat"}, COLLECTION.queries)
    again = rerank(ByLength(), other, first_stage(other), shards=tmp_path)
    assert again == rerank(ByLength(), other, first_stage(other), shards=tmp_path / "new")


def test_an_identifier_that_cannot_be_written_is_refused_before_scoring():
    odd = Collection.from_records("odd", {"d 1": "cat"}, {"1": "cat"})
    with pytest.raises(UserError, match=r"^odd: 'd 1' cannot stand in a TREC file"):
        rerank(ByLength(lives=0), odd, first_stage(odd))


def test_a_query_without_a_word_is_named_with_its_collection():
    odd = Collection.from_records("odd", {"a": "cat"}, {"1": "\U0001f600"})
    with pytest.raises(UserError, match=r"^odd, query '1': .* has no word to search for"):
        first_stage(odd)


def test_a_ranker_in_a_path_with_blanks_gets_a_tag_that_can_be_written(tmp_path):
    ranker = load(str(save(tmp_path / "my model")))
    run = rerank(ranker, COLLECTION, first_stage(COLLECTION)).run
    assert {row.tag for rows in run.values() for row in rows} == {"my_model"}


def test_a_document_that_the_collection_lacks_is_named():
    with pytest.raises(UserError, match="'zzz'"):
        rerank(ByLength(), COLLECTION, {"1": [Retrieved("1", "zzz", 1, 1.0, "x")]})


def test_a_query_that_the_collection_lacks_is_named():
    with pytest.raises(UserError, match="'9'"):
        rerank(ByLength(), COLLECTION, {"9": [Retrieved("9", "a", 1, 1.0, "x")]})


def test_a_long_document_scores_as_its_best_passage(tmp_path):
    ranker = load(str(save(tmp_path, head="AutoModelForSequenceClassification")), kind="cross-encoder")
    best = BestPassage(ranker)
    words = ("cat dog tree red blue the mat on " * 12).split()
    long, short = " ".join(words), "red cat"
    passages = best.passages("how many", long)
    assert len(passages) > 2
    assert all(
        not sequence.cut for sequence in ranker.pieces.pairs([("how many", passage) for passage in passages])
    )
    assert set(" ".join(passages).split()) == set(words)
    expected = [max(ranker.score([("how many", p) for p in passages])), ranker.score([("how many", short)])[0]]
    np.testing.assert_allclose(best.score([("how many", long), ("how many", short)]), expected, atol=1e-5)
    assert best.scores([("how many", long)]).cut == 0
    assert ranker.scores([("how many", long)]).cut == 1


@pytest.mark.parametrize("kind", ["cross-encoder", "bi-encoder"])
def test_a_document_that_fits_is_its_own_passage_and_no_passage_is_cut(tmp_path, kind):
    head = "AutoModelForSequenceClassification" if kind == "cross-encoder" else "AutoModel"
    settings = {"document_prefix": "the red house "} if kind == "bi-encoder" else {}
    ranker = load(str(save(tmp_path, head=head)), kind=kind, **settings)
    for size in range(1, 60):
        text = " ".join(["cat", "dog", "tree"][i % 3] for i in range(size))
        passages = BestPassage(ranker).passages("how many", text)
        assert (passages == [text]) == (ranker.scores([("how many", text)]).cut == 0)
        assert ranker.scores([("how many", passage) for passage in passages]).cut == 0


def test_passages_overlap_by_half_and_leave_nothing_out(real):
    pieces = real("bi-minilm-l6").pieces
    text = " ".join(f"word{i}" for i in range(300))
    windows = list(pieces.windows(text, 60))
    covered = set()
    for before, after in pairwise(windows):
        assert set(before.split()) & set(after.split()), "neighbours overlap"
    for window in windows:
        assert window in text
        covered |= set(window.split())
    assert covered == set(text.split())
    assert all(len(pieces.texts([window])[0]) <= 62 for window in windows)


def test_shards_are_two_lines_of_json(tmp_path):
    rerank(ByLength(), COLLECTION, first_stage(COLLECTION), shards=tmp_path)
    header, content = map(json.loads, (tmp_path / "00000.shard").read_text().splitlines())
    assert content["cut"] == 1 and len(header["sha256"]) == 64
