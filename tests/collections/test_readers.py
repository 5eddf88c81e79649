"""Each format in, and each mistake in it refused at its line."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from whyrank.collections import read_documents, read_qrels, read_queries, read_run
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError

SGML = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>Ships &amp; ports</HEADLINE>
<BYLINE>By no one</BYLINE>
<TEXT>
A <b>wing</b> in a
slipstream.
</TEXT>
</DOC><doc><docno>2</docno>No text tag &lt; here</doc>
"""
CLASSIC = """<top>
<num> Number: 301
<title> International Organized Crime
<desc> Description:
Identify organizations.
</top>
<top><num>302</num><title>Topic: Poliomyelitis</title></top>
"""
XML = """<?xml version="1.0"?>
<topics>
 <topic number="1" type="x"><query>obama family tree</query><description>d</description></topic>
 <topic number='2'><title>french lick</title></topic>
 <topic number="3">a patient with
 a cough</topic>
</topics>
"""


def file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_trec_documents_lose_their_tags_and_keep_headline_and_text(tmp_path: Path) -> None:
    assert list(read_documents(file(tmp_path, "docs", SGML))) == [
        ("FT911-1", "Ships & ports A wing in a slipstream."),
        ("2", "No text tag < here"),
    ]


def test_classic_topics_are_their_titles(tmp_path: Path) -> None:
    expected = {"301": "International Organized Crime", "302": "Poliomyelitis"}
    assert read_queries(file(tmp_path, "topics", CLASSIC)) == expected


def test_xml_topics_are_their_query_or_title_or_text(tmp_path: Path) -> None:
    expected = {"1": "obama family tree", "2": "french lick", "3": "a patient with a cough"}
    assert read_queries(file(tmp_path, "topics.xml", XML)) == expected


def test_tab_separated_texts(tmp_path: Path) -> None:
    path = file(tmp_path, "collection.tsv", "7\tfirst text\r\n\n8\tsecond\n")
    assert list(read_documents(path)) == [("7", "first text"), ("8", "second")]
    assert read_queries(path) == {"7": "first text", "8": "second"}


def test_json_lines_join_title_and_text_and_know_other_names(tmp_path: Path) -> None:
    lines = [{"_id": 1, "title": "T", "text": "x"}, {"docno": "2", "title": None, "contents": "y"}]
    path = file(tmp_path, "corpus.jsonl", "\n".join(map(json.dumps, lines)))
    assert list(read_documents(path)) == [("1", "T x"), ("2", "y")]


def test_qrels_in_four_columns_and_in_beirs_three(tmp_path: Path) -> None:
    trec = file(tmp_path, "qrels.txt", "q1 0 d1 2\nq1 Q0 d2 -1\nq2\t0\td1\t0\n")
    beir = file(tmp_path, "test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\nq2\td1\t0\n")
    assert read_qrels(trec) == read_qrels(beir) == {"q1": {"d1": 2, "d2": -1}, "q2": {"d1": 0}}


def test_a_run_is_read_in_the_order_of_its_ranks(tmp_path: Path) -> None:
    path = file(tmp_path, "run", "q1 Q0 b 2 0.5 t\nq1 Q0 a 1 1e1 t\n")
    assert read_run(path) == {"q1": [("q1", "a", 1, 10.0, "t"), ("q1", "b", 2, 0.5, "t")]}


def test_gzip_is_read_whatever_the_name(tmp_path: Path) -> None:
    assert read_queries(file(tmp_path, "queries.tsv", gzip.compress(b"1\tone\n"))) == {"1": "one"}


def texts_of(path: Path) -> list[Any]:
    return list(read_documents(path))


@pytest.mark.parametrize(
    ("read", "content", "where", "what"),
    [
        (texts_of, "", "", "an empty file"),
        (texts_of, "\n \n", "", "an empty file"),
        (texts_of, "1\tok\n2\t \n", ":2", "document '2' is empty"),
        (texts_of, '{"_id": "1", "title": " ", "text": ""}', ":1", "document '1' is empty"),
        (texts_of, '{"_id": "1", "text": "x"}\n{"_id": "2"}', ":2", "no 'text'"),
        (texts_of, '{"text": "x"}', ":1", "no '_id'"),
        (texts_of, '{"_id": null, "text": "x"}', ":1", "None is not an identifier"),
        (texts_of, '{"_id": "1", "text": 5}', ":1", "the text must be a string"),
        (texts_of, '{"_id": "1"', ":1", "not JSON"),
        (texts_of, "1\tok\n2 no tab", ":2", "2 columns are expected, 1 column found"),
        (texts_of, "1\ta\tb", ":1", "2 columns are expected, 3 columns found"),
        (texts_of, "\tno id", ":1", "not an identifier"),
        (texts_of, "plain words", ":1", "cannot tell the format"),
        (texts_of, b"1\tok\n2\t\xe9", ":2", "not UTF-8"),
        (texts_of, gzip.compress(b"1\tone\n" * 99, mtime=0)[:-12], "", "damaged gzip"),
        (texts_of, "<DOC>\nno number</DOC>", ":1", "no <DOCNO>"),
        (texts_of, "<DOC><DOCNO>1</DOCNO>\nx", ":1", "never closed"),
        (texts_of, "<DOC>\n<DOC>", ":1", "does not follow"),
        (texts_of, "<a>\n</a>", "", "no <DOC>"),
        (texts_of, "<DOC><DOCNO>1</DOCNO> <b></b> </DOC>", ":1", "document '1' is empty"),
        (read_queries, "1\tone\n1\ttwo", ":2", "query '1' appears twice"),
        (read_queries, "1\tone\n2\t", ":2", "query '2' is empty"),
        (read_queries, "<top><title>x</top>", ":1", "no number"),
        (read_queries, "<top><num>1<title> \n</top>", ":1", "query '1' is empty"),
        (read_qrels, "q 0 d 1\nq 0 d 1", ":2", "judges document 'd' twice"),
        (read_qrels, "q 0 d", ":1", "4 columns are expected, 3 found"),
        (read_qrels, "q 0 d high", ":1", "the grade 'high' is not a whole number"),
        (read_qrels, "query-id\tcorpus-id\tscore\n", "", "no judgement"),
        (read_qrels, "query-id\tcorpus-id\tscore\nq\td\t1.5", ":2", "not a whole number"),
        (read_run, "q Q0 d 1 2.0 t\nq Q0 d 2 1.0 t", ":2", "retrieves document 'd' twice"),
        (read_run, "q Q0 d 1 2.0", ":1", "6 columns are expected, 5 found"),
        (read_run, "q Q0 d 1 nan t", ":1", "the score 'nan' is not a finite number"),
        (read_run, "q Q0 d 1 x t", ":1", "the score 'x' is not a finite number"),
        (read_run, "q Q0 d first 1 t", ":1", "the rank 'first' is not a whole number"),
        (read_run, "", "", "an empty file"),
    ],
)
def test_a_mistake_is_refused_at_its_line(
    tmp_path: Path, read: Callable[[Path], object], content: str | bytes, where: str, what: str
) -> None:
    path = file(tmp_path, "input", content)
    with pytest.raises(UserError) as caught:
        read(path)
    assert what in str(caught.value)
    assert caught.value.where == f"{path}{where}"


def test_a_missing_file_is_refused_before_the_first_pass(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Collection.from_files(tmp_path / "docs.tsv", file(tmp_path, "q.tsv", "1\tone"))


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "markup", "tsv.gz"])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    line = {
        "tsv": "{0}\t{1}\n",
        "tsv.gz": "{0}\t{1}\n",
        "csv": '{0},"{1}"\n',
        "jsonl": '{{"_id": "{0}", "text": "{1}"}}\n',
        "markup": "<DOC>\n<DOCNO>{0}</DOCNO>\n<TEXT>{1}</TEXT>\n</DOC>\n",
    }[kind]
    content = "".join(line.format(i, "word " * 80) for i in range(10_000)).encode()
    content = b"id,text\n" + content if kind == "csv" else content
    path = file(tmp_path, f"docs.{kind}", gzip.compress(content, 1) if kind.endswith("gz") else content)
    tracemalloc.start()
    count = sum(1 for _ in read_documents(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 10_000
    assert peak < 500_000 < len(content)
