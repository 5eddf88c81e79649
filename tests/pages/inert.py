"""Whether a page or a figure of ours is inert: parsed as a browser parses it, nothing in it would run or load."""

from __future__ import annotations

import base64
import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

#: The elements that our pages and matplotlib's figures are made of.
ELEMENTS = re.compile(
    "html|head|meta|title|style|body|h[123]|p|nav|[ou]l|li|a|main|div|table|thead|tbody|tr|th|td|details|summary|pre|"
    "section|dl|dt|dd|abbr|figure|figcaption|blockquote|mark|small|b|br|code|em|strong|span|svg|g|defs|path|use|rect|text|tspan|clippath|metadata|image|"
    "rdf:rdf|cc:(work|agent)|dc:(type|format|creator|title|date)"
)
#: Where a link may lead: in the page, to data in it, to a page of ours beside it.
LINK = re.compile(
    r"#[\w:.-]*|data:text/csv;base64,[\w+/=]*|data:image/png;base64,[\w+/=\s]*|([\w+=,@-][\w.+=,@-]*/)+report\.html"
)
LINKS = ("href", "xlink:href", "src", "action", "data", "formaction", "poster", "srcset")


class _Page(HTMLParser):
    """What of a page would run or load, and all its text."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.text: list[str] = []
        self.csv: list[str] = []
        self.style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.style = tag == "style"
        if not ELEMENTS.fullmatch(tag):
            self.wrong.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name == "http-equiv":
                self.wrong.append(f"{name}={value}")
            if name in LINKS and not LINK.fullmatch(value or ""):
                self.wrong.append(f"{name}={value}")
            if name == "style" and re.search(r"url\((?!#)|expression|javascript|import", value or ""):
                self.wrong.append(f"style={value}")
            if value and value.startswith("data:text/csv"):
                self.csv.append(base64.b64decode(value.split(",", 1)[1]).decode())

    def handle_data(self, data: str) -> None:
        if self.style and ("alert" in data or "@import" in data or "url(" in data):
            self.wrong.append(f"in a style: {data[:80]}")
        self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.style = False
        if not ELEMENTS.fullmatch(tag):
            self.wrong.append(f"</{tag}>")

    def handle_decl(self, decl: str) -> None:
        if decl.lower() != "doctype html" and "svg" not in decl.lower():
            self.wrong.append(f"<!{decl}>")

    def handle_pi(self, data: str) -> None:
        if not data.startswith("xml "):
            self.wrong.append(f"<?{data}>")

    def unknown_decl(self, data: str) -> None:
        self.wrong.append(f"<![{data[:80]}")


def dangers_of(source: str) -> list[str]:
    """What would run or load in a page or a figure; an SVG must be XML, too."""
    return _read(source).wrong


def text_of(source: str) -> str:
    """What a reader sees of it."""
    return "".join(_read(source).text)


def tables_of(source: str) -> list[list[list[str]]]:
    """The rows of each CSV that a page offers."""
    return [list(csv.reader(io.StringIO(table))) for table in _read(source).csv]


def check_inert(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    wrong = dangers_of(source)
    assert not wrong, f"{path}: {wrong[:5]}"
    if path.suffix == ".svg":
        ElementTree.fromstring(source)
    for cell in (cell for table in tables_of(source) for row in table for cell in row):
        assert not re.match(r"[=+\-@\t\r\n]", cell) or _is_number(cell), f"{path.name}: {cell!r}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read(source: str) -> _Page:
    page = _Page()
    page.feed(source)
    page.close()
    return page
