"""What every analysis returns: a frozen dataclass that encodes to JSON, decodes from it and knows its schema.

    @dataclass(frozen=True, repr=False)
    class Audit(Result):
        FILE, COMMAND = "audit.json", "audit"
        ...

One codec (msgspec) serves all of it, so the file, the schema and the type cannot disagree. A field that may be
undefined is `float | None`: JSON has no NaN. Rows that stand in a Parquet table beside the JSON file are a field
made by `table()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import msgspec

from whyrank.core.atomic import write_json, write_text
from whyrank.core.errors import UserError
from whyrank.core.json_file import NotJson, read_json, typed
from whyrank.core.names import plain_name

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

REPORT = "report.html"


@dataclass(frozen=True, repr=False)
class Result(ABC):
    """The base of all results; a subclass is a frozen dataclass with `repr=False`."""

    #: The JSON file in the run folder.
    FILE: ClassVar[str]
    #: The command that makes it, as manifests name it.
    COMMAND: ClassVar[str]
    #: Raised by one when the shape of the file changes.
    FORMAT: ClassVar[int] = 2

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists, numbers and strings: what the JSON file holds."""
        held = {one.name: getattr(self, one.name) for one in fields(self) if one.name not in _tables(type(self))}
        return {"format": self.FORMAT, **plain(held)}

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """The result that `to_json` encoded; a ValueError says what does not fit."""
        if not isinstance(value, dict) or value.get("format") != cls.FORMAT:
            raise NotJson(f"not format {cls.FORMAT} of {cls.FILE}, which this version of whyrank reads")
        found: Self = typed({name: one for name, one in value.items() if name != "format"}, cls)
        return found

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """The result that a run folder holds."""
        path = Path(folder, cls.FILE)
        try:
            return cls.from_json(read_json(path))
        except NotJson as error:
            raise UserError(str(error), where=path, todo="run the command again, into another folder") from error

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON schema of the file."""
        found = msgspec.json.schema(cls, schema_hook=lambda kind: {})
        definition = found["$defs"].pop(cls.__name__)
        if _refers_to(found["$defs"] | {"": definition}, cls.__name__):  # one in another is without its own format
            definition, found["$defs"] = _renamed((definition, found["$defs"]), cls.__name__)
            found["$defs"][f"{cls.__name__}Within"] = {**definition}
        found["$defs"][cls.__name__] = definition
        held = {name: one for name, one in definition["properties"].items() if name not in _tables(cls)}
        definition["properties"] = {"format": {"const": cls.FORMAT}, **held}
        definition["required"] = ["format", *definition.get("required", [])]
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": cls.FILE, **found}

    def write(self, folder: Path, manifest: Manifest) -> list[Path]:
        """Writes all files of the result, each whole or not at all, and returns their paths."""
        path, tables = folder / self.FILE, self.write_tables(folder)
        write_json(path, self.to_json())
        paths = [path, *tables]
        for name, svg in self.figures().items():
            paths.append(folder / f"{plain_name(name)}.svg")
            write_text(paths[-1], svg)
        report = self.write_report(folder / REPORT, manifest)
        return paths if report is None else [*paths, report]

    def write_tables(self, folder: Path) -> list[Path]:
        """Writes what stands beside the JSON file: Parquet tables, TREC runs."""
        return []

    def figures(self) -> Mapping[str, str]:
        """The figures of the report, as SVG by name."""
        return {}

    def write_report(self, path: Path, manifest: Manifest) -> Path | None:
        """Writes the HTML report, of those results that have one."""
        return None

    def save(self, folder: Path | str) -> list[Path]:
        """Writes what the command writes: the JSON file, the tables, the report and a manifest."""
        from whyrank.core.caller import Caller
        from whyrank.core.runs import Run

        caller = Caller(asked=f"saved from Python: {type(self).__name__}.save(...)")
        with Run.open(folder, self.COMMAND, {"result": content_hash(self)}, caller) as run:
            return run.save(self)

    @abstractmethod
    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame."""

    @abstractmethod
    def plot(self, axes: Axes | None = None) -> Axes:
        """The figure that shows the verdict, on these axes or new ones."""

    @abstractmethod
    def verdict(self) -> list[str]:
        """Two or three plain sentences: what was found, and how sure it is."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {' '.join(self.verdict())}"

    def _repr_html_(self) -> str:
        """The verdict and the figure, for notebooks."""
        from html import escape
        from io import StringIO

        from matplotlib.figure import Figure

        figure, buffer = Figure(figsize=(7.2, 4.0), layout="constrained"), StringIO()
        self.plot(figure.subplots())
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        drawing = buffer.getvalue()
        sentences = "".join(f"<p>{escape(one)}</p>" for one in self.verdict())
        return f"{sentences}{drawing[drawing.index('<svg') :]}"


def table() -> Any:
    """A field of rows that the JSON file does not hold: they stand in a table beside it."""
    return field(default=(), repr=False, metadata={"table": True})


def _tables(kind: type[Result]) -> set[str]:
    return {one.name for one in fields(kind) if one.metadata.get("table")}


def plain(value: Any) -> Any:
    """A value as JSON has it: dataclasses as objects, NaN and infinities as null."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _refers_to(value: Any, name: str) -> bool:
    """Whether some part of a schema refers to a definition."""
    if isinstance(value, Mapping):
        return value.get("$ref") == f"#/$defs/{name}" or any(_refers_to(one, name) for one in value.values())
    return isinstance(value, list) and any(_refers_to(one, name) for one in value)


def _renamed(value: Any, name: str) -> Any:
    """A schema that refers to `nameWithin` in the place of `name`."""
    if isinstance(value, Mapping):
        return {
            key: f"#/$defs/{name}Within" if (key, one) == ("$ref", f"#/$defs/{name}") else _renamed(one, name)
            for key, one in value.items()
        }
    return type(value)(_renamed(one, name) for one in value) if isinstance(value, list | tuple) else value


def content_hash(result: Result) -> str:
    """A hash of everything that the JSON file holds."""
    import hashlib

    return hashlib.sha256(msgspec.json.encode(result.to_json(), order="sorted")).hexdigest()[:16]
