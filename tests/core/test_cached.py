"""Folders of the cache are checked when they are used and made anew when that is asked for."""

from __future__ import annotations

import logging
import os
import threading
import time
from pathlib import Path

import pytest

from whyrank.core.cached import CachedFolder
from whyrank.core.checksums import CHECKSUMS
from whyrank.core.errors import UserError

pytestmark = pytest.mark.security


def make(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text("one\ntwo\n")


def fail(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text("on")
    raise UserError("no network")


@pytest.fixture
def cached(tmp_path: Path) -> CachedFolder:
    one = CachedFolder("a-set", tmp_path / "cache" / "a-set", make)
    assert one.here() == "no"
    assert one.use() == one.path
    assert one.here() == "yes"
    return one


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_damage_is_refused_on_use_and_repaired_by_get(
    cached: CachedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    file = cached.path / "corpus.jsonl"
    file.write_text("one\n")
    assert cached.here() == "damaged"
    with pytest.raises(UserError) as caught:
        cached.use()
    assert caught.value.what == "a-set is damaged (file corpus.jsonl: 4 bytes, not 8)"
    assert caught.value.where == str(cached.path)
    assert caught.value.todo == "run 'whyrank get a-set', which makes this folder anew"
    assert file.read_text() == "one\n", "use changes nothing"
    with caplog.at_level(logging.INFO):
        cached.get()
    assert caplog.messages == ["a-set is damaged (file corpus.jsonl: 4 bytes, not 8): making it anew"]
    assert cached.use() == cached.path
    assert file.read_text() == "one\ntwo\n"
    assert names(cached.path.parent) == ["a-set"]


def test_get_reads_every_byte(cached: CachedFolder) -> None:
    file = cached.path / "corpus.jsonl"
    times = file.stat()
    file.write_text("one\ntwi\n")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert cached.use() == cached.path
    cached.get()
    assert file.read_text() == "one\ntwo\n"


def test_get_leaves_a_whole_folder_alone(cached: CachedFolder) -> None:
    before = cached.path.stat().st_ino
    CachedFolder(cached.name, cached.path, fail).get()
    assert cached.path.stat().st_ino == before


def test_a_repair_that_fails_leaves_what_is_there(cached: CachedFolder) -> None:
    (cached.path / "corpus.jsonl").write_text("my own text\n")
    with pytest.raises(UserError, match="no network"):
        CachedFolder(cached.name, cached.path, fail).get()
    assert (cached.path / "corpus.jsonl").read_text() == "my own text\n"
    assert names(cached.path.parent) == ["a-set"]


def test_an_old_folder_is_compared_with_a_new_one_once(
    cached: CachedFolder, caplog: pytest.LogCaptureFixture
) -> None:
    (cached.path / CHECKSUMS).unlink()
    with caplog.at_level(logging.INFO):
        assert cached.use() == cached.use()
    assert caplog.messages == ["a-set was cached by an earlier version, without checksums: checking it, once"]
    assert names(cached.path) == [CHECKSUMS, "corpus.jsonl"]


@pytest.mark.parametrize("text", ["one\n", "one\ntwi\n", None])
def test_an_old_folder_that_differs_is_refused_and_repaired_by_get(cached: CachedFolder, text: str | None) -> None:
    (cached.path / CHECKSUMS).unlink()
    if text is None:
        (cached.path / "corpus.jsonl").unlink()
    else:
        (cached.path / "corpus.jsonl").write_text(text)
    for _ in range(2):
        with pytest.raises(UserError, match=r"a-set was cached by an earlier version.*file corpus\.jsonl"):
            cached.use()
    assert not (cached.path / CHECKSUMS).exists()
    cached.get()
    assert (cached.use() / "corpus.jsonl").read_text() == "one\ntwo\n"
    assert names(cached.path.parent) == ["a-set"]


def test_an_old_folder_that_cannot_be_compared_is_refused(cached: CachedFolder) -> None:
    (cached.path / CHECKSUMS).unlink()
    with pytest.raises(UserError, match=r"a-set was cached by an earlier version, .* be checked now: no network"):
        CachedFolder(cached.name, cached.path, fail).use()
    assert names(cached.path.parent) == ["a-set"]


def test_two_at_once_repair_once(cached: CachedFolder) -> None:
    made: list[Path] = []

    def slow(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.2)
        make(folder)

    (cached.path / "corpus.jsonl").write_text("one\n")
    again = CachedFolder(cached.name, cached.path, slow)
    threads = [threading.Thread(target=again.get) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert (cached.use() / "corpus.jsonl").read_text() == "one\ntwo\n"


def test_what_a_killed_repair_left_is_deleted_by_the_next(cached: CachedFolder) -> None:
    left = cached.path.parent / ".a-set.partial-0123"
    left.mkdir()
    (left / "corpus.jsonl").write_text("o")
    cached.get()
    assert names(cached.path.parent) == ["a-set"]
