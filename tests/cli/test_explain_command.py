"""`whyrank explain` from the outside: what it prints, writes and refuses."""

import json

import jsonschema
import pytest

from tests.cli.run import one_line, whyrank
from whyrank.explain.explanation import Explanation

QUERY = "why are houseplant leaves turning yellow"
HITS = {
    "hits": {
        "hits": [
            {"_id": "a", "_source": {"title": "Yellow leaves", "body": "Too much water makes leaves yellow."}},
            {"_id": "b", "_source": {"title": "Cats", "body": "Cats like to eat houseplants."}},
        ]
    }
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """One call on a search engine's answer, with a run folder."""
    folder = tmp_path_factory.mktemp("explain")
    (folder / "hits.json").write_text(json.dumps(HITS))
    done = whyrank(
        "explain", "--ranker", "bi-minilm-l3", "--query", QUERY, "--hits", "hits.json", "--doc", "b",
        "--versus", "a", "-o", "run", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done


def test_the_verdict_comes_first_then_words_and_bars(answered):
    _, done = answered
    assert done.stderr.startswith("explaining a score of bi-minilm-l3")
    assert done.stdout.startswith("a scores 0.") and "apart" in done.stdout.splitlines()[0]
    assert "█" in done.stdout and "yellow" in done.stdout
    assert "hits: id from _id, title from title, text from body" in done.stderr
    assert "a scores higher than b: it is explained" in done.stderr
    assert "Next:" in done.stderr and "run/report.html" in done.stderr


def test_the_folder_holds_what_the_schema_says_and_one_page(answered):
    folder, _ = answered
    written = json.loads((folder / "run" / "explanation.json").read_text())
    jsonschema.validate(written, Explanation.schema())
    page = (folder / "run" / "report.html").read_text()
    assert page.index("apart") < page.index("<svg") and "Why is a above b?" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    again = whyrank(
        "explain", "--ranker", "bi-minilm-l3", "--query", QUERY, "--hits", "hits.json", "--doc", "b",
        "--versus", "a", "-o", "run", "--json", cwd=folder,
    )  # fmt: skip
    assert json.loads(again.stdout) == written and "holds this result already" in again.stderr


def test_the_tree_has_value_description_details(tmp_path):
    done = whyrank(
        "explain", "--ranker", "bm25", "--collection", "demo", "--query", QUERY, "--doc", "d082", "--tree"
    )
    tree = json.loads(done.stdout)
    how, words = tree["details"]
    assert how["description"] == "BM25 (sum of)"
    assert sum(one["value"] for one in how["details"]) == pytest.approx(tree["value"])
    assert set(tree) == {"value", "description", "details"} and words["details"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--query", QUERY], "there is no document to explain"),
        (["--query", QUERY, "--doc", "zz", "--collection", "demo"], "'zz'"),
        (["--query", "!", "--doc", "A cat."], "has no word"),
        (["--query", QUERY, "--hits", "missing.json"], "missing.json"),
        (["--query", QUERY, "--hits", "empty.json"], "no hits"),
        (["--query", QUERY, "--hits", "fields.json"], "no field of the hits holds a text"),
        (["--query", QUERY, "--hits", "fields.json", "--text-field", "body"], "no hit has a field 'body'"),
        (["--query", QUERY, "--doc", "A cat.", "--remove", "burn"], "words cannot be taken away by 'burn'"),
    ],
)
def test_bad_input_gets_one_line(tmp_path, options, message):
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "fields.json").write_text('[{"id": "1", "n": 3}]')
    done = whyrank("explain", "--ranker", "bi-minilm-l3", *options, "-o", "run", cwd=tmp_path)
    assert message in one_line(done)
    assert not (tmp_path / "run").exists()
