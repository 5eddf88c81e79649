"""What a command left in a folder, independent of the shapes of its JSON.

Tables by column name, TREC runs by query and document, JSON as numbers (with the path of each), counts and names.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import pyarrow.parquet
from safetensors.numpy import load_file

#: Texts longer than this are kept as a hash.
SHORT = 24
#: Of a longer table, about so many rows are kept.
ROWS = 400
#: What is about the machine, the moment and the version.
SKIPPED_FILES = ("manifest.json", "config.json", "tokenizer.json", "tokenizer_config.json", "whyrank.json")
SKIPPED_KEYS = ("bytes", "seconds", "rate", "pairs_per_second", "machine", "format")
#: Sites, axioms, ids of queries, documents and pairs.
NAME = re.compile(r"L\d+(\.[\w.@]+)?|[A-Z]{3,4}\d?(:[a-z-]+)?|[qdp]\d[\w-]{0,6}")

Column = list[Any]


@dataclass
class Digest:
    """`tables` are file -> column -> values; `runs` are file -> 'qid docno' -> score, in the order of the file."""

    tables: dict[str, dict[str, Column]] = field(default_factory=dict)
    runs: dict[str, dict[str, float]] = field(default_factory=dict)
    numbers: dict[str, dict[str, float]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Of all files that the command left for its user."""
        found = cls()
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
            if path.is_file() and not hidden and path.name not in SKIPPED_FILES:
                found._add(name, path)
        found.counts, found.names = sorted(set(found.counts)), sorted(set(found.names))
        return found

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(gzip.decompress(path.read_bytes())))

    def write(self, path: Path) -> None:
        text = json.dumps(asdict(self), separators=(",", ":"))
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))

    def _add(self, name: str, path: Path) -> None:
        match path.suffix:
            case ".parquet":
                self.tables[name] = _columns(pyarrow.parquet.read_table(path).to_pydict())
            case ".jsonl":
                self.tables[name] = _columns(_by_key([json.loads(line) for line in path.open(encoding="utf-8")]))
            case ".trec":
                self.runs[name] = _run(path)
            case ".json":
                self._add_json(name, _read(path))
            case ".safetensors":
                weights = load_file(path)
                self.numbers[name] = {key: rounded(float((one**2).sum() ** 0.5)) for key, one in weights.items()}
            case ".html":
                self.reports.append(name)

    def _add_json(self, name: str, content: Any) -> None:
        self.numbers[name] = {}
        for path, value in _leaves(content):
            if isinstance(value, float):
                self.numbers[name][".".join(path)] = rounded(value)
            elif isinstance(value, int) and not isinstance(value, bool):
                self.counts.append(value)
            self.names += [one for one in (*path, value) if isinstance(one, str) and NAME.fullmatch(one)]


def rounded(value: float) -> float:
    """To six significant digits."""
    return float(f"{value:.6g}")


def _read(path: Path) -> Any:
    """JSON, or a line of JSON for each record."""
    text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]


def _leaves(content: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(content, Mapping):
        inside: Iterable[tuple[Any, Any]] = content.items()
    elif isinstance(content, list):
        inside = enumerate(content)
    else:
        yield path, content
        return
    for key, value in inside:
        if key not in SKIPPED_KEYS:
            yield from _leaves(value, (*path, str(key)))


def _by_key(rows: list[dict[str, Any]]) -> dict[str, Column]:
    keys = sorted({key for row in rows for key in row})
    return {key: [row.get(key) for row in rows] for key in keys}


def _columns(table: Mapping[str, Column]) -> dict[str, Column]:
    """About `ROWS` of the rows, and how many there are."""
    rows = max((len(column) for column in table.values()), default=0)
    kept = slice(None, None, max(1, rows // ROWS))
    return {name: [_cell(value) for value in column[kept]] for name, column in table.items()} | {"(rows)": [rows]}


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else rounded(value)
    if isinstance(value, list | dict):
        value = json.dumps(value, sort_keys=True)
    if isinstance(value, str) and len(value) > SHORT:
        return "#" + hashlib.sha256(value.encode()).hexdigest()[:8]
    return value


def _run(path: Path) -> dict[str, float]:
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {f"{qid} {docno}": rounded(float(score)) for qid, _, docno, _, score, _ in lines}
