"""Hits as search engines return them: the forms, the fields that are guessed, and what is refused."""

import json

import pytest

from whyrank.collections.hits import Fields, hits_of, read_hits
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
