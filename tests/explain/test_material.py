"""Where the texts of an explanation come from, and what is refused."""

import json

import pytest

from whyrank.collections.collection import Collection
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.explain.api import explain
from whyrank.rankers.load import load

TEXTS = {"a": "A red cat.", "b": "A blue dog in a tree.", "c": "The dog."}
COLLECTION = Collection.from_records("t", TEXTS, {"q1": "red cat", "q2": "dog"})
BM25 = load("bm25", collection=COLLECTION)
HITS = {"query": "cat", "hits": [{"id": "x", "text": "A cat sat."}, {"id": "y", "text": "No animal."}]}


def told(*arguments, **options):
    """The explanation, and what was said."""
    said = []
    return explain(BM25, *arguments, caller=Caller(say=said.append), **options), said


def test_a_document_is_named_by_id_file_or_text(tmp_path):
    file = tmp_path / "note.txt"
    file.write_text("A cat on a mat.")
    assert explain(BM25, "red cat", "a", collection=COLLECTION).document == TEXTS["a"]
    assert explain(BM25, "q1", "a", collection=COLLECTION).query == "red cat"
    assert explain(BM25, "cat", file).document == "A cat on a mat."
    assert explain(BM25, "cat", str(file)).docid == "note.txt"
    assert explain(BM25, "cat", "A red cat here").docid is None


def test_candidates_are_hits_a_list_or_a_run(tmp_path):
    path = tmp_path / "hits.json"
    path.write_text(json.dumps(HITS))
    found, said = told(hits=path)
    assert (found.query, found.docid) == ("cat", "x")
    assert "hits: id from id, text from text" in said
    assert explain(BM25, "cat", ["A dog.", "A cat."]).document == "A cat.", "the one that the ranker puts first"
    run = tmp_path / "run.trec"
    run.write_text("q2 Q0 b 1 2 t\nq2 Q0 c 2 1 t\n")
    assert explain(BM25, "q2", collection=COLLECTION, run=run).docid == "c"


def test_no_text_is_changed_silently():
    text = "A <b>red</b> cat."
    found, said = told("cat", text)
    assert found.document == text and any("holds 2 HTML tags, which the ranker reads" in one for one in said)
    stripped, said = told("cat", text, strip_html=True)
    assert stripped.document == "A red cat." and any("2 HTML tags were taken out" in one for one in said)
    assert any("taken as the text" in one for one in told("cat", "cat")[1])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("", "A cat."), {}, "the query '' has no word"),
        (("cat",), {}, "there is no document to explain"),
        ((), {}, "there is no query"),
        (("cat", "..."), {}, "has no word"),
        (("cat", "zz"), {"hits": HITS}, "no candidate has the id 'zz'"),
        (("cat", "zz"), {"collection": COLLECTION}, "1 document ('zz') not in the collection"),
        (("cat", "A cat."), {"versus": "A cat."}, "both documents have the same text"),
        (("cat", "A cat."), {"top": 1}, "top is for a document among candidates"),
        (("cat",), {"hits": [{"id": "x", "text": ""}]}, "has no text"),
        (("cat",), {"run": {"q": []}}, "a run has no texts"),
        (("zebra",), {"run": {"q": []}, "collection": COLLECTION}, "the run has no query 'zebra'"),
        (("cat", "A cat."), {"remove": "burn"}, "words cannot be taken away by 'burn'"),
        (("cat", "A cat."), {"budget": 3}, "3 scored texts cannot explain a score"),
    ],
)
def test_bad_input_is_refused_in_one_line(tmp_path, arguments, options, message):
    out = tmp_path / "run"
    with pytest.raises(UserError) as raised:
        explain(BM25, *arguments, out=out, **options)
    assert message in str(raised.value) and "\n" not in str(raised.value)
    assert not out.exists()
