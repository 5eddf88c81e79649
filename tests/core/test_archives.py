"""Names and links in archives lead nowhere: one plain file of a tar is read, a zip's are all checked first."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from whyrank.core.archives import read_member, unpack_zip
from whyrank.core.errors import UserError

pytestmark = pytest.mark.security

NAME = "package-1.0/data/wanted.txt"


def archive(tmp_path: Path, member: tarfile.TarInfo, content: bytes = b"") -> Path:
    member.size = len(content)
    with tarfile.open(tmp_path / "package.tar.gz", "w:gz") as packed:
        packed.addfile(member, io.BytesIO(content))
    return tmp_path / "package.tar.gz"


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(NAME)
    member.type, member.linkname = kind, target
    return member


def test_a_plain_file_is_read(tmp_path: Path) -> None:
    assert read_member(archive(tmp_path, tarfile.TarInfo(NAME), b"text"), NAME) == b"text"


@pytest.mark.parametrize(
    "member",
    [
        special(tarfile.SYMTYPE, "/etc/passwd"),
        special(tarfile.SYMTYPE, "../../../../etc/passwd"),
        special(tarfile.LNKTYPE, "/etc/passwd"),
        special(tarfile.CHRTYPE),
        special(tarfile.BLKTYPE),
        special(tarfile.FIFOTYPE),
        special(tarfile.DIRTYPE),
    ],
    ids=["link", "link with dots", "hard link", "character device", "block device", "pipe", "folder"],
)
def test_links_devices_pipes_and_folders_are_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    with pytest.raises(UserError, match="not a plain file"):
        read_member(archive(tmp_path, member), NAME)


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "package-1.0/../../outside"])
def test_a_name_that_leads_out_of_the_folder_writes_nothing(tmp_path: Path, name: str) -> None:
    here = tmp_path / "here"
    here.mkdir()
    path = archive(here, tarfile.TarInfo(name), b"x")
    with pytest.raises(UserError, match=r"no package-1\.0/data/wanted\.txt in the package"):
        read_member(path, NAME)
    assert read_member(path, name) == b"x"  # as data
    assert list(tmp_path.rglob("*")) == [here, path]


@pytest.mark.parametrize("cut", [0, 10, 100])
def test_what_is_not_an_archive_or_cut_is_one_line(tmp_path: Path, cut: int) -> None:
    path = archive(tmp_path, tarfile.TarInfo(NAME), os.urandom(2000))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UserError, match="not a tar archive that can be read"):
        read_member(path, NAME)


def zipped(folder: Path, *names: str | zipfile.ZipInfo) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(folder / "package.whl", "w") as packed:
        for name in names:
            packed.writestr(name, b"x")
    return folder / "package.whl"


def link(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name)
    member.create_system, member.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return member


def test_the_files_below_a_folder_of_a_zip_are_unpacked_and_no_others(tmp_path: Path) -> None:
    path = zipped(tmp_path / "in", "m/", "m/a", "m/b/..c", "m/desktop.ini", "other/x", "mm/y", "../outside")
    unpack_zip(path, "m", tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").rglob("*")) == ["..c", "a", "b"]
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize(
    "name",
    [
        "m//{outside}",
        "m/{outside}",
        "m/../outside",
        "m/a/../../outside",
        "m/..",
        "m/./a",
        "m//a",
        "m/..\\outside",
        "m/C:/outside",
        "m/C:outside",
    ],
)
def test_a_zip_with_a_name_that_leads_out_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    path = zipped(tmp_path / "in", "m/first", name.format(outside=outside))
    with pytest.raises(UserError, match="in the package leads out of the folder m"):
        unpack_zip(path, "m", tmp_path / "out" / "deep")
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "in", path]


def test_a_link_in_a_zip_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path = zipped(tmp_path / "in", "m/first", link("m/second"))
    with pytest.raises(UserError, match="m/second in the package is a link"):
        unpack_zip(path, "m", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_zip_that_is_cut_or_without_the_folder_is_one_line(tmp_path: Path) -> None:
    path = zipped(tmp_path / "in", "m/first")
    with pytest.raises(UserError, match="no file below n in the package"):
        unpack_zip(path, "n", tmp_path / "out")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UserError, match="not a zip archive that can be read"):
        unpack_zip(path, "m", tmp_path / "out")
