"""A run folder belongs to one command with one set of inputs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import whyrank
from whyrank.core.errors import UserError
from whyrank.core.runs import RunFolder, holds, is_finished
from whyrank.core.version import content_version, versions


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
    with RunFolder.claim(tmp_path, "train", inputs) as first:
        first.finish() if finished else first.begin()
    RunFolder.claim(tmp_path, "train", inputs).release()
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


HOLD = """
import sys, time
from pathlib import Path
from whyrank.core.runs import RunFolder
with RunFolder.claim(Path(sys.argv[1]), "rank", {"k": 1}, asked=sys.argv[2] or None) as folder:
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder, asked="whyrank rank --top 1") -> subprocess.Popen:
    held = [sys.executable, "-c", HOLD, str(folder), asked]
    process = subprocess.Popen(held, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.parametrize(
    ("asked", "shown"), [("whyrank rank --top 1", "'whyrank rank --top 1'"), ("", "'a Python program'")]
)
def test_one_process_at_a_time_and_the_second_is_told_who_holds_it(tmp_path, asked, shown):
    process = holder(tmp_path / "run", asked)
    try:
        for command, inputs in (("rank", {"k": 1}), ("audit", {})):
            with pytest.raises(
                UserError, match=rf"in use by process {process.pid} on .*, {shown}, since"
            ) as refused:
                RunFolder.claim(tmp_path / "run", command, inputs)
            assert "choose another folder" in str(refused.value)
    finally:
        process.kill()
        process.wait()
    with RunFolder.claim(tmp_path / "run", "rank", {"k": 1}) as folder:  # a killed process holds nothing
        folder.finish()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["manifest.json"]


def test_a_folder_in_which_nothing_was_made_is_gone_afterwards(tmp_path):
    with pytest.raises(RuntimeError), RunFolder.claim(tmp_path / "run", "rank", {}):
        raise RuntimeError
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("what", ["whyrank", "torch", "transformers"])
@pytest.mark.parametrize("finished", [True, False])
def test_the_work_of_other_versions_is_not_taken_for_this_one(tmp_path, monkeypatch, what, finished):
    with RunFolder.claim(tmp_path, "train", {"k": 1}) as folder:
        (tmp_path / "train.json").write_text("{}")
        folder.finish() if finished else folder.begin()
    other = {**versions(), what: "0.0.1"}
    monkeypatch.setattr("whyrank.core.runs.versions", lambda: other)
    with pytest.raises(UserError, match=rf"with other versions \(version.{what} was .* and is \"0.0.1\"\)"):
        RunFolder.claim(tmp_path, "train", {"k": 1})
    RunFolder.claim(tmp_path, "train", {"k": 1}, renew=True)
    assert not holds(tmp_path, "train.json")


def test_the_content_version_is_that_of_every_source_file(tmp_path):
    copy = tmp_path / "whyrank"
    shutil.copytree(Path(whyrank.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))

    def version_elsewhere() -> str:
        code = "from whyrank.core.version import content_version; print(content_version())"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True
        )
        return done.stdout.decode()

    assert version_elsewhere().strip() == content_version()
    with (copy / "evaluation" / "wilson.py").open("a") as file:
        file.write("# changed\n")
    assert version_elsewhere().strip() != content_version()


def test_a_result_that_is_not_as_it_was_written_is_not_taken_for_one(tmp_path):
    with RunFolder.claim(tmp_path, "train", {}) as folder:
        (tmp_path / "train.json").write_text('{"ndcg": 0.5}')
        folder.finish()
        assert holds(tmp_path, "train.json") and not holds(tmp_path, "other.json")
        assert is_finished(tmp_path)
        for damage in ('{"ndcg": 0.9}', '{"nd', ""):
            (tmp_path / "train.json").write_text(damage)
            assert not holds(tmp_path, "train.json")
            assert not is_finished(tmp_path)


def test_what_was_kept_and_what_was_half_written_is_gone_with_the_next_run(tmp_path):
    with RunFolder.claim(tmp_path, "rank", {}) as folder:
        folder.begin()
        left = [folder.work("shards"), tmp_path / ".shards-of-other-inputs", tmp_path / ".m.partial-1"]
        for one in left:
            one.mkdir()
        (tmp_path / ".run.trec.partial-2").touch()
        folder.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".m.partial-1",
        ".run.trec.partial-2",
        "manifest.json",
    ]
    left[0].mkdir()  # killed after the manifest, before its deletion
    RunFolder.claim(tmp_path, "rank", {}).release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json"]


@pytest.mark.security
@pytest.mark.parametrize("name", [".shards-x", "report.html", "models/a"])
def test_a_link_in_a_run_folder_is_refused(tmp_path, name):
    link = tmp_path / "run" / name
    with RunFolder.claim(tmp_path / "run", "rank", {}) as folder:
        folder.finish()
    link.parent.mkdir(exist_ok=True)
    (tmp_path / "outside").mkdir()
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="a link in the run folder"):
        RunFolder.claim(tmp_path / "run", "rank", {})
    assert not any((tmp_path / "outside").iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "7",
        '{"key": 1}',
        '{"command_name": 7, "key": "x", "inputs": {}}',
        "[" * 9000,
        '{"command_name": "rank", "key": "x", "inputs": []}',
    ],
)
@pytest.mark.parametrize("name", ["manifest.json", ".claim.json"])
def test_a_manifest_of_another_shape_is_one_line(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match="a damaged manifest") as refused:
        RunFolder.claim(tmp_path, "rank", {})
    assert "\n" not in str(refused.value) and name in str(refused.value)
