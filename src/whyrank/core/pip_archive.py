"""Run as a script: fetches one file of the Python index as it is, through the user's pip settings.

`pip download` builds a source archive to learn its dependencies, which runs the archive's own code and whatever
its build asks for. Here pip looks the file up and sends the request, nothing more: its options, index, proxy,
certificates, passwords and `file:` addresses hold, and nothing is unpacked, built or run. pip has no public way to
ask for that, so this uses four of its internals, alike in pip 21.3 to 26.0: `DownloadCommand`, its session, its
finder, and the finder's candidates. Without them the error names pip's version; nothing is built then, either.

    python -P pip_archive.py TARGET SHA256 NAME VERSION

Ends with 0 and the file at TARGET, its hash checked; else with a line that begins with ERROR.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

#: Said when this pip lacks one of the four things.
UNKNOWN_PIP = "this pip cannot hand out an archive unbuilt"
#: The archive as it is: a server must not pack it once more on the way.
HEADERS = {"Accept-Encoding": "identity"}


def main(target: str, sha256: str, name: str, version: str) -> int:
    """Runs pip's own command line up to the point where the file is known."""
    try:
        from pip._internal.commands.download import DownloadCommand
        from pip._internal.exceptions import InstallationError
    except ImportError as error:
        print(f"ERROR: {error if error.name == 'pip' else UNKNOWN_PIP}", file=sys.stderr)
        return 1

    class FetchArchive(DownloadCommand):
        """`pip download` with its settings, without what it does after it has found the file."""

        def run(self, options: Any, args: list[str]) -> int:
            try:
                session = self.get_default_session(options)
                finder = self._build_package_finder(options, session, ignore_requires_python=True)
                found = [c.link for c in finder.find_all_candidates(name) if str(c.version) == version]
                reason = _fetch(session, found, sha256, Path(target))
            except (AttributeError, TypeError) as error:
                raise InstallationError(f"{UNKNOWN_PIP} ({error})") from error
            if reason:
                raise InstallationError(reason)
            return 0

    settings = ["--quiet", "--disable-pip-version-check", "--no-binary", name]
    return int(FetchArchive("download", "").main([*settings, *sys.argv[5:]]))


def _fetch(session: Any, links: list[Any], sha256: str, target: Path) -> str | None:
    """The first file with the hash, at `target`; else why there is none. What the index says of a file spares the
    request; what counts is the file's own hash."""
    reason = "no such version on the index, or the index is out of reach"
    for link in links:
        if link.hash_name == "sha256" and link.hash != sha256:
            reason = "came with another hash"
            continue
        try:
            _save(session, link.url.partition("#")[0], target)
        except OSError as error:  # what requests raises is one, too
            reason = " ".join(str(error).split())
            continue
        with target.open("rb") as handle:
            if hashlib.file_digest(handle, "sha256").hexdigest() == sha256:
                return None
        target.unlink()
        reason = "came with another hash"
    return reason


def _save(session: Any, address: str, target: Path) -> None:
    """The bytes as they were sent."""
    with session.get(address, headers=HEADERS, stream=True) as answer, target.open("wb") as sink:
        answer.raise_for_status()
        while chunk := answer.raw.read(2**20):
            sink.write(chunk)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
