"""Long work in stages, each kept as a JSON file as soon as it is done: a kill costs one of them at most."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from whyrank.core.json_file import typed
from whyrank.core.kept import content_key, keep_json, kept_json
from whyrank.core.names import plain_name
from whyrank.core.results import plain

T = TypeVar("T")


@dataclass(frozen=True)
class Stages:
    """A folder of one work's stages (its name must tell the work from any other); without one nothing is kept."""

    folder: Path | None = None

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        """The stage's result, made now or read; what is made comes back as it would be read."""
        if self.folder is None:
            return json.loads(json.dumps(make()))
        path, key = self.folder / f"{plain_name(name)}.json", content_key(name)
        found = kept_json(path, key, dict[str, Any])
        if found is None:
            keep_json(path, key, {"value": make()})
            found = kept_json(path, key, dict[str, Any])
            assert found is not None, f"{path} cannot be read back"
        return found["value"]

    def typed(self, name: str, kind: Any, make: Callable[[], T]) -> T:
        """The same of a stage whose result is of a `kind` that JSON can hold: a dataclass, dict[str, Estimate]."""
        found: T = typed(self.get(name, lambda: plain(make())), kind)
        return found

    def shards(self, name: str) -> Path | None:
        """A folder for the shards of a part of the work."""
        return None if self.folder is None else self.folder / "shards" / plain_name(name)

    def within(self, name: str) -> Stages:
        """The stages of a part of the work, in a folder of their own."""
        return Stages(None if self.folder is None else self.folder / plain_name(name))
