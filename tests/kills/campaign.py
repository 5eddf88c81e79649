"""Kills of one command: what it makes undisturbed, then each kill, the same command again, and what differs."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.kills.child import Ended, Trouble, run
from whyrank.core.atomic import PARTIAL
from whyrank.core.runs import MANIFEST, is_finished

#: Of a manifest, what is about the machine and the moment.
MOMENT = ("seconds", "rate", "pairs_per_second", "machine")

#: A read-only folder, a full disk, a forbidden one, a broken one.
DISK_ERRORS = (errno.EROFS, errno.ENOSPC, errno.EACCES, errno.EIO)


@dataclass(frozen=True)
class Command:
    """A command to kill: `work(place)` runs it; `prepare(place)` makes its inputs; it writes below `place/out`."""

    name: str
    prepare: Callable[[Path], object]
    work: Callable[[Path], None]


@dataclass
class Count:
    """What came of a command's troubles."""

    command: str
    changes: int
    seconds: float
    kills: int = 0
    disk_errors: int = 0
    failures: list[str] = field(default_factory=list)


def campaign(command: Command, place: Path, kills: int, disk_errors: int = 0, seed: int = 0) -> Count:
    """So many kills of a command, two of three at a change of a file, and so many errors of the disk."""
    place.mkdir(parents=True)
    command.prepare(place)
    before = _listing(place)
    whole, expected = _undisturbed(command, place)
    _clear(place, before)
    _, again = _undisturbed(command, place)
    _clear(place, before)
    steady = {name for name, content in expected.items() if again.get(name) == content}
    moving = sorted(set(expected) - steady)
    count = Count(command.name, whole.changes, whole.seconds)
    if set(again) != set(expected) or any(not name.endswith(".html") for name in moving):
        count.failures.append(f"{command.name}: two undisturbed runs differ: {moving}")
    for trouble in _troubles(whole, kills, disk_errors, random.Random(f"{command.name} {seed}")):
        ended = run(lambda: command.work(place), place, _log(place), trouble)
        problem = _wrong_end(ended, trouble) or _wrong_result(command, place, expected, steady)
        if problem:
            count.failures.append(f"{command.name}, {trouble}: {problem}")
        count.kills += ended.code == -signal.SIGKILL
        count.disk_errors += trouble.error is not None
        _clear(place, before)
    return count


def _undisturbed(command: Command, place: Path) -> tuple[Ended, dict[str, str]]:
    ended = run(lambda: command.work(place), place, _log(place))
    assert ended.code == 0, f"{command.name}: {ended.words}"
    return ended, _contents(place)


def _troubles(whole: Ended, kills: int, disk_errors: int, chance: random.Random) -> Iterator[Trouble]:
    """Spread over all changes that the command makes; the moments are random."""
    at_moments = kills // 3
    for i in range(kills - at_moments):
        yield Trouble(change=1 + (i * whole.changes) // (kills - at_moments))
    for _ in range(at_moments):
        yield Trouble(seconds=chance.uniform(0, 0.9 * whole.seconds))
    for i in range(disk_errors):
        yield Trouble(change=1 + (i * whole.changes) // disk_errors, error=DISK_ERRORS[i % len(DISK_ERRORS)])


def _wrong_end(ended: Ended, trouble: Trouble) -> str | None:
    """A command that was to be killed may have ended before; one whose disk fails says so in one line."""
    if trouble.error is None:
        return None if ended.code in (-signal.SIGKILL, 0) else f"ended with {ended.code}: {ended.words[-800:]}"
    complaints = [line for line in ended.words.splitlines() if line.startswith("whyrank: ")]
    if (ended.code, len(complaints)) == (2, 1) and "Traceback" not in ended.words:
        return None
    return f"ended with {ended.code}: {ended.words[-1500:]}"


def _wrong_result(command: Command, place: Path, expected: dict[str, str], steady: set[str]) -> str | None:
    """What is wrong now, or after the same command was run again; None where nothing is."""
    for manifest in place.rglob(MANIFEST):
        hidden = any(part.startswith(".") for part in manifest.relative_to(place).parts)
        if not hidden and not is_finished(manifest.parent):
            return f"{manifest.relative_to(place)} says that it is finished, and files differ"
    _age(place)
    again = run(lambda: command.work(place), place, _log(place))
    if again.code != 0:
        return f"the same command again ended with {again.code}: {again.words[-800:]}"
    found = _contents(place)
    if set(found) != set(expected):
        return f"missing {sorted(set(expected) - set(found))}, left over {sorted(set(found) - set(expected))}"
    other = sorted(name for name in steady if found[name] != expected[name])
    return f"other contents: {other}" if other else None


def _age(place: Path) -> None:
    """As if the user had waited: for a second a half-written file may be another process's."""
    for left in place.rglob(f".*{PARTIAL}*"):
        os.utime(left, (1, 1))


def _contents(place: Path) -> dict[str, str]:
    """A hash of every file, hidden ones too; of a manifest without what is about the moment."""
    return {
        path.relative_to(place).as_posix(): _hash(path)
        for path in sorted(place.rglob("*"))
        if path.is_file() or path.is_symlink()
    }


def _hash(path: Path) -> str:
    content = path.read_bytes()
    if path.name == MANIFEST:
        manifest = json.loads(content)
        manifest.pop("files", None)
        content = json.dumps(_without_moment(manifest), sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def _without_moment(value: object) -> object:
    if isinstance(value, dict):
        return {key: _without_moment(inside) for key, inside in value.items() if key not in MOMENT}
    return [_without_moment(inside) for inside in value] if isinstance(value, list) else value


def _log(place: Path) -> Path:
    return place.parent / f"{place.name}.log"


def _listing(place: Path) -> set[Path]:
    return set(place.rglob("*"))


def _clear(place: Path, before: set[Path]) -> None:
    """Deletes what was not there before."""
    for path in sorted(_listing(place) - before):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
