"""Of a tar archive only the plain file that was asked for is read; nothing is ever unpacked by its own name."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from whyrank.errors import UserError
from whyrank.store.archives import read_member

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
