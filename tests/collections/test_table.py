"""CSV and TSV with a header, and JSON lines with other keys: what is read, what is said, what is refused."""

from __future__ import annotations

import csv
import gzip
import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.collections import open_collection, read_documents, read_queries
from whyrank.collections.collection import Collection
from whyrank.collections.fields import Fields
from whyrank.collections.opening import collection, collection_of
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError

DOCUMENTS = 'id,title,body\n1,Cats,"A red cat, and\nits ""tail"""\n\n,,\n2,,A dog\n'
EXPECTED = [("1", 'Cats A red cat, and\nits "tail"'), ("2", "A dog")]


def file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", ["docs.csv", "docs.CSV", "docs.csv.gz"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_a_csv_is_read_as_spreadsheets_write_it(
    tmp_path: Path, name: str, mark: str, ending: str, separator: str
) -> None:
    header, rest = DOCUMENTS.split("\n", 1)
    text = header.replace(",", separator) + "\n" + rest.replace(",,", separator * 2).replace("1,Cats,", "1;Cats;")
    text = text.replace(";", separator).replace("2,", f"2{separator}")
    raw = (mark + text).replace("\n", ending).encode()
    path = file(tmp_path, name, gzip.compress(raw) if name.endswith("gz") else raw)
    assert list(read_documents(path)) == EXPECTED


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\ufeff\u2028\u2029"))
CELLS = (WORDS | st.sampled_from(["a,b", 'a "b"', "a\tb", "a\nb", '"', ";"])).map(str.strip).filter(bool)
IDS = WORDS.map(str.strip).filter(bool)


@given(st.lists(st.tuples(IDS, CELLS), min_size=1, unique_by=lambda row: row[0]), st.sampled_from(["csv", "tsv"]))
def test_what_python_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], kind: str
) -> None:
    path = tmp_path_factory.mktemp("csv") / f"docs.{kind}"
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, delimiter="," if kind == "csv" else "\t")
        writer.writerows([("docno", "text"), *rows])
    assert list(read_documents(path)) == rows


def test_the_columns_of_a_tsv_are_known_by_its_first_row(tmp_path: Path) -> None:
    path = file(tmp_path, "docs.tsv", 'Title\tDocNo\ttext\nCats\t7\t"a\tcat"\n')
    assert list(read_documents(path)) == [("7", "Cats a\tcat")]
    assert read_queries(file(tmp_path, "queries.tsv", "qid\tquery\n1\tcat\n")) == {"1": "cat"}


@pytest.mark.parametrize("first", ['7\tthe text "of" a passage', '7\t"a quote" first', "7\ttext", "7\tid"])
def test_a_tsv_without_a_header_is_id_and_text_as_they_stand(tmp_path: Path, first: str) -> None:
    path = file(tmp_path, "collection.tsv", f"{first}\n8\tanother\n")
    assert list(read_documents(path)) == [tuple(first.split("\t")), ("8", "another")]


def test_a_named_column_makes_a_header(tmp_path: Path) -> None:
    path = file(tmp_path, "docs.tsv", "schluessel\tinhalt\n7\teine Katze\n")
    assert list(read_documents(path)) == [("schluessel", "inhalt"), ("7", "eine Katze")]
    assert list(read_documents(path, Fields(id="schluessel", text="inhalt"))) == [("7", "eine Katze")]


def test_columns_without_a_name_and_unread_ones_are_passed_over(tmp_path: Path) -> None:
    path = file(tmp_path, "docs.csv", ",id,price,text,\n0,7,3.5,a cat,\n")
    assert list(read_documents(path)) == [("7", "a cat")]


@pytest.mark.parametrize(
    ("name", "content", "where", "what"),
    [
        ("d.csv", "", "", "an empty file"),
        ("d.csv", "\n \n", "", "an empty file"),
        ("d.csv", "id,text\n", "", "no row below its header"),
        ("d.csv", "id,text,id\n1,a,2\n", ":1", "two columns are called 'id'"),
        ("d.csv", "id,n\n1,2\n", ":1", "no column is known to hold the text (the columns are id, n)"),
        ("d.csv", "key,text\n1,a\n", ":1", "no column is known to hold the id (the columns are key, text)"),
        ("d.csv", "1,a cat\n2,a dog\n", ":1", "no column is known to hold the id (the columns are 1, a cat)"),
        ("d.csv", "id,text\n1,a\n2\n", ":3", "2 columns are expected, 1 found"),
        ("d.csv", "id,text\n1,a, b\n", ":2", "2 columns are expected, 3 found"),
        ("d.csv", 'id,text\n1,"a\nb"\n2,a,b\n', ":4", "2 columns are expected, 3 found"),
        ("d.csv", 'id,text\n1,a\n2,"never\nclosed\n', ":3", "a quote that opens in this row is never closed"),
        ("d.csv", 'id,text\n1,"a" cat\n', ":2", "not a row of cells"),
        ("d.tsv", 'id\ttext\n1\t"a" cat\n', ":2", "not a row of cells"),
        ("d.csv", "id,text\n1,a\n2, \n", ":3", "document '2' is empty"),
        ("d.csv", "id,text\n,a\n", ":2", "is not an identifier"),
        ("d.csv", "id,text\n1,a\rb\n", ":2", "not a row of cells"),
        ("d.csv", b"id,text\n1,caf\xe9\n", ":2", "not UTF-8"),
        ("d.csv", "id,text\n1,a\n".encode("utf-16"), ":1", "not UTF-8"),
    ],
)
def test_a_mistake_is_refused_at_its_line(
    tmp_path: Path, name: str, content: str | bytes, where: str, what: str
) -> None:
    path = file(tmp_path, name, content)
    with pytest.raises(UserError) as refused:
        list(read_documents(path))
    assert what in str(refused.value) and refused.value.where == f"{path}{where}"


def test_a_quote_that_is_never_closed_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYRANK_MAX_LINE", "1")
    path = file(tmp_path, "docs.csv.gz", gzip.compress(b'id,text\n1,"' + b"word \n" * 10_000_000))
    tracemalloc.start()
    with pytest.raises(UserError, match=r"csv\.gz:2: a cell of the row that begins here has more than 1 MB"):
        list(read_documents(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


def folder(
    where: Path, documents: str = "key,inhalt\n1,eine Katze\n", queries: str = "id,frage\nq1,Katze\n"
) -> Path:
    file(where, "documents.csv", documents)
    file(where, "queries.csv", queries)
    file(where, "qrels.txt", "q1 0 1 1\n")
    return where


def test_a_folder_of_csv_files_says_what_was_guessed(tmp_path: Path) -> None:
    folder(tmp_path, DOCUMENTS)
    said: list[str] = []
    opened = collection_of(str(tmp_path), Caller(say=said.append))
    assert said[:2] == [
        "documents.csv: id from id, title from title, text from body",
        "queries.csv: id from id, text from frage",
    ]
    assert (list(opened.documents()), opened.queries) == (EXPECTED, {"q1": "Katze"})


def test_fields_are_given_and_a_wrong_one_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    folder(tmp_path)
    assert dict(collection(str(tmp_path), fields=Fields("key", None, "inhalt")).documents()) == {"1": "eine Katze"}
    with pytest.raises(UserError, match=r"documents\.csv:1: no column 'inhallt'; did you mean inhalt\?"):
        collection(str(tmp_path), fields=Fields("key", None, "inhallt"))
    opened = collection(str(tmp_path))  # enough to know its judgements
    assert opened.qrels == {"q1": {"1": 1}}
    with pytest.raises(UserError, match=r"no column is known to hold the id .*key, inhalt.*id_field"):
        list(opened.documents())


def test_queries_whose_columns_cannot_be_told_are_refused(tmp_path: Path) -> None:
    folder(tmp_path, DOCUMENTS, "id,a,b\nq1,x,y\n")
    with pytest.raises(
        UserError, match=r"queries\.csv:1: no column is known to hold the text \(the columns are id, a"
    ):
        collection(str(tmp_path))


@pytest.mark.parametrize("name", ["corpus.jsonl", "documents.jsonl"])
def test_json_lines_have_fields_too(tmp_path: Path, name: str) -> None:
    file(tmp_path, name, json.dumps({"key": 1, "head": "T", "lead": "x", "text": "y"}))
    file(tmp_path, "queries.jsonl", json.dumps({"_id": "q", "text": "x"}))
    opened = collection(str(tmp_path), fields=Fields("key", "head", "lead"))
    assert dict(opened.documents()) == {"1": "T x"}
    assert opened.notes == (f"{name}: id from key, title from head, text from lead",)
    with pytest.raises(UserError, match=rf"{name}:1: no key 'haed'; did you mean head"):
        collection(str(tmp_path), fields=Fields("key", "haed", "lead"))
    with pytest.raises(UserError, match=r":1: no '_id' .*; its keys are key, head, lead, text"):
        list(collection(str(tmp_path)).documents())
    titled = collection(str(tmp_path), fields=Fields("key", text="head"))
    assert dict(titled.documents()) == {"1": "T"}


@pytest.mark.parametrize("name", ["demo", "irds:vaswani"])
def test_fields_of_what_has_its_own_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="no field 'body' can be chosen here"):
        collection(name, fields=Fields(text="body"))


def test_nor_does_mark_up_name_fields(tmp_path: Path) -> None:
    documents = file(tmp_path, "documents.trec", "<DOC><DOCNO>1</DOCNO>cat</DOC>")
    queries = file(tmp_path, "queries.csv", "qid,query\nq1,cat\n")
    with pytest.raises(UserError, match=r"documents\.trec: no field 'body': this file names no fields"):
        collection(str(tmp_path), fields=Fields(text="body"))
    with pytest.raises(UserError, match="this file names no fields"):
        Collection.from_files(documents, queries, fields=Fields(text="body"))
    assert Collection.from_files(documents, queries).notes == ("queries.csv: id from qid, text from query",)


def test_html_is_taken_out_only_when_asked_for(tmp_path: Path) -> None:
    documents = 'id,text\n1,"<p>A <b>cat</b> &amp; a dog</p><script>x()</script>"\n2,a < b & c > d &amp;\n'
    opened = open_collection(folder(tmp_path, documents))
    assert dict(opened.documents())["1"].startswith("<p>")
    stripped = collection(opened, strip_html=True)
    assert dict(stripped.documents()) == {"1": "A cat & a dog", "2": "a < b & c > d &amp;"}
    assert "HTML is taken out" in stripped.notes[-1] and stripped.fingerprint() != opened.fingerprint()
    file(tmp_path, "documents.csv", "id,text\n1,<br>\n")
    with pytest.raises(UserError, match="document '1' holds HTML and no text"):
        list(collection(str(tmp_path), strip_html=True).documents())
