"""A folder that lists its files' sizes and hashes finds out what happened to them."""

import os
import shutil
from pathlib import Path

import pytest

from whyrank.core.checksums import CHECKSUMS, damage, has_checksums, write_checksums


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "qrels").mkdir(parents=True)
    (made / "weights.bin").write_bytes(b"0123456789")
    (made / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    write_checksums(made)
    return made


def test_a_whole_folder_has_no_damage(folder: Path) -> None:
    assert has_checksums(folder)
    assert damage(folder) is None
    assert damage(folder, full=True) is None


def test_a_truncated_a_lost_and_an_added_file_are_named(folder: Path) -> None:
    (folder / "weights.bin").write_bytes(b"01234")
    assert damage(folder) == "file weights.bin: 5 bytes, not 10"
    (folder / "weights.bin").unlink()
    assert damage(folder) == "file weights.bin: missing"
    (folder / "weights.bin").write_bytes(b"0123456789")
    (folder / "modules.json").write_text("[]")
    assert damage(folder) == "file modules.json: added later"


def test_a_change_of_the_same_size_is_found_by_its_time(folder: Path) -> None:
    (folder / "qrels" / "test.tsv").write_text("q1\td1\t3\n")
    assert damage(folder) == "file qrels/test.tsv: its content has changed"


def test_a_flipped_bit_under_the_old_time_is_found_by_the_full_check_only(folder: Path) -> None:
    file = folder / "weights.bin"
    before = file.stat()
    file.write_bytes(b"0123456780")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert damage(folder) is None
    assert damage(folder, full=True) == "file weights.bin: its content has changed"


def test_a_copy_with_other_times_is_whole_and_read_only_once(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copy)
    os.utime(copy / "weights.bin", (1, 1))
    before = (copy / CHECKSUMS).read_text()
    assert damage(copy) is None
    assert (copy / CHECKSUMS).read_text() != before  # the new times
    assert (copy / "weights.bin").stat().st_mtime == 1
    noted = (copy / CHECKSUMS).stat().st_mtime_ns
    assert damage(copy) is None
    assert (copy / CHECKSUMS).stat().st_mtime_ns == noted


@pytest.mark.parametrize("text", ["", "{", "[]", '{"weights.bin": 3}', '{"weights.bin": {"size": "a"}}'])
def test_a_damaged_list_is_damage(folder: Path, text: str) -> None:
    (folder / CHECKSUMS).write_text(text)
    assert (damage(folder) or "").startswith(f"file {CHECKSUMS}: ")


def test_a_folder_without_a_list_is_reported(tmp_path: Path) -> None:
    assert not has_checksums(tmp_path)
    assert damage(tmp_path) == "it does not list its files"


def test_a_link_that_leads_nowhere_is_damage(folder: Path) -> None:
    (folder / "weights.bin").unlink()
    (folder / "weights.bin").symlink_to("nowhere")
    assert damage(folder) == "file weights.bin: cannot be read (No such file or directory)"


def test_names_that_begin_with_a_dot_are_not_ours(folder: Path) -> None:
    (folder / ".DS_Store").write_text("x")
    assert damage(folder, full=True) is None
