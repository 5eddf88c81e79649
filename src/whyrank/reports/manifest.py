"""Run folders: what a command leaves, with a manifest that says how it came about."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whyrank.errors import UserError
from whyrank.store.atomic import check_writable, write_text

MANIFEST = "manifest.json"
#: Says whose a folder is while its results are being written.
CLAIM = ".claim.json"
#: Inputs named of those that differ.
NAMED = 4
#: What stands for a content: nobody can read it.
HASH = re.compile(r"[0-9a-f]{16,}")
#: Packages whose versions can change a number.
LIBRARIES = ("whyrank", "torch", "transformers", "tokenizers", "bm25s", "ir_measures", "numpy", "scipy")


@dataclass(frozen=True)
class RunFolder:
    """A folder that belongs to one command with one set of inputs, told by their content."""

    path: Path
    command: str
    inputs: Mapping[str, Any]

    @classmethod
    def claim(cls, path: Path, command: str, inputs: Mapping[str, Any]) -> RunFolder:
        """The folder for this work; refused when it holds the result of other work."""
        folder = cls(path, command, inputs)
        if path.exists() and not path.is_dir():
            raise UserError("a file stands where the run folder should be", where=path, todo="choose another -o")
        check_writable(path)
        known = folder.manifest() or _read(path / CLAIM)
        if not known and path.is_dir() and any(not inside.name.startswith(".") for inside in path.iterdir()):
            raise UserError(
                "this folder holds other files", where=path, todo="choose another -o, a new or empty folder"
            )
        if known and (known.get("command_name"), known.get("key")) != (command, folder.key):
            other = known.get("command_name")
            changed = changes(known.get("inputs"), inputs) if other == command else ""
            raise UserError(
                f"this folder holds the result of 'whyrank {other}' with other inputs{changed}",
                where=path,
                todo="choose another -o, or delete it",
            )
        return folder

    @property
    def key(self) -> str:
        """What tells this work from other work: a hash of the command and its inputs."""
        return hashlib.sha256(json.dumps([self.command, self.inputs], sort_keys=True).encode()).hexdigest()[:16]

    def manifest(self) -> dict[str, Any]:
        """The manifest of finished work, or nothing."""
        return _read(self.path / MANIFEST)

    def begin(self) -> None:
        """Marks the folder as this work's, before its first result is written, in case it is killed half-way."""
        told = {"command_name": self.command, "key": self.key, "inputs": self.inputs}
        write_text(self.path / CLAIM, json.dumps(told))

    def finish(self, **facts: Any) -> None:
        """Writes the manifest: the work is done."""
        self.save(self.record(**facts))

    def save(self, manifest: dict[str, Any]) -> None:
        """Writes a manifest that `record` made."""
        write_text(self.path / MANIFEST, json.dumps(manifest, indent=2) + "\n")
        (self.path / CLAIM).unlink(missing_ok=True)

    def record(self, **facts: Any) -> dict[str, Any]:
        """What the manifest will say."""
        return {
            "command_name": self.command,
            "command": shlex.join(["whyrank", *sys.argv[1:]]),
            "key": self.key,
            "inputs": self.inputs,
            **facts,
            "versions": {name: _version(name) for name in LIBRARIES},
            "machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()},
        }


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """` (epochs was 3 and is 5; another collection)`: which inputs differ, and how, where they can be read."""
    if before is None:
        return ""
    old, new = flat(before), flat(json.loads(json.dumps(now)))
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    told = [_change(name, old.get(name), new.get(name)) for name in names[:NAMED]]
    more = [f"and {len(names) - NAMED} more"] * (len(names) > NAMED)
    return f" ({'; '.join([*told, *more])})" if told else ""


def flat(inputs: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested values by names with dots between them."""
    found: dict[str, Any] = {}
    for name, value in inputs.items():
        found |= flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def _change(name: str, before: Any, now: Any) -> str:
    hashes = any(isinstance(value, str) and HASH.fullmatch(value) for value in (before, now))
    return f"another {name}" if hashes else f"{name} was {json.dumps(before)} and is {json.dumps(now)}"


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise UserError("a damaged manifest", where=path, todo="delete the folder or choose another -o") from error


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
