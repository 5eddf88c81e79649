"""Long work in stages, each kept as a JSON file as soon as it is done: a kill costs one of them at most."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyrank.store.atomic import write_text


@dataclass(frozen=True)
class Stages:
    """A folder of one work's stages (its name must tell the work from any other); without one nothing is kept."""

    folder: Path | None = None

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The stage's result, made now or read; what is made comes back as it would be read."""
        if self.folder is None:
            return json.loads(json.dumps(make()))
        path = self.folder / f"{name}.json"
        if not path.exists():
            write_text(path, json.dumps(make(), allow_nan=False))
        return json.loads(path.read_text(encoding="utf-8"))

    def shards(self, name: str) -> Path | None:
        """A folder for the shards of a part of the work."""
        return None if self.folder is None else self.folder / "shards" / name
