"""Which numbers of a frozen digest are not in a present one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator

from tests.golden.digest import Column, Digest

#: Of a value.
RELATIVE = 2e-4
#: Of numbers in JSON: shares of a gap, means, probabilities.
ABSOLUTE = 2e-5
#: Two numbers so near each other are one, written twice.
TWICE = 1e-5
#: Of the largest number in a table: scores are added up in single precision.
OF_THE_LARGEST = 3e-6


def differences(
    frozen: Digest, present: Digest, meant: Callable[[str], bool] = lambda line: False
) -> Iterator[str]:
    """One line for each thing that is gone or has changed, beginning with where it was. A number whose line is
    `meant` is not looked for, so that it does not take the place of another that is near it."""
    for name, columns in frozen.tables.items():
        yield from _table(name, columns, present.tables.get(name))
    for name, scores in frozen.runs.items():
        yield from _run(name, scores, present.runs.get(name))
    yield from _numbers(frozen.numbers, present.numbers, meant)
    yield from (f"count {one} is in no JSON file" for one in frozen.counts if one not in present.counts)
    yield from (f"name {one} is in no JSON file" for one in frozen.names if one not in present.names)
    yield from (f"{one} is not written" for one in frozen.reports if one not in present.reports)


def _close(a: float, b: float, absolute: float) -> bool:
    return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=absolute)


def _table(name: str, frozen: dict[str, Column], present: dict[str, Column] | None) -> Iterator[str]:
    if present is None:
        yield f"{name} is not written"
        return
    largest = max(
        (abs(one) for column in frozen.values() for one in column if isinstance(one, float)), default=0.0
    )
    for key, column in frozen.items():
        found = present.get(key)
        if found is None:
            yield f"{name}: no column {key}"
        elif len(found) != len(column):
            yield f"{name}: column {key} has {len(found)} rows, not {len(column)}"
        else:
            pairs = zip(column, found, strict=True)
            off = [i for i, (a, b) in enumerate(pairs) if not _same(a, b, OF_THE_LARGEST * largest)]
            if off:
                example = f"row {off[0]}: {column[off[0]]} was, {found[off[0]]} is"
                yield f"{name}: column {key}: {len(off)} of {len(column)} values differ; {example}"


def _same(a: object, b: object, absolute: float) -> bool:
    if isinstance(a, float) and isinstance(b, int | float) and not isinstance(b, bool):
        return _close(a, b, absolute)
    return a == b


def _run(name: str, frozen: dict[str, float], present: dict[str, float] | None) -> Iterator[str]:
    """The same documents and scores; in the order of their scores, whatever the order of ties."""
    if present is None:
        yield f"{name} is not written"
        return
    largest = max(map(abs, frozen.values()), default=0.0)
    for key in sorted(frozen.keys() ^ present.keys()):
        yield f"{name}: {key} is {'gone' if key in frozen else 'new'}"
    for key in frozen.keys() & present.keys():
        if not _close(frozen[key], present[key], OF_THE_LARGEST * largest):
            yield f"{name}: {key} had {frozen[key]}, has {present[key]}"
    lines = list(present.items())
    for (first, high), (second, low) in itertools.pairwise(lines):
        if first.split()[0] == second.split()[0] and low > high:
            yield f"{name}: {second} is below {first} though its score is higher"


def _numbers(
    frozen: dict[str, dict[str, float]], present: dict[str, dict[str, float]], meant: Callable[[str], bool]
) -> Iterator[str]:
    """Each number finds one of its own in the present JSON, whichever file and key it has there now; what was
    written twice may be written once."""
    where = {
        value: f"{name}: {key}"
        for name, inside in frozen.items()
        for key, value in inside.items()
        if not meant(_gone(f"{name}: {key}", value))
    }
    found = Counter(value for inside in present.values() for value in inside.values())
    changed = sorted(where.keys() - found.keys())
    left = sorted((found - Counter(dict.fromkeys(where, 1))).elements())
    place, before = 0, math.nan
    for value in changed:
        if math.isclose(value, before, rel_tol=TWICE):
            continue
        while place < len(left) and left[place] < value and not _close(value, left[place], ABSOLUTE):
            place += 1
        if place < len(left) and _close(value, left[place], ABSOLUTE):
            place, before = place + 1, value
        else:
            yield _gone(where[value], value)


def _gone(place: str, value: float) -> str:
    return f"{place} was {value}, which is gone"
