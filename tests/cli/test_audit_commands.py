"""`whyrank pairs` and `whyrank audit` as a user meets them."""

import json
import re
from html.parser import HTMLParser

import jsonschema
import pandas as pd
import pytest

from tests.cli.run import one_line, whyrank
from whyrank.audit.results import Audit


def test_pairs_are_written_with_their_drops_and_the_same_seed_gives_the_same_bytes(tmp_path, real):
    real("bi-minilm-l6")
    for name in ("1.jsonl", "2.jsonl"):
        arguments = [
            "--axiom",
            "TFC1:replace",
            "--collection",
            "demo",
            "--ranker",
            "bi-minilm-l6",
            "--documents",
            "5",
        ]
        done = whyrank("pairs", *arguments, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith("making pairs")
        assert "whyrank audit" in done.stderr
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    rows = [json.loads(line) for line in (tmp_path / "1.jsonl").read_text().splitlines()]
    needed = {"id", "query", "baseline", "perturbed", "axiom", "variant", "qid", "docid", "term", "where"}
    assert all(needed | {"rank", "tf", "filler", "slot", "prefer", "aligned"} <= set(row) for row in rows)
    drops = json.loads((tmp_path / "1.dropped.json").read_text())
    assert drops["pairs"] == 5
    assert drops["dropped"]["TFC1:replace"]["the term is not in the text"] > 0


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    arguments = [
        "--ranker",
        "bm25",
        "--ranker",
        "bi-minilm-l3",
        "--collection",
        "demo",
        "--documents",
        "12",
        "-o",
        folder / "run",
    ]
    return (
        folder / "run",
        arguments,
        whyrank("audit", *arguments, "--axiom", "TFC1:*,TFC2:*,STMC2,LNC1", "--no-wordnet"),
    )


def test_audit_leaves_a_run_folder_and_a_table(audited):
    folder, _, done = audited
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("auditing bm25, bi-minilm-l3")
    assert "TFC1:append" in done.stdout
    assert "100% / 0%" in done.stdout
    names = {path.name for path in folder.iterdir()}
    assert {
        "audit.json",
        "rows.parquet",
        "report.html",
        "manifest.json",
        "outcomes.svg",
        "tfc2-marginal.svg",
    } <= names
    rows = pd.read_parquet(folder / "rows.parquet")
    assert set(rows["outcome"]) <= {"holds", "neutral", "violates"}
    assert len(rows) == 2 * len(set(rows["pair"]))


def test_audit_json_is_what_its_schema_says(audited):
    content = json.loads((audited[0] / "audit.json").read_text())
    jsonschema.Draft202012Validator(Audit.schema()).validate(content)
    assert {one["name"] for one in content["rankers"]} == {"bm25", "bi-minilm-l3"}


class Page(HTMLParser):
    """What a page refers to, its tags in order, and its text."""

    def __init__(self):
        super().__init__()
        self.references, self.open, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.references += [value for name, value in attributes if name in ("src", "href", "data")]
        if tag not in ("meta", "br", "use", "path", "rect", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("meta", "br", "use", "path", "rect", "link"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_one_whole_file_that_needs_no_network(audited):
    source = (audited[0] / "report.html").read_text()
    page = Page()
    page.feed(source)
    assert page.open == []
    assert all(reference.startswith(("#", "data:")) for reference in page.references)
    assert "<script" not in source
    text = " ".join(page.text)
    for said in (
        "Outcomes",
        "Why violated?",
        "The worst violations",
        "How this was made",
        "whyrank audit --ranker bm25",
    ):
        assert said in text
    anchors = set(re.findall(r'href="#(section-\d+)"', source))
    assert anchors == set(re.findall(r'id="(section-\d+)"', source))


def test_an_audit_on_pairs_of_ones_own(tmp_path, real):
    real("bi-minilm-l3")
    rows = [
        {"id": i, "query": "red cat", "baseline": f"word{i} dog.", "perturbed": f"word{i} cat."} for i in range(6)
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    arguments = ["--ranker", "bi-minilm-l3", "--collection", "demo", "--pairs", tmp_path / "p.jsonl"]
    done = whyrank("audit", *arguments, "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "own" in done.stdout
    assert json.loads((tmp_path / "run" / "audit.json").read_text())["axioms"][0]["n"] == 6


def test_bad_input_is_one_line(tmp_path, audited):
    def refused(*arguments):
        return one_line(
            whyrank("audit", "--ranker", "bm25", "--collection", "demo", "-o", tmp_path / "o", *arguments)
        )

    assert "unknown axiom 'TFC7'" in refused("--axiom", "TFC7")
    assert "1-10,91-100" in refused("--ranks", "ten")
    assert "unknown term policy" in refused("--term", "best")
    assert "no such file" in refused("--pairs", tmp_path / "none.jsonl")
    (tmp_path / "p.jsonl").write_text('{"id": "1", "query": "q", "baseline": "a", "perturbed": "a"}\n')
    assert "p.jsonl:1: baseline and perturbed are the same" in refused("--pairs", tmp_path / "p.jsonl")
    assert not (tmp_path / "o").exists()
    done = whyrank("pairs", "--axiom", "TFC1", "--collection", "demo", "--having", "x", "-o", tmp_path / "x.jsonl")
    assert "term or no-term" in one_line(done)
    assert "other inputs" in one_line(whyrank("audit", *audited[1], "--axiom", "TDC"))
