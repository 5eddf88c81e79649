"""How a collection is read, said by options of rank, audit and explain; what was read is printed."""

import json

import pytest

from tests.cli.run import whyrank, whyrank_here
from whyrank.core.errors import UserError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A German collection whose columns have names of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "documents.csv").write_text(
        "key,kopf,body\n1,Katze,Die <b>Katze</b> miaut\n2,,Der Hund bellt\n3,,Viele Katzen und Hunde\n"
    )
    (tmp_path / "set" / "queries.csv").write_text("id,frage\nq1,Katzen\nq2,Hund\n")
    (tmp_path / "set" / "qrels.txt").write_text("q1 0 1 1\nq2 0 2 1\n")
    return tmp_path


def test_rank_reads_the_named_columns_and_tells_of_html(folder):
    done = whyrank(
        "rank", "--ranker", "bm25", "--collection", "set", "--id-field", "key", "--title-field", "kopf",
        "--language", "german", "-o", "told", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "documents.csv: id from key, title from kopf, text from body" in done.stderr
    assert "queries.csv: id from id, text from frage" in done.stderr
    assert done.stderr.count("1 of 3 documents holds HTML tags, which the ranker reads; strip_html") == 1
    assert {line.split()[2] for line in (folder / "told" / "run.trec").read_text().splitlines()} == {"1", "2", "3"}
    evaluated = whyrank("eval", "told", "--qrels", "set", cwd=folder)  # the next command that rank names
    assert evaluated.returncode == 0, evaluated.stderr


def test_rank_strips_html_where_it_is_asked_to(folder, capfd):
    shared = ["rank", "--ranker", "bm25", "--collection", "set", "--id-field", "key", "--first-stage", "all"]
    whyrank_here(*shared, "-o", "told", "--json")
    told = json.loads(capfd.readouterr().out)
    whyrank_here(*shared, "--strip-html", "-o", "stripped", "--json")
    printed = capfd.readouterr()
    assert "HTML is taken out of the documents" in printed.err and "holds HTML tags" not in printed.err
    assert told["pairs"] == json.loads(printed.out)["pairs"] == 6


def test_audit_tells_of_html_once(folder, capfd):
    shared = [
        "audit",
        "--ranker",
        "bm25",
        "--collection",
        "set",
        "--id-field",
        "key",
        "--axiom",
        "TFC1",
        "--language",
        "german",
    ]
    whyrank_here(*shared, "--no-wordnet", "-o", "audit")
    assert capfd.readouterr().err.count("HTML tags, which the ranker reads") == 1
    whyrank_here(*shared, "--no-wordnet", "--strip-html", "-o", "stripped")
    assert "HTML tags, which" not in capfd.readouterr().err


def test_explain_takes_the_fields_of_the_hits_or_else_of_the_collection(folder, capfd):
    (folder / "hits.csv").write_text("nr,zeile\na,Eine Katze schnurrt\nb,Ein Hund knurrt\n")
    shared = ["explain", "--ranker", "bm25", "--query", "Katzen", "--language", "german", "--json"]
    hits = ["--hits", "hits.csv", "--id-field", "nr", "--text-field", "zeile", "--collection", "demo"]
    whyrank_here(*shared, *hits)
    printed = capfd.readouterr()
    assert json.loads(printed.out)["docid"] == "a"
    assert "hits: id from nr, text from zeile" in printed.err
    whyrank_here(*shared, "--collection", "set", "--id-field", "key", "--doc", "1")
    assert json.loads(capfd.readouterr().out)["document"] == "Die <b>Katze</b> miaut"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["rank", "--collection", "set", "-o", "run"], r"are key, kopf, body\); name it as id_field"),
        (["rank", "--collection", "set", "--text-field", "bdy", "-o", "run"], r"no column 'bdy'; did you mean"),
        (["rank", "--collection", "demo", "--language", "elvish", "-o", "run"], "the language 'elvish'"),
        (["rank", "--collection", "demo", "--first-stage", "all", "--max-pairs", "9", "-o", "run"],
         "26 queries x 108 documents are 2808 pairs"),
        (["audit", "--collection", "demo", "--id-field", "x", "-o", "run"], "no field 'x' can be chosen here"),
        (["explain", "--query", "a", "--doc", "b c", "--language", "german"], "a language is for a collection"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_and_writes_nothing(folder, line, says):
    with pytest.raises(UserError, match=says):
        whyrank_here(line[0], "--ranker", "bm25", *line[1:])
    assert not (folder / "run").exists()
