"""HTML in texts: whether there is any, and the text without it."""

from __future__ import annotations

import re
from collections.abc import Collection
from html.parser import HTMLParser

_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s[^<>]*)?/?>|<!--|<!doctype", re.IGNORECASE)
#: Elements whose content nobody reads, and those that end a line.
HIDDEN = frozenset({"script", "style", "template", "noscript", "head"})
BLOCKS = frozenset(
    re.findall(
        r"\w+",
        "address article aside blockquote br dd div dl dt footer h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre "
        "section table td th tr ul",
    )
)


def count_tags(text: str) -> int:
    """How many HTML tags a text holds."""
    return len(_TAG.findall(text))


def holds_tags(text: str) -> bool:
    """Whether a text holds an HTML tag."""
    return _TAG.search(text) is not None


def markup_note(texts: Collection[str]) -> str | None:
    """`3 of 20 documents hold HTML tags, which the ranker reads`, and what to do; None where none does."""
    held = sum(map(holds_tags, texts))
    if not held:
        return None
    verb = "holds" if held == 1 else "hold"
    return f"{held} of {len(texts)} documents {verb} HTML tags, which the ranker reads; strip_html removes them"


def without_markup(text: str) -> str:
    """What a browser would show: no tags, no scripts and styles, character references resolved."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.parts).splitlines())
    return "\n".join(line for line in lines if line)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in HIDDEN:
            self._hidden.append(tag)
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
