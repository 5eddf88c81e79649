"""Every way to name a collection, and what is said of an unknown one."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from tests.cli.run import one_line, whyrank
from whyrank.collections import available, fetch, open_collection, trec_rag
from whyrank.core.errors import UserError
from whyrank.core.packages import Package


def json_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    json_lines(
        tmp_path / "set" / "corpus.jsonl",
        {"_id": "d1", "title": "A", "text": "b"},
        {"_id": "d2", "text": "c"},
    )
    json_lines(tmp_path / "set" / "queries.jsonl", *({"_id": f"q{i}", "text": "x"} for i in range(3)))
    (tmp_path / "set" / "qrels").mkdir()
    (tmp_path / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td1\t1\n")
    (tmp_path / "set" / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td2\t2\n")
    return tmp_path / "set"


def test_a_beir_folder_takes_the_test_split_and_leaves_the_others_queries_out(beir: Path) -> None:
    collection = open_collection(beir)
    assert collection.name == "set"
    assert dict(collection.documents()) == {"d1": "A b", "d2": "c"}
    assert list(collection.queries) == ["q0", "q2"]
    assert collection.qrels == {"q0": {"d1": 1}}


def test_a_split_is_named_after_a_hash_sign(beir: Path) -> None:
    assert open_collection(f"{beir}#train").qrels == {"q1": {"d2": 2}}
    with pytest.raises(UserError, match=r"no judgements 'tset'.*did you mean test"):
        open_collection(f"{beir}#tset")


def test_a_beir_folder_may_be_packed_and_without_judgements(beir: Path) -> None:
    for path in [*beir.glob("*.jsonl"), *beir.glob("qrels/*")]:
        if path.suffix == ".jsonl":
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    collection = open_collection(beir)
    assert (len(collection.queries), collection.qrels) == (3, {})


def test_a_folder_in_trecs_formats_is_found_by_the_names_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "docs.trec").write_text("<DOC><DOCNO>d1</DOCNO>text</DOC>")
    (tmp_path / "topics.txt").write_text("<top><num>1<title>query</top>")
    (tmp_path / "qrels.txt").write_text("1 0 d1 1\n")
    (tmp_path / "run.txt").write_text("1 Q0 d1 1 2.5 t\n")
    (tmp_path / "documents.md").write_text("not a collection")
    collection = open_collection(tmp_path)
    assert dict(collection.documents()) == {"d1": "text"}
    assert collection.queries == {"1": "query"}
    assert collection.qrels == {"1": {"d1": 1}}
    assert collection.first_stage == {"1": [("1", "d1", 1, 2.5, "t")]}


def test_a_folder_in_ms_marcos_format(tmp_path: Path) -> None:
    (tmp_path / "collection.tsv").write_text("0\tpassage\n")
    (tmp_path / "queries.dev.tsv").write_text("1\tquery\n")
    (tmp_path / "qrels.dev.tsv").write_text("1\t0\t0\t1\n")
    (tmp_path / "qrels.train.tsv").write_text("2\t0\t0\t1\n")
    assert open_collection(tmp_path).qrels == {"1": {"0": 1}}


def test_a_folder_without_documents_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no documents in this folder; looked for documents\.\*, docs\.\*"):
        open_collection(tmp_path)


def test_two_files_that_could_be_meant_are_refused(tmp_path: Path) -> None:
    for name in ("docs.tsv", "corpus.tsv", "queries.tsv"):
        (tmp_path / name).write_text("1\tx\n")
    with pytest.raises(UserError, match=r"several files could be meant: corpus\.tsv, docs\.tsv"):
        open_collection(tmp_path)


def passage(docid: str, text: str = "text") -> dict[str, str]:
    return {"docid": docid, "title": "T", "text": text}


def test_a_tevatron_file_is_a_collection_where_passages_may_recur(tmp_path: Path) -> None:
    first = {"positive_passages": [passage("a")], "negative_passages": [passage("b")]}
    second = {"positive_passages": [passage("b")], "negative_passages": [passage("a"), passage("c")]}
    rows = [{"query_id": "1", "query": "one", **first}, {"query_id": "2", "query": "two", **second}]
    collection = open_collection(json_lines(tmp_path / "train.jsonl", *rows))
    assert [d.docno for d in collection.documents()] == ["a", "b", "c"]
    assert collection.texts(["c"]) == {"c": "T text"}
    assert collection.queries == {"1": "one", "2": "two"}
    assert collection.qrels == {"1": {"a": 1, "b": 0}, "2": {"b": 1, "a": 0, "c": 0}}


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        (
            [{"positive_passages": [passage("a", "x")]}, {"positive_passages": [passage("a", "y")]}],
            "another text",
        ),
        ([{"positive_passages": [passage("a"), passage("a")]}], "judges document 'a' twice"),
        ([{"positive_passages": [{"docid": "a"}]}], "no 'text'"),
        ([{"positive_passages": "a"}], "must be a list of passages"),
        ([{"positive_passages": []}, {"negative_passages": []}], "no 'positive_passages'"),
        ([{"positive_passages": [], "query": " "}], "query '0' is empty"),
    ],
)
def test_a_mistake_in_a_tevatron_file_is_refused(tmp_path: Path, rows: list[dict[str, Any]], what: str) -> None:
    numbered = [{"query_id": str(i), "query": "q", **row} for i, row in enumerate(rows)]
    path = json_lines(tmp_path / "train.jsonl", *numbered)
    with pytest.raises(UserError, match=what) as caught:
        list(open_collection(path).documents())
    assert caught.value.where == f"{path}:{len(rows)}"


def test_json_lines_that_are_no_collection_by_themselves_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a collection by itself"):
        open_collection(json_lines(tmp_path / "corpus.jsonl", {"_id": "1", "text": "x"}))


def test_the_demo_is_built_in() -> None:
    described = open_collection("demo").describe()
    assert described["name"] == "demo"
    assert min(described["documents"], described["queries"], described["judgements"]) > 0


@pytest.mark.parametrize("name", ["dmeo", "trec-rag-2024/umbrella"])
def test_an_unknown_name_is_told_the_nearest(name: str) -> None:
    with pytest.raises(UserError, match=r"did you mean (demo|trec-rag-2024/umbrela)"):
        open_collection(name)


@pytest.mark.parametrize("name", ["./nowhere", "/no/where", "zzzz", "data/none.jsonl"])
def test_a_path_that_is_not_there_is_refused_as_one(name: str) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        open_collection(name)


@pytest.mark.parametrize("name", ["irds:vaswani", "msmarco-passage/dev"])
def test_ir_datasets_is_an_extra(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(UserError, match=r"pip install whyrank\[datasets\]"):
        open_collection(name)


def test_an_ir_datasets_id_is_opened_through_the_real_library(tmp_path: Path) -> None:
    import ir_datasets
    from ir_datasets.formats import TrecQrels, TrecScoredDocs, TsvDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    def local(name: str, content: str) -> LocalDownload:
        (tmp_path / name).write_text(content)
        return LocalDownload(tmp_path / name)

    dataset = ir_datasets.Dataset(
        TsvDocs(local("docs", "d1\tred cat\nd2\tblue dog\n"), lang="en"),
        TsvQueries(local("queries", "q1\tcat\n"), lang="en"),
        TrecQrels(local("qrels", "q1 0 d1 0\nq1 1 d1 2\nq1 2 d1 1\n"), {0: "not", 2: "relevant"}),
        TrecScoredDocs(local("run", "q1 Q0 d1 1 1.0 x\nq1 Q0 d2 2 3.0 x\n")),
    )
    if "known/set" not in ir_datasets.registry:
        ir_datasets.registry.register("known/set", dataset)
    collection = open_collection("known/set")
    assert dict(collection.documents()) == {"d1": "red cat", "d2": "blue dog"}
    assert (collection.queries, collection.qrels) == ({"q1": "cat"}, {"q1": {"d1": 2}})
    assert [r[1:4] for r in (collection.first_stage or {})["q1"]] == [("d2", 1, 3.0), ("d1", 2, 1.0)]
    sent = cloudpickle.loads(cloudpickle.dumps(collection))
    assert list(sent.documents()) == list(collection.documents()), "workers of a training are sent it"
    with pytest.raises(UserError, match="ir_datasets has no 'known/sat'; did you mean known/set"):
        open_collection("irds:known/sat")


def test_the_real_trec_rag_has_its_topics_and_segments() -> None:
    try:
        collection = fetch("trec-rag-2024")
    except UserError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"trec-rag-2024 cannot be had here: {error}")
    described = collection.describe()
    assert (described["documents"], described["queries"], described["judged_queries"]) == (6011, 301, 86)
    assert len(fetch("trec-rag-2024/umbrela").qrels) == 301


def a_package(folder: Path) -> Package:
    """A stand-in for ir_axioms' source package, in the cache's folder for packages fetched by hand."""
    topics = [
        {"topic": "t1", "query": "one", "references_ids": ["b", "a"], "references_texts": ["B b", "A a"]},
        {"topic": "t2", "query": "two", "references_ids": ["a"], "references_texts": ["A a"]},
    ]
    contents = {
        trec_rag.PASSAGES: gzip.compress("\n".join(map(json.dumps, topics)).encode()),
        trec_rag.JUDGES["nist"]: b"t1 0 a 3\nt1 0 pooled 1\nt9 0 a 1\n",
        trec_rag.JUDGES["umbrela"]: b"t1 Q0 a 1\nt2 Q0 a 2\n",
    }
    path = folder / "packages" / "ir_axioms-1.2.5.tar.gz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return Package("ir_axioms", "1.2.5", hashlib.sha256(path.read_bytes()).hexdigest(), sdist=True)


def test_trec_rag_is_unpacked_once_and_judged_by_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYRANK_CACHE", str(tmp_path))
    monkeypatch.setattr(trec_rag, "PACKAGE", a_package(tmp_path))
    assert [row.here for row in available()] == ["yes", "no", "no"]
    nist = fetch("trec-rag-2024")
    assert [row.here for row in available()] == ["yes"] * 3
    assert dict(nist.documents()) == {"b": "B b", "a": "A a"}
    assert nist.queries == {"t1": "one", "t2": "two"}
    assert nist.qrels == {"t1": {"a": 3, "pooled": 1}}
    assert [r[1:4] for r in (nist.first_stage or {})["t1"]] == [("b", 1, 2.0), ("a", 2, 1.0)]
    (tmp_path / "packages" / "ir_axioms-1.2.5.tar.gz").unlink()
    umbrela = open_collection("trec-rag-2024/umbrela")
    assert (umbrela.name, umbrela.qrels) == ("trec-rag-2024/umbrela", {"t1": {"a": 1}, "t2": {"a": 2}})
    assert sorted(p.name for p in trec_rag.cached().path.iterdir()) == [
        ".checksums.json",
        "corpus.jsonl",
        "qrels",
        "queries.jsonl",
        "run.trec",
    ]


def test_only_built_in_collections_are_fetched() -> None:
    with pytest.raises(UserError, match="no built-in collection 'trec-rag'; did you mean trec-rag-2024"):
        fetch("trec-rag")


@pytest.mark.parametrize("name", ["documents.md", "docs.csv.zip", "corpus.parquet", "collection.xlsx"])
def test_a_file_that_is_not_read_because_of_its_ending_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id,text\n1,cat\n")
    (tmp_path / "queries.tsv").write_text("1\tcat\n")
    with pytest.raises(UserError) as refused:
        open_collection(tmp_path)
    assert f"no documents in this folder: {name} is not read, because of the ending" in str(refused.value)
    assert (
        ".csv, .json" in str(refused.value)
        and ".tsv" in str(refused.value)
        and "perhaps .gz" in str(refused.value)
    )


@pytest.mark.parametrize("name", ["qrels.csv", "qrels/test.csv", "qrels/test.parquet"])
@pytest.mark.parametrize("layout", ["beir", "plain"])
def test_nor_are_judgements_passed_over_because_of_their_ending(tmp_path: Path, name: str, layout: str) -> None:
    if layout == "beir":
        json_lines(tmp_path / "corpus.jsonl", {"_id": "d1", "text": "cat"})
        json_lines(tmp_path / "queries.jsonl", {"_id": "q1", "text": "cat"})
    else:
        (tmp_path / "docs.tsv").write_text("d1\tcat\n")
        (tmp_path / "queries.tsv").write_text("q1\tcat\n")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("q1,d1,1\n")
    with pytest.raises(UserError, match=f"no judgements in this folder: {name} is not read"):
        open_collection(tmp_path)
    (tmp_path / name).rename((tmp_path / name).with_suffix(".txt"))
    with pytest.raises(UserError, match=r"4 columns are expected, 1 found"):
        open_collection(tmp_path)
    (tmp_path / name).with_suffix(".txt").write_text("q1 0 d1 1\n")
    assert open_collection(tmp_path).qrels == {"q1": {"d1": 1}}


def test_a_csv_given_as_a_collection_is_told_what_is_read(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("id,text\n1,cat\n")
    with pytest.raises(UserError, match=r"docs.csv: a table is not a collection by itself; .* documents.csv"):
        open_collection(tmp_path / "docs.csv")
    (tmp_path / "docs.txt").write_text("id,text\n1,cat\n")
    with pytest.raises(UserError, match=r"docs.txt:1: not JSON .*one object \{...\} per line; no CSV"):
        open_collection(tmp_path / "docs.txt")
    (tmp_path / "docs.txt").unlink()
    (tmp_path / "docs.tsv").write_text("id,text\n1,cat\n")
    (tmp_path / "queries.tsv").write_text("1\tcat\n")
    (tmp_path / "docs.csv").unlink()
    with pytest.raises(UserError, match=r"docs.tsv:1: cannot tell the format .* or id<TAB>text"):
        open_collection(tmp_path)


@pytest.mark.parametrize("name", ["vaswani", "irds:vaswani"])
def test_without_a_network_ir_datasets_is_one_line(tmp_path: Path, name: str) -> None:
    """In a process of its own: no network, as far as the real library can tell."""
    nowhere = "http://127.0.0.1:9"
    done = whyrank(
        "rank", "--ranker", "bm25", "--collection", name, "-o", tmp_path / "run",
        IR_DATASETS_HOME=str(tmp_path / "home"), HTTP_PROXY=nowhere, HTTPS_PROXY=nowhere, http_proxy=nowhere,
        https_proxy=nowhere, NO_PROXY="", no_proxy="",
    )  # fmt: skip
    assert "ir_datasets could not fetch or read 'vaswani'" in one_line(done)
    assert "it needs the network the first time" in one_line(done)
    assert len(done.stderr.splitlines()) < 6, done.stderr
    assert not (tmp_path / "run").exists()


def test_an_ir_datasets_id_needs_no_mark_unless_something_here_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ir_datasets

    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs.tsv").write_text("d1\tfirst text\n")
    (tmp_path / "queries.tsv").write_text("q1\tquery\n")
    source = ir_datasets.util.LocalDownload
    if "plainset" not in set(ir_datasets.registry):
        ir_datasets.registry.register("plainset", ir_datasets.Dataset(
            ir_datasets.formats.TsvDocs(source(tmp_path / "docs.tsv")),
            ir_datasets.formats.TsvQueries(source(tmp_path / "queries.tsv")),
        ))  # fmt: skip
    assert open_collection("plainset").queries == open_collection("irds:plainset").queries == {"q1": "query"}
    (tmp_path / "plainset").mkdir()
    (tmp_path / "plainset" / "docs.tsv").write_text("d1\there\n")
    (tmp_path / "plainset" / "queries.tsv").write_text("q1\tother\n")
    assert open_collection("plainset").queries == {"q1": "other"}
    assert open_collection("irds:plainset").queries == {"q1": "query"}
    with pytest.raises(
        UserError, match=r"no collection 'nowhere'.*or an ir_datasets id \(vaswani, or irds:vaswani"
    ):
        open_collection("nowhere")
