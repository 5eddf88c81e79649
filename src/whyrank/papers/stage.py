"""A study is a list of commands with their arguments; each leaves its own run folder, or file, inside the
study's."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Stage:
    """One command of whyrank, by the names of its function's arguments; done when `result` is there.

    An argument that is a function is asked for its value when the stage begins: it may depend on stages before.
    """

    name: str
    title: str
    command: str
    result: Path
    arguments: dict[str, Any] = field(default_factory=dict)

    def resolved(self) -> Stage:
        """The same with all arguments known."""
        known = {name: value() if callable(value) else value for name, value in self.arguments.items()}
        return replace(self, arguments=known)

    def words(self) -> list[str]:
        """The command line that does the same."""
        said = [self.command]
        for name, value in self.arguments.items():
            flag = SHORT.get(name, "--" + name.replace("_", "-"))
            if value is None or value is False:
                continue
            for one in value if isinstance(value, list) else [value]:
                said += [flag] if one is True else [flag, str(one)]
        return said


#: Arguments whose option has another name.
SHORT = {"out": "-o", "n": "-n", "queries": "-n", "k": "-k"}
