"""Hits as search engines return them: the forms, the fields that are guessed, and what is refused."""

import json

import pytest

from whyrank.collections.fields import Fields
from whyrank.collections.hits import hits_of, read_hits
from whyrank.core.errors import UserError

ROWS = [{"title": "Cats", "body": "A red cat."}, {"title": None, "body": "A dog."}]
FORMS = {
    "elasticsearch": {
        "took": 3,
        "hits": {"hits": [{"_id": str(i), "_score": 2.5 - i, "_source": row} for i, row in enumerate(ROWS)]},
    },
    "vespa": {
        "root": {"children": [{"id": str(i), "relevance": 2.5 - i, "fields": r} for i, r in enumerate(ROWS)]}
    },
    "solr": {"response": {"docs": [{"id": str(i), "score": 2.5 - i, **row} for i, row in enumerate(ROWS)]}},
    "list": [{"id": i, "score": 2.5 - i, **row} for i, row in enumerate(ROWS)],
    "wrapped": {
        "query": "cat",
        "hits": [{"docid": str(i), "score": 2.5 - i, **row} for i, row in enumerate(ROWS)],
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_read(form, tmp_path):
    (tmp_path / "hits.json").write_text(json.dumps(FORMS[form]))
    found = read_hits(tmp_path / "hits.json")
    assert [(hit.docid, hit.text, hit.score) for hit in found.documents] == [
        ("0", "Cats A red cat.", 2.5),
        ("1", "A dog.", 1.5),
    ]
    assert found.query == ("cat" if form == "wrapped" else None)
    assert str(found.fields).endswith("title from title, text from body")


def test_texts_alone_are_numbered():
    assert [hit.docid for hit in hits_of(["a cat", "a dog"]).documents] == ["0", "1"]


def test_fields_are_as_given_and_the_longest_text_is_guessed_last():
    rows = [{"key": "x", "kind": "news item", "story": "a long story of a cat and a dog", "lead": ["one", "two"]}]
    assert str(hits_of(rows).fields) == "text from story"
    found = hits_of(rows, Fields(id="key", title="kind", text="lead"))
    assert (found.documents[0].docid, found.documents[0].text) == ("x", "news item one two")


def test_a_field_with_several_texts_is_guessed_as_solr_returns_them():
    rows = [{"id": "1", "title_t": ["Cats"], "body_txt": ["A red cat sat.", "It slept."], "n": [3]}]
    found = hits_of({"response": {"docs": rows}})
    assert str(found.fields) == "id from id, text from body_txt"
    assert found.documents[0].text == "A red cat sat. It slept."


@pytest.mark.parametrize(
    ("value", "fields", "says"),
    [
        ([], None, "no hits"),
        ({"took": 1}, None, "no list of hits here (its keys are took)"),
        (3, None, "no list of hits here (a int)"),
        ([{"id": "1"}], None, "no field of the hits holds a text (they have id)"),
        ([{"id": "1", "text": " "}], None, "hit 0 (1) has no text"),
        ([{"id": "1", "text": {"a": 1}}], None, "field 'text' holds no text"),
        ([{"id": "1", "text": "a"}, {"id": "1", "text": "b"}], None, "two hits have the id '1'"),
        ([{"id": "1", "text": "a"}], Fields(text="txet"), "no hit has a field 'txet'; did you mean text?"),
        (["a", {"text": "b"}], None, "hit 0 is a str"),
    ],
)
def test_what_cannot_be_read_is_refused(value, fields, says):
    with pytest.raises(UserError) as error:
        hits_of(value, fields)
    assert says in str(error.value)


def test_the_file_is_named(tmp_path):
    (tmp_path / "hits.json").write_text("[]")
    with pytest.raises(UserError, match=r"hits\.json: no hits"):
        read_hits(tmp_path / "hits.json")


TABLE = 'query,docno,score,title,text\ncat,a,2.5,Cats,"A red, cat"\ncat,b,1,,A dog\n'
ROW_FILES = {
    "hits.csv": TABLE,
    "hits.CSV": TABLE,
    "hits.tsv": TABLE.replace('"A red, cat"', "A red; cat").replace(",", "\t").replace(";", ","),
    "hits.jsonl": "\n".join(
        json.dumps({"query": "cat", "docno": name, "score": score, "title": title, "text": text})
        for name, score, title, text in [("a", 2.5, "Cats", "A red, cat"), ("b", 1, None, "A dog")]
    ),
}


@pytest.mark.parametrize("name", ROW_FILES)
def test_a_file_with_a_hit_a_row_is_read(name, tmp_path):
    (tmp_path / name).write_text(ROW_FILES[name])
    found = read_hits(tmp_path / name)
    assert [(hit.docid, hit.text, hit.score) for hit in found.documents] == [
        ("a", "Cats A red, cat", 2.5),
        ("b", "A dog", 1.0),
    ]
    assert (found.query, str(found.fields)) == ("cat", "id from docno, title from title, text from text")


def test_id_and_text_are_enough_and_so_are_texts(tmp_path):
    (tmp_path / "hits.tsv").write_text("a\tA cat\nb\tA dog\n")
    assert [(hit.docid, hit.text) for hit in read_hits(tmp_path / "hits.tsv").documents] == [
        ("a", "A cat"),
        ("b", "A dog"),
    ]
    (tmp_path / "hits.csv").write_text("text\nA cat\nA dog\n")
    assert [hit.docid for hit in read_hits(tmp_path / "hits.csv").documents] == ["0", "1"]


@pytest.mark.parametrize(
    ("name", "content", "fields", "says"),
    [
        ("hits.csv", "", None, "hits.csv: an empty file"),
        ("hits.csv", "id,text\n", None, "hits.csv: an empty file: no row below its header"),
        ("hits.csv", "id,text\n1\n", None, "hits.csv:2: 2 columns are expected, 1 found"),
        ("hits.csv", "id,text,text\n1,a,b\n", None, "hits.csv:1: two columns are called 'text'"),
        ("hits.csv", "id,n\n1,2\n", None, "no field of the hits holds a text (they have id, n)"),
        (
            "hits.csv",
            "id,text\n1,a\n",
            Fields(text="txet"),
            "hits.csv: no hit has a field 'txet'; did you mean text?",
        ),
        ("hits.csv", "query,text\na,x\nb,y\n", None, "hits.csv: the hits of 2 queries, such as 'a' and 'b'"),
        ("hits.csv", "id,text\n1,a\n1,b\n", None, "two hits have the id '1'"),
        ("hits.jsonl", '{"id": "1"\n', None, "hits.jsonl:1: not JSON"),
        ("hits.jsonl", "\n", None, "hits.jsonl: an empty file"),
        ("hits.csv", None, None, "hits.csv: no such file"),
    ],
)
def test_rows_that_cannot_be_read_are_refused(name, content, fields, says, tmp_path):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as error:
        read_hits(tmp_path / name, fields)
    assert says in str(error.value)
