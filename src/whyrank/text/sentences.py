"""Sentences, by rule: enough for choosing and adding whole ones, not a linguist's segmentation."""

from __future__ import annotations

import re

#: An end mark, perhaps a closing quote or bracket, white space, then what can begin a sentence.
_BOUNDARY = re.compile(r"""(?<=[.!?])["')\]]*\s+(?=["'(\[]*[A-Z0-9À-Þ])""")
#: A full stop after these does not end a sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|approx|No|Fig|U\.S|a\.m|p\.m)|\b[A-Z])\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The character spans of the sentences; together they hold everything but the white space between them."""
    spans, start = [], 0
    for match in _BOUNDARY.finditer(text):
        if _ABBREVIATION.search(text, start, match.start()):
            continue
        spans.append((start, match.start() + len(match.group().rstrip())))
        start = match.end()
    spans.append((start, len(text)))
    return [(a, b) for a, b in ((a + _blank(text[a:b]), b) for a, b in spans) if text[a:b].strip()]


def sentences(text: str) -> list[str]:
    """The sentences of a text."""
    return [text[start:end].rstrip() for start, end in sentence_spans(text)]


def _blank(text: str) -> int:
    return len(text) - len(text.lstrip())
