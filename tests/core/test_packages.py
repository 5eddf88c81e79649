"""Packages of the Python index come through pip's settings, by their pinned hash, and nothing of them runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.index_server import Index, plain_pip, sdist, serving, wheel
from whyrank.core import packages
from whyrank.core.archives import read_member
from whyrank.core.errors import UserError
from whyrank.core.packages import Package

pytestmark = pytest.mark.security

NAME, VERSION = "quiet_package", "1.2"
ARCHIVE, WHEEL = f"{NAME}-{VERSION}.tar.gz", f"{NAME}-{VERSION}-py3-none-any.whl"


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of this machine's, a cache and a home of our own."""
    plain_pip(monkeypatch, tmp_path)
    monkeypatch.setenv("WHYRANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "into").mkdir()


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """What any build step of the test's archive would write."""
    return tmp_path / "built"


@pytest.fixture
def index(written: Path) -> Iterator[Index]:
    with serving(Index({ARCHIVE: sdist(NAME, VERSION, written), WHEEL: wheel(NAME, VERSION)})) as one:
        yield one


def pinned(content: bytes, is_sdist: bool = True) -> Package:
    return Package(NAME, VERSION, hashlib.sha256(content).hexdigest(), is_sdist)


def test_pips_own_download_would_build_the_archive(index: Index, written: Path, tmp_path: Path) -> None:
    """The archive of these tests does run when it is built: what the next test sees is no accident."""
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "-d", tmp_path]
    subprocess.run([*command, "-i", f"{index.address}/simple", f"{NAME}=={VERSION}"], capture_output=True)
    assert written.exists()


def test_an_sdist_is_fetched_and_read_without_its_build(
    index: Index, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
    file = pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")
    assert file.read_bytes() == index.files[ARCHIVE]
    assert read_member(file, f"{NAME}-{VERSION}/data/passages.txt") == b"a passage\n"
    assert not written.exists()
    assert [path.name for path in (tmp_path / "into").iterdir()] == [ARCHIVE]


@pytest.mark.parametrize("said", ["its own", "the pinned one", "none"])
def test_an_sdist_with_another_hash_is_refused_whatever_the_index_says_of_it(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    package = pinned(b"what was pinned")
    says = {"its own": {}, "the pinned one": {ARCHIVE: package.sha256}, "none": {ARCHIVE: ""}}[said]
    with serving(Index({ARCHIVE: sdist(NAME, VERSION, written)}, says)) as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
        with pytest.raises(UserError, match="another hash than the one pinned"):
            package.fetch(tmp_path / "into")
        fetched = [path for path in index.asked if "/files/" in path]
    assert bool(fetched) == (said != "its own")
    assert not list((tmp_path / "into").iterdir())
    assert not written.exists()


def test_a_wheel_is_fetched_and_one_with_another_hash_refused(
    index: Index, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
    with pytest.raises(UserError, match="another hash than the one pinned"):
        pinned(b"what was pinned", False).fetch(tmp_path / "into")
    assert pinned(index.files[WHEEL], False).fetch(tmp_path / "into").read_bytes() == index.files[WHEEL]
    assert not written.exists()


def test_a_wheel_in_place_of_the_pinned_archive_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = wheel(NAME, VERSION)
    with serving(Index({WHEEL: content})) as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
        with pytest.raises(UserError, match=r"could not fetch.*download the source archive.*cache/packages"):
            pinned(content).fetch(tmp_path / "into")


@pytest.mark.parametrize("how", ["find-links", "extra-index-url", "file index", "config file", "only-binary"])
def test_the_users_pip_settings_hold(
    index: Index, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    content, address = index.files[ARCHIVE], f"{index.address}/simple"
    local = tmp_path / "simple" / NAME.replace("_", "-")
    local.mkdir(parents=True)
    (local / ARCHIVE).write_bytes(content)
    (local / "index.html").write_text(f'<a href="{ARCHIVE}">{ARCHIVE}</a>')
    (tmp_path / "pip.conf").write_text(f"[download]\nindex-url = {address}\n")
    settings = {
        "find-links": {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(local)},
        "extra-index-url": {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_EXTRA_INDEX_URL": address},
        "file index": {"PIP_INDEX_URL": (tmp_path / "simple").as_uri()},
        "config file": {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf")},
        "only-binary": {"PIP_INDEX_URL": address, "PIP_ONLY_BINARY": ":all:"},
    }
    for name, value in settings[how].items():
        monkeypatch.setenv(name, value)
    assert pinned(content).fetch(tmp_path / "into").read_bytes() == content
    assert not written.exists()


def test_pips_proxy_holds(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://index.invalid/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.invalid")
    monkeypatch.setenv("PIP_PROXY", index.address)
    assert pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")
    assert index.asked[0].startswith("http://index.invalid/simple/")


def test_netrc_and_logins_in_the_address_hold(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.login = "user:secret"
    monkeypatch.setenv("PIP_NO_INPUT", "1")
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
    with pytest.raises(UserError, match="could not fetch"):
        pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")
    (tmp_path / "home" / ".netrc").write_text("machine 127.0.0.1 login user password secret\n")
    pinned(index.files[ARCHIVE]).fetch(tmp_path / "into").unlink()
    (tmp_path / "home" / ".netrc").unlink()
    monkeypatch.setenv("PIP_INDEX_URL", index.address.replace("//", "//user:secret@") + "/simple")
    assert pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")


@pytest.mark.skipif(not shutil.which("openssl"), reason="a certificate is made with openssl")
def test_pips_certificate_holds(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = tmp_path / "certificate.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout key -out c -addext"
    subprocess.run([*make.split(), "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, cwd=tmp_path)
    both.write_text((tmp_path / "key").read_text() + (tmp_path / "c").read_text())
    with serving(Index({ARCHIVE: sdist(NAME, VERSION, written)}), both) as index:
        monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
        with pytest.raises(UserError, match=r"could not fetch.*certificate"):
            pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")
        monkeypatch.setenv("PIP_CERT", str(tmp_path / "c"))
        assert pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")


def test_a_pip_that_has_changed_is_told_and_nothing_is_built(
    index: Index, written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other" / "pip" / "_internal").mkdir(parents=True)
    (tmp_path / "other" / "pip" / "__init__.py").touch()
    (tmp_path / "other" / "pip" / "_internal" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'other'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    with pytest.raises(
        UserError, match=r"this pip cannot hand out an archive unbuilt.*download the source archive"
    ):
        pinned(index.files[ARCHIVE]).fetch(tmp_path / "into")
    assert not written.exists()


@pytest.mark.parametrize("is_sdist", [True, False])
def test_a_pip_that_lies_in_the_current_folder_is_not_run(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_sdist: bool
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in ("pip.py", "hashlib.py", "pathlib.py"):
        (here / name).write_text(f"open({str(tmp_path / 'run')!r}, 'a').write({name!r})\n")
    monkeypatch.chdir(here)
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.address}/simple")
    content = index.files[ARCHIVE if is_sdist else WHEEL]
    assert pinned(content, is_sdist).fetch(tmp_path / "into").read_bytes() == content
    assert not (tmp_path / "run").exists()


def test_every_interpreter_that_we_start_leaves_the_current_folder_out() -> None:
    """Nothing in the sources starts a Python without -P."""
    source = Path(packages.__file__).parents[1]
    starts = [
        (path.name, line.strip())
        for path in source.rglob("*.py")
        for line in path.read_text().splitlines()
        if "sys.executable" in line and "[sys.executable" in line
    ]
    assert starts
    assert [line for _, line in starts if '[sys.executable, "-P"' not in line] == []
