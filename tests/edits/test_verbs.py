"""The verbs from Python: preview, apply, save, load; results that round-trip; finished work is not done again."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from matplotlib.axes import Axes

import whyrank
from tests.edits.dialed import COLLECTION, PAIRS, cross_encoder, idf_file
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.core.runs import is_finished
from whyrank.edits.edit import Edit
from whyrank.edits.unedited import Unedited

UP, DOWN = {"cat": 40.0}, {"house": 15.0, "red tree": 9.0}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "list.txt").write_text("berlin\nblue\nslow\n?!\nzebra\n")
    return folder


@pytest.fixture(scope="module")
def ranker(place):
    found = cross_encoder(place / "ranker")
    idf_file(found, place / "idf.tsv")
    return found


@pytest.fixture(scope="module")
def verbs(place, ranker):
    """Each verb with its arguments, but for `out` and `caller`."""
    how = {"idf": str(place / "idf.tsv")}
    return {
        "idf": lambda **more: whyrank.idf(ranker, vectors=2, **how, **more),
        "edit": lambda **more: whyrank.edit(
            ranker, up=UP, down=DOWN, collection=COLLECTION, depth=9, **how, **more
        ),
        "align": lambda **more: whyrank.align(ranker, COLLECTION, preview=True, depth=9, **how, **more),
        "two_tokens": lambda **more: whyrank.two_tokens(
            ranker, COLLECTION, scales="1,20", randoms=3, **how, **more
        ),
        "suppress": lambda **more: whyrank.suppress(
            ranker, place / "list.txt", COLLECTION, documents=8, rule="paper", scales="1,10,100,1000", min_rise=0,
            randoms=2, **how, **more
        ),
    }  # fmt: skip


VERBS = ("idf", "edit", "align", "two_tokens", "suppress")


@pytest.fixture(scope="module")
def results(place, verbs):
    """What each verb returns, and where it wrote it."""
    return {name: (verb(out=place / name), place / name) for name, verb in verbs.items()}


@pytest.mark.parametrize("name", VERBS)
def test_what_is_written_fits_the_schema_and_reads_back(results, name):
    found, folder = results[name]
    written = json.loads((folder / found.FILE).read_text())
    jsonschema.validate(written, found.schema())
    assert written == found.to_json() and is_finished(folder)
    again = type(found).read(folder)
    assert again == found and again.to_json() == written
    assert again.to_pandas().equals(found.to_pandas()) and len(found.to_pandas())


@pytest.mark.parametrize("name", VERBS)
def test_finished_work_is_not_done_again(verbs, results, name, monkeypatch):
    for kind, method in ((Unedited, "ranked"), (Unedited, "rescored")):
        monkeypatch.setattr(kind, method, lambda *_, **__: pytest.fail("nothing is to be scored again"))
    monkeypatch.setattr("whyrank.edits.two_tokens.Measurement.measure", lambda *_: pytest.fail("measured again"))
    found, folder = results[name]
    said = []
    assert verbs[name](out=folder, caller=Caller(say=said.append)) == found
    assert any("holds this result already" in one for one in said)


@pytest.mark.parametrize("name", VERBS)
def test_without_a_folder_the_result_is_the_same_and_save_writes_what_the_command_writes(
    verbs, results, name, tmp_path
):
    found, folder = results[name]
    kept = verbs[name]()
    assert kept == found
    kept.save(tmp_path / "copy")
    names = {path.name for path in (tmp_path / "copy").iterdir() if not path.name.startswith(".")}
    assert names == {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert type(found).read(tmp_path / "copy") == found
    saved, made = (json.loads((one / "manifest.json").read_text()) for one in (tmp_path / "copy", folder))
    assert saved["command_name"] == made["command_name"]
    assert saved["command"].startswith("saved from Python")


@pytest.mark.parametrize("name", VERBS)
def test_each_has_a_verdict_a_figure_and_a_page_that_begins_with_the_verdict(results, name):
    found, folder = results[name]
    assert found.verdict() and "\n" not in repr(found)
    assert isinstance(found.plot(), Axes) and "<svg" in found._repr_html_()
    page = (folder / "report.html").read_text()
    assert page.index('class="verdict"') < page.index("<figure>")


def test_a_preview_applied_and_saved_gives_the_scores_of_the_preview(ranker, results, tmp_path):
    found, _ = results["edit"]
    texts, before = dict(COLLECTION.documents()), ranker.score(PAIRS)
    rows = [row for rows in found.after.values() for row in rows]
    pairs = [(COLLECTION.queries[row.qid], texts[row.docno]) for row in rows]
    with found.apply() as edited:
        np.testing.assert_allclose(edited.score(pairs), [row.score for row in rows], atol=1e-5)
    assert (ranker.score(PAIRS) == before).all(), "its own scores again"
    saved = whyrank.load(str(found.apply().save(tmp_path / "edited")))
    np.testing.assert_allclose(saved.score(pairs), [row.score for row in rows], atol=1e-5)
    with found.apply() as edited:  # saved inside of the block it is the same, not edited twice
        found.apply().save(tmp_path / "inside")
    np.testing.assert_allclose(whyrank.load(str(tmp_path / "inside")).score(pairs), saved.score(pairs), atol=1e-6)


def test_an_edit_is_a_value_that_applies_by_itself(place, ranker, results, tmp_path):
    edit = whyrank.Edit.of(up=UP) + whyrank.Edit.parse("down house=15, down red tree=9")
    assert edit == results["edit"][0].edit == Edit.parse(str(edit))
    with edit.apply(ranker, idf=str(place / "idf.tsv")) as edited, results["edit"][0].apply() as same:
        assert edited is same
    with edit.apply(ranker, idf=str(place / "idf.tsv")) as edited:
        scores = edited.score(PAIRS)
    with results["edit"][0].apply() as previewed:
        assert (previewed.score(PAIRS) == scores).all()


def test_save_in_the_call_is_the_same_checkpoint(verbs, results, tmp_path):
    verbs["edit"](save=tmp_path / "new")
    results["edit"][0].apply().save(tmp_path / "other")
    assert (tmp_path / "new" / "model.safetensors").read_bytes() == (
        tmp_path / "other" / "model.safetensors"
    ).read_bytes()
    assert json.loads((tmp_path / "new" / "edits.json").read_text())["edits"][0]["term"] == "cat"


def test_align_ranks_only_for_a_preview_as_on_the_command_line(place, ranker, results):
    found = whyrank.align(ranker, COLLECTION, idf=str(place / "idf.tsv"))
    assert found.ranking is None and found.alignment == results["align"][0].alignment
    with pytest.raises(UserError, match="out is for a preview"):
        whyrank.align(ranker, COLLECTION, out=place / "never")


def test_without_a_collection_nothing_is_ranked(place, ranker):
    found = whyrank.edit(ranker, "up cat=5", idf=str(place / "idf.tsv"))
    assert found.ranking is None and found.holders == () and [turn.piece for turn in found.turns] == ["cat"]
    assert "not tried on a ranking" in found.verdict()[0]
    with pytest.raises(UserError, match="a preview needs a collection"):
        whyrank.edit(ranker, "up cat=5", preview=True)
    with pytest.raises(UserError, match="out is for a preview"):
        whyrank.edit(ranker, "up cat=5", out=place / "never")
    with pytest.raises(UserError, match="no edited ranker"):
        replace(found, edited=None).apply()


def test_terms_to_suppress_may_be_words(place, ranker, results):
    words = (place / "list.txt").read_text().split("\n")[:-1]
    how = {
        "documents": 8,
        "rule": "paper",
        "scales": (1, 10, 100, 1000),
        "min_rise": 0,
        "randoms": 2,
        "idf": str(place / "idf.tsv"),
    }
    found = whyrank.suppress(ranker, words, COLLECTION, **how)
    assert found == results["suppress"][0] and found.knee is not None
    with found.apply() as edited:
        assert edited is ranker


@pytest.mark.parametrize("name", ["edit", "suppress"])
def test_work_that_was_stopped_goes_on_where_it_was(verbs, results, name, tmp_path, ranker, monkeypatch):
    plain, calls = ranker.scores, []

    def failing(pairs, progress=None):
        calls.append(len(pairs))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(pairs, progress)

    monkeypatch.setattr(ranker, "scores", failing)
    with pytest.raises(KeyboardInterrupt):
        verbs[name](out=tmp_path / "run")
    shards = list((tmp_path / "run").rglob("*.shard"))
    assert shards and not is_finished(tmp_path / "run")
    assert verbs[name](out=tmp_path / "run") == results[name][0]
    assert is_finished(tmp_path / "run") and not list((tmp_path / "run").rglob("*.shard"))
