"""`whyrank edit` says first whether documents that hold the word moved as meant, and whose IDF it went by."""

import json

import jsonschema
import pytest

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import write_collection
from tests.edits.products import PRODUCTS, every_document
from whyrank.collections.trec import write_run
from whyrank.edits.results import EditPreview

WARNING = 'warning: documents that hold "waterproof" did not rise against the others: their scores rose in '


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    write_collection(folder / "products", PRODUCTS)
    write_run(folder / "all.trec", every_document())
    return folder


def edit(shop, *how, name="bi-minilm-l3"):
    done = whyrank("edit", "--ranker", name, "--up", "waterproof=5", *how, cwd=shop)
    assert done.returncode == 0, done.stderr
    return done


def test_the_first_line_warns_of_an_edit_that_does_the_opposite(real, shop):
    real("bi-minilm-l3")
    done = edit(shop, "--preview", "--collection", "products", "--run", "all.trec", "-o", "run")
    first = done.stdout.splitlines()[0]
    assert first.startswith(WARNING) and " of 6 queries" in first
    written = json.loads((shop / "run" / "edit.json").read_text())
    jsonschema.validate(written, EditPreview.schema())
    assert [one["sentence"] for one in written["holders"]] == [first]
    report = (shop / "run" / "report.html").read_text()
    assert "Warning: documents that hold &quot;waterproof&quot; did not rise against the others" in report
    done = edit(shop, "--preview", "--collection", "products", "--run", "all.trec", "--queries", "2")
    few = done.stdout.splitlines()[0]
    assert "too few for an interval" in few and "[" not in few


def test_a_small_collection_and_none_fall_back_to_the_same_idf_and_say_which(real, shop):
    real("bi-minilm-l3")
    small = edit(shop, "--save", "small", "--collection", "products")
    none = edit(shop, "--save", "none")
    assert (
        "the words of products do not tell the sign of U0: the IDF of the built-in collection demo" in small.stderr
    )
    assert "no collection to count words in: the IDF of the built-in collection demo is used" in none.stderr
    done = [json.loads((shop / name / "edits.json").read_text()) for name in ("small", "none")]
    assert done[0]["turns"] == done[1]["turns"]
    dials = [one["dial"] for one in done]
    assert dials[0].pop("fallback") != dials[1].pop("fallback") and dials[0] == dials[1]
    assert dials[0]["idf"] == "demo"
    assert "not tried whether documents that hold these words move as meant" in none.stderr
    refused = whyrank("align", "--ranker", "bi-minilm-l3", "--collection", "products", "--save", "x", cwd=shop)
    assert "does not clearly go with the IDF of products" in one_line(refused), (
        "aligning needs the collection's own"
    )
