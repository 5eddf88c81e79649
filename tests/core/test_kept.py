"""Kept work: found again as it was written, or not at all."""

import json

import pytest

from whyrank.core.kept import content_key, keep, keep_json, kept, kept_json
from whyrank.core.stages import Stages


def test_a_piece_is_found_by_its_key_alone(tmp_path):
    path = tmp_path / "folder" / "piece"
    assert kept(path, "a") is None
    keep(path, "a", b"content\n\0")
    assert kept(path, "a") == b"content\n\0"
    assert kept(path, "b") is None
    keep(path, "b", b"")
    assert (kept(path, "a"), kept(path, "b")) == (None, b"")


@pytest.mark.parametrize("part", ["nothing", "half", "one byte more", "a bit", "header", "no header"])
def test_a_damaged_piece_is_not_there(tmp_path, part):
    path = tmp_path / "piece"
    keep_json(path, "a", {"scores": [0.25, 0.5]})
    whole = path.read_bytes()
    damaged = {
        "nothing": b"",
        "half": whole[: len(whole) - 5],
        "one byte more": whole + b" ",
        "a bit": whole.replace(b"0.25", b"0.75"),
        "header": b"{" + whole[5:],
        "no header": whole.split(b"\n", 1)[1],
    }[part]
    path.write_bytes(damaged)
    assert kept(path, "a") is None
    assert kept_json(path, "a") is None


def test_nan_is_not_kept(tmp_path):
    with pytest.raises(ValueError):
        keep_json(tmp_path / "piece", "a", [float("nan")])
    assert not any(tmp_path.iterdir())


def test_a_key_holds_the_versions(monkeypatch):
    before = content_key("ranker", [1, 2])
    assert before == content_key("ranker", [1, 2]) != content_key("ranker", [1, 3])
    monkeypatch.setattr("whyrank.core.kept.versions", lambda: {"torch": "0.0.1"})
    assert content_key("ranker", [1, 2]) != before


def test_a_damaged_stage_is_made_anew(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"r": 0.5, "none": None}

    stages = Stages(tmp_path)
    assert [stages.get("r", make) for _ in range(2)] == [{"r": 0.5, "none": None}] * 2
    assert len(made) == 1
    path = tmp_path / "r.json"
    path.write_bytes(path.read_bytes().replace(b"0.5", b"0.6"))
    assert stages.get("r", make) == {"r": 0.5, "none": None}
    assert len(made) == 2
    assert json.loads(path.read_text().splitlines()[1])["value"]["r"] == 0.5
