"""A run folder belongs to one command with one set of inputs."""

import json

import pytest

from whyrank.errors import UserError
from whyrank.reports.manifest import RunFolder


def test_a_manifest_says_how_the_folder_came_about(tmp_path):
    folder = RunFolder.claim(tmp_path / "run", "rank", {"ranker": "abc", "k": 10})
    folder.finish(pairs=3)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["command_name"] == "rank"
    assert manifest["inputs"] == {"ranker": "abc", "k": 10}
    assert manifest["pairs"] == 3
    assert manifest["versions"]["torch"]
    assert manifest["machine"]["cores"]


def test_the_same_work_may_be_done_again_and_other_work_may_not(tmp_path):
    RunFolder.claim(tmp_path, "rank", {"k": 10}).finish()
    RunFolder.claim(tmp_path, "rank", {"k": 10})
    with pytest.raises(UserError, match="other inputs"):
        RunFolder.claim(tmp_path, "rank", {"k": 20})
    with pytest.raises(UserError, match="whyrank rank"):
        RunFolder.claim(tmp_path, "audit", {"k": 10})


@pytest.mark.parametrize("finished", [True, False])
def test_of_other_inputs_the_difference_is_named(tmp_path, finished):
    inputs = {"k": 10, "settings": {"epochs": 3, "sizes": (1, 2)}, "collection": "a" * 64}
    first = RunFolder.claim(tmp_path, "train", inputs)
    first.finish() if finished else first.begin()
    RunFolder.claim(tmp_path, "train", inputs)
    other = {"k": 10, "settings": {"epochs": 5, "sizes": (1, 2)}, "collection": "b" * 64, "new": None, "seed": 1}
    with pytest.raises(UserError) as refused:
        RunFolder.claim(tmp_path, "train", other)
    said = "(settings.epochs was 3 and is 5; another collection; seed was null and is 1)"
    assert said in str(refused.value)


def test_a_folder_with_other_files_is_not_taken_over(tmp_path):
    (tmp_path / "run.trec").touch()
    with pytest.raises(UserError, match="other files"):
        RunFolder.claim(tmp_path, "rank", {})


def test_work_that_was_killed_while_writing_can_be_taken_up(tmp_path):
    RunFolder.claim(tmp_path / "run", "rank", {"k": 1}).begin()
    (tmp_path / "run" / "run.trec").touch()
    RunFolder.claim(tmp_path / "run", "rank", {"k": 1}).finish()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["manifest.json", "run.trec"]


@pytest.mark.parametrize("place", ["file/sub", "file/sub/deeper"])
def test_a_place_that_cannot_be_made_is_refused_before_the_work(tmp_path, place):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write here"):
        RunFolder.claim(tmp_path / place, "rank", {})


def test_a_file_or_a_damaged_manifest_in_the_way_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file"):
        RunFolder.claim(tmp_path / "file", "rank", {})
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(UserError, match="damaged"):
        RunFolder.claim(tmp_path, "rank", {})
