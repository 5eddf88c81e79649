"""Runs: one life cycle for every command, whoever calls it.

    with Run.open(out, "audit", inputs, caller) as run:     # claims the folder; without one nothing is kept
        result = run.finished(Audit)                        # the same work, done before: decoded, not done again
        if result is None:
            with run.progress("scoring", 200) as advance:   # from here on the folder belongs to this work
                result = ...                                # shards and stages in run.work(...) survive a kill
            run.save(result)                                # the result's files, then the manifest

A refused input (`UserError`) inside the block leaves a new folder as it was found. `RunFolder` is the folder
itself, written by one process at a time, with a manifest of how it came about.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from whyrank.core.atomic import PARTIAL, DiskError, check_writable, disk_errors, remove_folder, write_json
from whyrank.core.caller import SILENT, Caller
from whyrank.core.changes import changes
from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.core.lock import Lock
from whyrank.core.packages import sha256
from whyrank.core.progress import Progress
from whyrank.core.stages import Stages
from whyrank.core.version import installed_version, versions

if TYPE_CHECKING:
    from whyrank.core.results import Result

R = TypeVar("R", bound="Result")
#: What a manifest says, as JSON has it.
Manifest = dict[str, Any]
MANIFEST = "manifest.json"
#: Says whose a folder is while its results are being written.
CLAIM = ".claim.json"
LOCK = ".lock"
#: Folders of work that is kept until the run is finished; the key follows.
WORK = ("shards", "stages", "training")
#: Packages whose versions can change a number.
LIBRARIES = ("tokenizers", "bm25s", "ir_measures", "numpy", "scipy")
ANOTHER = "choose another folder"
DAMAGED = f"delete the folder or {ANOTHER}"


@dataclass(frozen=True)
class Known:
    """What a manifest or a claim says of the work that a folder belongs to."""

    command_name: str
    key: str
    inputs: dict[str, Any]
    versions: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunFolder:
    """A folder that belongs to one command with one set of inputs (by content) and one set of versions.

    It is locked until `release`, the end of a `with` block, or the end of this object or the process.
    """

    path: Path
    command: str
    inputs: Mapping[str, Any]
    asked: str | None = None
    _lock: Lock | None = field(default=None, repr=False, compare=False)

    @classmethod
    def claim(
        cls,
        path: Path,
        command: str,
        inputs: Mapping[str, Any],
        *,
        asked: str | None = None,
        hold: bool = True,
        renew: bool = False,
    ) -> RunFolder:
        """The folder for this work; refused when it holds other work's result, or another process works there.

        `hold=False` is for parts of a run whose own folder is held, and for helpers of the process that holds it;
        with `renew`, a result of the same command with other inputs or versions is done again in its place.
        `asked` is what the manifest and the lock say was asked for, in the caller's words.
        """
        if path.exists() and not path.is_dir():
            raise UserError(
                "a file stands where the run folder should be", where=path, todo="choose another folder"
            )
        check_writable(path)
        folder = cls(path, command, inputs, asked, _locked(path, asked) if hold else None)
        try:
            folder._check(renew)
            if hold:
                folder._clean()
        except BaseException:
            folder.release()
            raise
        return folder

    @property
    def key(self) -> str:
        """What tells this work from other work: a hash of the command, its inputs and the versions."""
        content = json.dumps([self.command, self.inputs, versions()], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    def work(self, kind: str) -> Path:
        """A hidden folder for what is kept until the run is finished: `shards`, `stages` or `training`."""
        assert kind in WORK, kind
        return self.path / f".{kind}-{self.key}"

    def manifest(self) -> Manifest:
        """The manifest of finished work, or nothing."""
        path = self.path / MANIFEST
        return read_json(path, dict[str, Any], todo=DAMAGED) if path.exists() else {}

    def begin(self) -> None:
        """Marks the folder as this work's, before its first result is written, in case it is killed half-way."""
        known = {"command_name": self.command, "key": self.key, "inputs": self.inputs, "versions": versions()}
        write_json(self.path / CLAIM, known)

    def finish(self, **facts: Any) -> None:
        """Writes the manifest: the work is done."""
        self.save(self.record(**facts))

    def save(self, manifest: Manifest) -> None:
        """Writes a manifest that `record` made, with the checksums of all results, and deletes what was kept."""
        files = sorted(path for path in self.path.rglob("*") if path.is_file() and not _hidden(path, self.path))
        sums = {path.relative_to(self.path).as_posix(): sha256(path) for path in files if path.name != MANIFEST}
        write_json(self.path / MANIFEST, {**manifest, "files": sums})
        (self.path / CLAIM).unlink(missing_ok=True)
        self._forget_work()

    def record(self, **facts: Any) -> Manifest:
        """What the manifest will say."""
        return {
            "command_name": self.command,
            "command": self.asked or f"whyrank.{self.command.replace(' ', '_').replace('-', '_')}(...) in Python",
            "key": self.key,
            "inputs": self.inputs,
            **facts,
            "versions": {**versions(), **{name: installed_version(name) for name in LIBRARIES}},
            "machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()},
        }

    def give_up(self) -> None:
        """Leaves nothing of work that turned out to be refused, so that the folder can be used again."""
        for kind in WORK:
            remove_folder(self.work(kind))
        (self.path / CLAIM).unlink(missing_ok=True)

    def release(self) -> None:
        """Lets others in; a folder in which nothing was made is deleted."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _check(self, renew: bool) -> None:
        known = _read(self.path / MANIFEST) or _read(self.path / CLAIM)
        if known is None:
            if self.path.is_dir() and any(not inside.name.startswith(".") for inside in self.path.iterdir()):
                raise UserError(
                    "this folder holds other files",
                    where=self.path,
                    todo="choose a new or empty folder",
                )
        elif (known.command_name, known.key) != (self.command, self.key):
            if not (renew and known.command_name == self.command):
                raise self._other_work(known)
            (self.path / MANIFEST).unlink(missing_ok=True)
        for inside in self.path.rglob("*") if self.path.is_dir() else ():
            if inside.is_symlink():
                raise UserError(
                    "a link in the run folder", where=inside, todo="delete it, or choose another folder"
                )

    def _other_work(self, known: Known) -> UserError:
        todo = f"{ANOTHER}, or delete it"
        if known.command_name != self.command:
            what = f"this folder holds the result of 'whyrank {known.command_name}'"
            return UserError(f"{what} with other inputs", where=self.path, todo=todo)
        now = json.loads(json.dumps(dict(self.inputs)))
        made_by = {name: known.versions.get(name) for name in versions()}
        whose = "other versions" if known.inputs == now and made_by != versions() else "other inputs"
        changed = changes({**known.inputs, "version": made_by}, {**now, "version": versions()})
        return UserError(
            f"this folder holds the result of 'whyrank {self.command}' with {whose}{changed}",
            where=self.path,
            todo=todo,
        )

    def _clean(self) -> None:
        """Deletes what killed processes left half-written, and the kept work of a run that is finished."""
        for left in self.path.rglob(f".*{PARTIAL}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        if (self.path / MANIFEST).exists():
            self._forget_work()

    def _forget_work(self) -> None:
        for kind in WORK:
            for left in self.path.glob(f".{kind}-*"):
                remove_folder(left)


@dataclass
class Run:
    """One piece of work, from the claim of its folder to the manifest. Without a folder nothing is kept."""

    folder: RunFolder | None
    caller: Caller = SILENT
    _began: bool = False
    _keeps: bool = False

    @classmethod
    def open(
        cls,
        path: Path | str | None,
        command: str,
        inputs: Mapping[str, Any],
        caller: Caller = SILENT,
        *,
        hold: bool = True,
        renew: bool = False,
    ) -> Run:
        """Claims the folder for this work (see `RunFolder.claim`); `inputs` are all that the result depends on."""
        if path is None:
            return cls(None, caller)
        return cls(
            RunFolder.claim(Path(path), command, inputs, asked=caller.asked, hold=hold, renew=renew), caller
        )

    @property
    def path(self) -> Path | None:
        return None if self.folder is None else self.folder.path

    def say(self, text: str) -> None:
        """A message for the caller."""
        self.caller.say(text)

    def begin(self) -> None:
        """From here on results are written: the folder is this work's, whatever happens."""
        if self.folder is not None and not self._began:
            self.folder.begin()
            self._began = True

    def keep_work(self) -> None:
        """From here on a `UserError` leaves the kept work: hours of training are not deleted for a NaN loss."""
        self._keeps = True

    def progress(self, name: str, total: int, unit: str = "pairs") -> AbstractContextManager[Progress]:
        """The progress of a step of the work, which begins it."""
        self.begin()
        return self.caller.progress(name, total, unit)

    def work(self, kind: str) -> Path | None:
        """A folder for work that survives a kill: `shards`, `stages` or `training`."""
        return None if self.folder is None else self.folder.work(kind)

    def stages(self) -> Stages:
        """The steps of the work, each kept as soon as it is done."""
        return Stages(self.work("stages"))

    def finished(self, kind: type[R]) -> R | None:
        """The result of this very work, if the folder holds it whole."""
        if self.folder is None or not is_finished(self.folder.path):
            return None
        self.say(f"{self.folder.path} holds this result already; delete it to compute it again")
        return kind.read(self.folder.path)

    def save(self, result: Result, **facts: Any) -> list[Path]:
        """Writes the result's files and then the manifest, with `facts` about the work; returns the paths."""
        if self.folder is None:
            return []
        paths = self.write(result, **facts)
        self.finish(**facts)
        self.say(f"wrote {', '.join(path.name for path in paths)} to {self.folder.path}")
        return paths

    def write(self, result: Result, **facts: Any) -> list[Path]:
        """Writes the result's files and returns their paths; the run is not finished yet."""
        if self.folder is None:
            return []
        self.begin()
        return result.write(self.folder.path, self.folder.record(**facts))

    def finish(self, **facts: Any) -> None:
        """Writes the manifest: the work is done, and all its files are written."""
        if self.folder is not None:
            self.folder.finish(**facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self.folder is not None:
            if isinstance(error, UserError) and not isinstance(error, DiskError) and not self._keeps:
                self.folder.give_up()
            self.folder.release()


def is_finished(path: Path) -> bool:
    """Whether a folder holds a finished run, all its files as they were written."""
    known = _read(path / MANIFEST)
    return known is not None and all(
        (path / name).is_file() and sha256(path / name) == content for name, content in known.files.items()
    )


def holds(path: Path, name: str) -> bool:
    """Whether a folder holds this file of a finished run, as it was written."""
    known, file = _read(path / MANIFEST), path / name
    return known is not None and file.is_file() and known.files.get(name) == sha256(file)


def _locked(path: Path, asked: str | None) -> Lock:
    """The folder's lock, in it."""
    with disk_errors(path):
        while True:
            path.mkdir(parents=True, exist_ok=True)
            try:
                lock = Lock(path / LOCK, with_folder=True, asked=asked)
                return lock.acquire(todo="wait for it to end, or choose another folder")
            except FileNotFoundError:  # somebody who gave it up has just deleted the empty folder: once more
                continue


def _hidden(path: Path, below: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(below).parts)


def _read(path: Path) -> Known | None:
    if not path.exists():
        return None
    try:
        return read_json(path, Known)
    except UserError as error:
        raise UserError(f"a damaged manifest ({error.what})", where=path, todo=DAMAGED) from error
