"""SemanticBM of several collections: one regression, each collection's part, one split within each."""

from collections import Counter

import jsonschema
import numpy as np
import pytest

from tests.checkpoints import save
from tests.circuits.tiny_search import every_document, tiny_collection
from whyrank.circuits.semantic_bm.api import semantic_bm
from whyrank.circuits.semantic_bm.pool import Pool, open_pool
from whyrank.circuits.semantic_bm.protocol import split_within
from whyrank.circuits.semantic_bm.report import semantic_bm_page
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.circuits.semantic_bm.rivals import Counts
from whyrank.collections.collection import Collection
from whyrank.collections.trec import write_run
from whyrank.core.caller import SILENT
from whyrank.core.errors import UserError
from whyrank.rankers.load import load

HOW = {"heads": "0.3,1.1", "depth": 8, "min_samples": 20}


def collections():
    found = [tiny_collection(queries=15, documents=40, seed=seed) for seed in (0, 1)]
    return [named(one, name) for one, name in zip(found, ("here/first", "second"), strict=True)]


def named(one, name):
    return Collection.from_records(name, dict(one.documents()), one.queries, one.qrels)


def runs(several):
    return [every_document(one, 8) for one in several]


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("tiny"), "bert", "AutoModelForSequenceClassification")))


@pytest.fixture(scope="module")
def done(ranker, tmp_path_factory):
    several, out = collections(), tmp_path_factory.mktemp("runs") / "run"
    return semantic_bm(ranker, several, run=runs(several), out=out, **HOW), out


def test_queries_are_split_within_each_collection(done):
    result, out = done
    assert result.collection == "first + second" and result.queries == 30 and result.samples == 240
    frame = result.test_part()
    per = Counter(qid.split("/")[0] for qid in set(frame["qid"]))
    assert per == {"first": 3, "second": 3} and all("/" in docno for docno in frame["docno"])
    jsonschema.validate(result.to_json(), SemanticBM.schema())
    assert SemanticBM.read(out) == result


def test_a_split_within_strata_takes_a_fifth_of_each():
    qids = np.array([f"{'ab'[i % 2]}{i % 50}" for i in range(400)])
    strata = np.array([i % 2 for i in range(400)])
    test = split_within(qids, strata, np.random.default_rng(0))
    for one in (0, 1):
        assert len(set(qids[test & (strata == one)])) == 5 and len(set(qids[strata == one])) == 25
    assert not set(qids[test]) & set(qids[~test])


def test_each_collections_part_by_the_predictions_of_all(done):
    result, _ = done
    for protocol in ("default", "by_length"):
        every = result.predictions
        test = every[(every["protocol"] == protocol) & (every["split"] == "test")]
        for part in result.by_collection:
            mine = test[test["qid"].str.startswith(part.name + "/")]
            (found,) = [one for one in part.protocols if one.protocol == protocol]
            for name in ("semantic_bm", "bm25", "random_features", "shared_alpha"):
                r = np.corrcoef(mine["cross_encoder"], mine[name])[0, 1]
                assert found.model(name).pearson.value == pytest.approx(r)
                assert found.model(name).pearson.pairs == len(mine)
            within = [
                np.corrcoef(some["cross_encoder"], some["semantic_bm"])[0, 1] for _, some in mine.groupby("qid")
            ]
            assert found.model("semantic_bm").within.mean.value == pytest.approx(np.mean(within))
            assert found.cross_encoder_ndcg is not None
    assert [one.samples for one in result.by_collection] == [120, 120]


def test_one_regression_for_each_query_length(done):
    result, _ = done
    lengths = [group.query_tokens for group in result.by_length.groups]
    assert lengths and result.by_length.split == "query" and result.by_length.sep
    assert all(group.train + group.test > 20 for group in result.by_length.groups)
    pooled = result.by_length.model("semantic_bm").by_group
    assert pooled.median == pytest.approx(np.median(pooled.values))
    text = "".join(semantic_bm_page(result)._parts)
    assert "Appendix G" in text and "88.4%" in text and "Collection by collection" in text


def test_words_are_counted_in_each_collection_by_itself():
    several = collections()
    pool = open_pool(several, runs(several), 8, None, SILENT)
    found = pool.counts(pool.pairs)
    rows = pool.strata(pool.pairs)
    for number, one in enumerate(several):
        alone = open_pool(one, runs([one]), 8, None, SILENT)
        own = Counts.of(alone.pairs, one.documents())
        for made in (lambda c: c.bm25(0.9, 0.4), lambda c: c.tf_idf(), lambda c: c.query_likelihood(100)):
            assert made(found)[rows == number] == pytest.approx(made(own))
        assert alone.pairs[0].qid == "q00" and alone.name == one.name


def test_judgements_are_each_collections_own():
    several = collections()
    pool = open_pool(several, runs(several), 8, None, SILENT)
    for label, one in zip(("first", "second"), several, strict=True):
        for qid, grades in one.qrels.items():
            assert pool.qrels[f"{label}/{qid}"] == {f"{label}/{docno}": grade for docno, grade in grades.items()}
    assert Pool.of(several[0]).qrels is several[0].qrels


def test_of_one_collection_nothing_is_said_apart(ranker):
    (one, _) = collections()
    alone, listed = (semantic_bm(ranker, given, run=runs([one])[0], **HOW) for given in (one, [one]))
    assert alone == listed and alone.by_collection == () and alone.by_length is None
    assert alone.collection == "here/first"
    assert "Collection by collection" not in "".join(semantic_bm_page(alone)._parts)


@pytest.mark.parametrize(
    ("given", "run", "said"),
    [
        (lambda one: [one, one], None, r"here/first is given twice; name each once"),
        (lambda one: [one, named(one, "other")], None, r"other is given twice \(as here/first\)"),
        (lambda one: [], None, "no collection; name at least one"),
        (
            lambda one: [one, tiny_collection(seed=5)],
            "single",
            "run: 1 given for 2 collections; give one for each",
        ),
        (
            lambda one: [one, tiny_collection(queries=4, seed=5)],
            None,
            r"tiny: 4 queries with documents are too few",
        ),
    ],
)
def test_refused_in_one_line(ranker, given, run, said):
    (one, _) = collections()
    with pytest.raises(UserError, match=said) as refused:
        semantic_bm(ranker, given(one), run=runs([one])[0] if run else None, **HOW)
    assert "\n" not in str(refused.value)


def test_two_folders_of_one_name_are_told_apart():
    several = [named(one, "a/same") for one in collections()]
    pool = open_pool(several, runs(several), 8, None, SILENT)
    assert pool.name == "same + same-2"


def test_runs_may_be_files(ranker, tmp_path):
    several = collections()
    files = []
    for i, run in enumerate(runs(several)):
        files.append(tmp_path / f"{i}.trec")
        write_run(files[-1], run)
    pool = open_pool(several, files, 8, None, SILENT)
    assert len(pool.pairs) == 240 and pool.first_stage == "; ".join(map(str, files))
