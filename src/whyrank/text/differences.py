"""Where two texts differ, by words, in time that grows with their length and not with its square.

What both begin and end with is set aside; a short rest is compared exactly (Ratcliff and Obershelp, difflib); a
long one is cut at the words that stand in both once, in the same order (patience diff), and each part compared in
turn. Where that costs too much, a part is one difference: more than is needed, never less.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from whyrank.text.tokens import Span

#: Words of one side times words of the other that are compared exactly, in one part and in all of them.
EXACT, EXACT_IN_ALL = 2_000_000, 8_000_000
#: How often a part is cut into parts.
DEEPEST = 20


class Stretch(NamedTuple):
    """A part of each of two sequences: from a to b in the first, from c to d in the second."""

    a: int
    b: int
    c: int
    d: int


def word_differences(baseline: str, perturbed: str) -> dict[str, list[Span]]:
    """The spans in which two texts differ, by words, for pairs whose author gave none."""
    ours, theirs = _chunks(baseline), _chunks(perturbed)
    words = [baseline[a:b] for a, b in ours], [perturbed[a:b] for a, b in theirs]
    found = stretches(*words)
    return {
        "baseline": [_hull(ours, one.a, one.b, len(baseline)) for one in found],
        "perturbed": [_hull(theirs, one.c, one.d, len(perturbed)) for one in found],
    }


def stretches(ours: Sequence[str], theirs: Sequence[str]) -> list[Stretch]:
    """The stretches in which two sequences differ, in order, none next to another."""
    found: list[Stretch] = []
    parts, left = [(Stretch(0, len(ours), 0, len(theirs)), 0)], EXACT_IN_ALL
    while parts:
        part, depth = parts.pop()
        part = _inner(ours, theirs, part)
        size = (part.b - part.a) * (part.d - part.c)
        if size == 0:  # nothing on one side or on both
            found += [part] if part.b > part.a or part.d > part.c else []
        elif size <= min(EXACT, left):
            left -= size
            found += _exact(ours, theirs, part)
        else:
            between = list(_between_anchors(ours, theirs, part)) if depth < DEEPEST else [part]
            found += between if between == [part] else []
            parts += [] if between == [part] else [(one, depth + 1) for one in between]
    return _joined(sorted(found))


def _inner(ours: Sequence[str], theirs: Sequence[str], part: Stretch) -> Stretch:
    """A part without what both sides begin and end with."""
    a, b, c, d = part
    while a < b and c < d and ours[a] == theirs[c]:
        a, c = a + 1, c + 1
    while a < b and c < d and ours[b - 1] == theirs[d - 1]:
        b, d = b - 1, d - 1
    return Stretch(a, b, c, d)


def _exact(ours: Sequence[str], theirs: Sequence[str], part: Stretch) -> list[Stretch]:
    matcher = SequenceMatcher(None, ours[part.a : part.b], theirs[part.c : part.d], autojunk=False)
    codes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return [Stretch(part.a + a, part.a + b, part.c + c, part.c + d) for _, a, b, c, d in codes]


def _between_anchors(ours: Sequence[str], theirs: Sequence[str], part: Stretch) -> Iterator[Stretch]:
    """What lies between the words that stand once on each side, of which as many as go in one order are taken."""
    a, c = part.a, part.c
    for i, j in _anchors(ours, theirs, part):
        yield Stretch(a, i, c, j)
        a, c = i + 1, j + 1
    yield Stretch(a, part.b, c, part.d)


def _anchors(ours: Sequence[str], theirs: Sequence[str], part: Stretch) -> list[tuple[int, int]]:
    counts = [Counter(ours[part.a : part.b]), Counter(theirs[part.c : part.d])]
    once = {word for word, count in counts[0].items() if count == 1 == counts[1].get(word)}
    places = {theirs[j]: j for j in range(part.c, part.d) if theirs[j] in once}
    return _rising([(i, places[ours[i]]) for i in range(part.a, part.b) if ours[i] in once])


def _rising(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest sequence of the points, in their order, whose second numbers rise."""
    ends: list[int] = []  # the least last value of a rising sequence of each length
    last: list[int] = []  # the point that it is
    before: list[int | None] = []
    for number, (_, value) in enumerate(points):
        length = bisect_left(ends, value)
        if length == len(ends):
            ends.append(value)
            last.append(number)
        else:
            ends[length], last[length] = value, number
        before.append(last[length - 1] if length else None)
    found, at = [], last[-1] if last else None
    while at is not None:
        found.append(points[at])
        at = before[at]
    return found[::-1]


def _joined(found: Sequence[Stretch]) -> list[Stretch]:
    """Stretches with nothing between them as one."""
    joined: list[Stretch] = []
    for one in found:
        if joined and (joined[-1].b, joined[-1].d) == (one.a, one.c):
            one = Stretch(joined[-1].a, one.b, joined.pop().c, one.d)
        joined.append(one)
    return joined


def _chunks(text: str) -> list[Span]:
    """White space and what is not, by turns, so that the chunks together are the text."""
    return [match.span() for match in re.finditer(r"\s+|\w+|[^\w\s]", text)]


def _hull(spans: list[Span], first: int, last: int, end: int) -> Span:
    start = spans[first][0] if first < len(spans) else end
    return (start, spans[last - 1][1]) if last > first else (start, start)
