"""In a PyTerrier pipeline: a ranker is a transformer, an explanation a column; PyTerrier itself is the oracle."""

import json
import subprocess
import sys

import jsonschema
import pandas as pd
import pyterrier as pt
import pytest

import whyrank
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.explain.explanation import Explanation
from whyrank.rankers.load import load

COLLECTION = Collection.from_records(
    "t", {"a": "red cat", "b": "blue dog tree", "c": "the dog"}, {"1": "cat", "2": "dog"}
)
BM25 = load("bm25", collection=COLLECTION, k1=0.9, b=0.4)
ROWS = [
    ("2", "dog", "c", "the dog", "kept"), ("1", "red cat", "b", "blue dog tree", "too"),
    ("2", "dog", "a", "red cat", 1), ("1", "red cat", "a", "red cat", None),
]  # fmt: skip
FRAME = pd.DataFrame(ROWS, columns=["qid", "query", "docno", "text", "note"], index=[7, 7, 3, 0])


def candidates() -> pt.Transformer:
    """A first stage that needs no Java."""
    return pt.Transformer.from_df(FRAME.assign(score=0.0, rank=0))


def test_it_composes_with_pyterriers_own_and_ranks_as_pyterrier_does():
    topics = pd.DataFrame([("1", "red cat"), ("2", "dog")], columns=["qid", "query"])
    ranked = (candidates() >> whyrank.transformer(BM25)).transform(topics)
    assert list(zip(ranked["qid"], ranked["docno"], ranked["rank"], strict=True)) == [
        ("1", "a", 0), ("1", "b", 1), ("2", "c", 0), ("2", "a", 1),
    ]  # fmt: skip
    theirs = pt.model.add_ranks(ranked.copy())
    assert list(theirs["rank"]) == list(ranked["rank"]) and ranked["note"].tolist()[0] is None
    assert dict(zip(ranked["docno"][:2], ranked["note"][:2], strict=True)) == {"a": None, "b": "too"}
    pairs = list(zip(ranked["query"], ranked["text"], strict=True))
    assert ranked["score"].tolist() == BM25.score(pairs).tolist()


def test_a_cross_encoder_gives_the_scores_that_pyterriers_own_wrapper_of_a_function_gives(real):
    ranker = real("bi-minilm-l3")
    by_hand = pt.apply.doc_score(lambda row: float(ranker.score([(row["query"], row["text"])])[0]))
    ours, theirs = (
        (candidates() >> one)(FRAME[["qid", "query"]].drop_duplicates()).sort_values(["qid", "rank"])
        for one in (whyrank.transformer(ranker), by_hand)
    )
    assert list(ours["docno"]) == list(theirs["docno"]) and list(ours["rank"]) == list(theirs["rank"])
    assert ours["score"].tolist() == pytest.approx(theirs["score"].tolist(), abs=1e-5)


def test_an_explanation_is_one_more_column_of_the_rows_that_a_cutoff_left():
    pipeline = candidates() >> whyrank.transformer(BM25) % 1 >> whyrank.explainer(BM25)
    ranked = pipeline(FRAME[["qid", "query"]].drop_duplicates())
    assert list(ranked["docno"]) == ["a", "c"] and list(ranked["rank"]) == [0, 0]
    for row in ranked.itertuples():
        named = [{"id": row.docno, "text": row.text}]
        assert row.explanation == whyrank.explain(BM25, row.query, hits=named).in_words()
    assert "'red'" in ranked["explanation"].iloc[0] and "'dog'" in ranked["explanation"].iloc[1]


def test_rows_keep_their_order_their_index_and_other_columns():
    explained = whyrank.explainer(BM25, column="why")(FRAME)
    pd.testing.assert_frame_equal(explained.drop(columns="why"), FRAME)
    assert "why" not in FRAME.columns


def test_an_explanation_is_shown_as_words_json_or_itself():
    objects = whyrank.explainer(BM25, show="object")(FRAME)["explanation"]
    assert [one.docid for one in objects] == list(FRAME["docno"])
    texts = whyrank.explainer(BM25, show="json", remove="delete")(FRAME)["explanation"]
    for text in texts:
        jsonschema.validate(json.loads(text), Explanation.schema())
    assert json.loads(texts.iloc[0])["way"] == "delete" and objects.iloc[0].way == "replace"


@pytest.mark.parametrize("made", [whyrank.transformer, whyrank.explainer])
@pytest.mark.parametrize("name", ["bm25", "bi-minilm-l3"])
def test_an_empty_frame_stays_empty_and_has_the_new_columns(real, made, name):
    empty = made(BM25 if name == "bm25" else real(name))(FRAME.iloc[:0])
    new = {"score", "rank"} if made is whyrank.transformer else {"explanation"}
    assert len(empty) == 0 and set(empty.columns) == {*FRAME.columns, *new}


@pytest.mark.parametrize("made", [whyrank.transformer, whyrank.explainer])
def test_what_is_missing_is_said_in_one_line(made):
    step = made(BM25)
    with pytest.raises(UserError, match=r"lacks text; put pt\.text\.get_text"):
        step(FRAME.drop(columns="text"))
    with pytest.raises(UserError, match="lacks docno, text; give qid, query, docno, text"):
        step(FRAME[["qid", "query"]])
    for nothing in (None, float("nan"), " "):
        broken = FRAME.assign(text=["a text", nothing, "a text", "a text"])
        with pytest.raises(UserError, match="document b of query 1 has no text"):
            step(broken)
    with pytest.raises(UserError, match="query 2 has no text"):
        step(FRAME.assign(query=""))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"show": "html"}, "unknown way 'html' to show"),
        ({"remove": "mask"}, "mask"),
        ({"budget": 3}, "3 scored texts"),
        ({"column": "text"}, "cannot stand in the column 'text'"),
    ],
)
def test_a_wrong_option_is_refused_before_the_pipeline_runs(options, message):
    with pytest.raises(UserError, match=message):
        whyrank.explainer(BM25, **options)


def test_pyterrier_sees_what_goes_in_and_comes_out():
    step = whyrank.transformer("bm25", collection="demo")
    assert pt.inspect.transformer_inputs(step) == [["qid", "query", "docno", "text"]]
    outputs = pt.inspect.transformer_outputs(step, ["qid", "query", "docno", "text"])
    assert outputs == ["qid", "query", "docno", "text", "score", "rank"]
    assert repr(step) == "whyrank.transformer('bm25')"
    assert "whyrank.explainer('bm25')" in repr(step >> whyrank.explainer(BM25))


def test_an_experiment_of_pyterrier_measures_it_without_java():
    qrels = pd.DataFrame([("1", "a", 1), ("2", "c", 1)], columns=["qid", "docno", "label"])
    measured = pt.Experiment(
        [candidates() >> whyrank.transformer(BM25)], FRAME[["qid", "query"]].drop_duplicates(), qrels,
        ["recip_rank"], names=["bm25"],
    )  # fmt: skip
    assert measured["recip_rank"].tolist() == [1.0]
    assert not pt.java.started()


def test_without_pyterrier_it_is_said_how_to_get_it():  # before a model is looked for
    code = "import sys; sys.modules['pyterrier'] = None; import whyrank; whyrank.transformer('bi-minilm-l3')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "UserError: PyTerrier is not installed here; pip install 'whyrank[pyterrier]'" in done.stderr
