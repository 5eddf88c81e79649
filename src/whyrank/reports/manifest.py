"""Run folders: what a command leaves, with a manifest that says how it came about."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from whyrank.errors import UserError
from whyrank.store.atomic import write_text

MANIFEST = "manifest.json"
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
        known = folder.manifest()
        if known and (known.get("command_name"), known.get("key")) != (command, folder.key):
            raise UserError(
                f"this folder holds the result of 'whyrank {known.get('command_name')}' with other inputs",
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
        path = self.path / MANIFEST
        try:
            return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        except ValueError as error:
            raise UserError(
                "a damaged manifest", where=path, todo="delete the folder or choose another -o"
            ) from error

    def finish(self, **facts: Any) -> None:
        """Writes the manifest: the work is done."""
        manifest = {
            "command_name": self.command,
            "command": " ".join(["whyrank", *sys.argv[1:]]),
            "key": self.key,
            "inputs": self.inputs,
            **facts,
            "versions": {name: _version(name) for name in LIBRARIES},
            "machine": {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()},
        }
        write_text(self.path / MANIFEST, json.dumps(manifest, indent=2) + "\n")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
