"""What a command writes is as open as the user's umask lets it be, no more and no less."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.learning.small import cross_encoder, write_collection
from whyrank.cli.app import app
from whyrank.edits.saving import save_checkpoint

pytestmark = [pytest.mark.security, pytest.mark.skipif(os.name == "nt", reason="there is no umask on Windows")]


@pytest.fixture(params=[0o022, 0o077, 0o002], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_run_folders_and_files_have_the_modes_that_the_umask_says(umask: int, tmp_path: Path) -> None:
    ranker = cross_encoder(tmp_path / "ranker")
    write_collection(tmp_path / "collection")
    reads = ["--ranker", str(tmp_path / "ranker"), "--collection", str(tmp_path / "collection")]
    app(["rank", *reads, "--depth", "3", "-o", str(tmp_path / "out" / "rank")], standalone_mode=False)
    pairs = str(tmp_path / "out" / "pairs.jsonl")
    app(["pairs", "--axiom", "TFC1", *reads, "--documents", "2", "-o", pairs], standalone_mode=False)
    app(
        ["patch", *reads[:2], "--pairs", pairs, "-o", str(tmp_path / "out" / "patch")],
        standalone_mode=False,
    )
    save_checkpoint(ranker, tmp_path / "out" / "saved", {}, "a copy of")
    written = [tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert len(written) > 8
    for path in written:
        expected = (0o777 if path.is_dir() else 0o666) & ~umask
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
