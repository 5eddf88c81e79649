"""What a text is called where its id says nothing: its beginning, or what stands around a word."""

from __future__ import annotations

#: Characters of a title, and to each side of a word in a snippet.
TITLE, AROUND = 60, 50


def title_of(text: str, most: int = TITLE) -> str:
    """The beginning of a text on one line: its first sentence, or what fits."""
    line = " ".join(text.split())
    first = line.split(". ")[0]
    return first if len(first) <= most else f"{first[: most - 1].rstrip()}…"


def snippet_of(text: str, start: int, end: int) -> str:
    """What stands around text[start:end], on one line."""
    left, right = max(0, start - AROUND), min(len(text), end + AROUND)
    inside = " ".join(text[left:right].split())
    return f"{'…' if left else ''}{inside}{'…' if right < len(text) else ''}"
