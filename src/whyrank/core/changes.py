"""Which inputs of a run differ from those of another, in words."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

#: Inputs named of those that differ.
NAMED = 4
#: What stands for a content: nobody can read it.
HASH = re.compile(r"[0-9a-f]{16,}")


def changes(before: Mapping[str, Any] | None, now: Mapping[str, Any]) -> str:
    """` (epochs was 3 and is 5; another collection)`: which inputs differ, and how, where they can be read."""
    if before is None:
        return ""
    old, new = flat(before), flat(json.loads(json.dumps(now)))
    names = [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    named = [_change(name, old.get(name), new.get(name)) for name in names[:NAMED]]
    more = [f"and {len(names) - NAMED} more"] * (len(names) > NAMED)
    return f" ({'; '.join([*named, *more])})" if named else ""


def flat(inputs: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested values by names with dots between them."""
    found: dict[str, Any] = {}
    for name, value in inputs.items():
        found |= flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def _change(name: str, before: Any, now: Any) -> str:
    hashes = any(isinstance(value, str) and HASH.fullmatch(value) for value in (before, now))
    return f"another {name}" if hashes else f"{name} was {json.dumps(before)} and is {json.dumps(now)}"
