"""Reports: one HTML file that needs nothing else, light and dark, printable, with its command and manifest."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_text
from whyrank.pages.glossary import Glossary
from whyrank.pages.inline_svg import inline_svg
from whyrank.pages.stylesheet import STYLE
from whyrank.pages.terms import Term

Cell = str | float | int | None
#: The columns and rows behind a figure.
Data = tuple[Sequence[str], Sequence[Sequence[Cell]]]
#: SVG, caption, and the data behind it.
Figure = tuple[str, str, Data]
#: By name.
Figures = dict[str, Figure]
#: Letters of a cell that may go over several lines.
LONG = 30
#: What stands between these is what the report says; outside of them is the page.
BEGIN, END = "<!-- report -->", "<!-- end of report -->"
#: With these a spreadsheet's formula begins, the wide forms as well.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")
#: Where the command and the manifest stand.
MADE = "how-this-was-made"
GLOSSARY = "glossary"
#: Letters of a column's title that may go over two lines.
LONG_TITLE = 16


@dataclass
class Report:
    """A report under construction: parts are added in order, `write` makes the page. It begins with the verdict,
    two or three plain sentences, and ends with a glossary of the terms it uses; `terms` are its own."""

    title: str
    lead: str
    verdict: Sequence[str] = ()
    terms: Sequence[Term] = ()
    _parts: list[str] = field(default_factory=list)
    _headings: list[tuple[str, str]] = field(default_factory=list)
    _linked: set[str] = field(default_factory=set)

    @cached_property
    def glossary(self) -> Glossary:
        return Glossary.of(self.terms)

    def heading(self, text: str) -> None:
        """Starts a section, which the table of contents lists."""
        name = f"section-{len(self._headings) + 1}"
        self._headings.append((name, text))
        self._linked.clear()
        self._parts.append(f'<h2 id="{name}">{escape(text)}</h2>')

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{self._text(text)}</p>")

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        caption: str = "",
        *,
        folded: str | None = None,
    ) -> None:
        """A table; numbers are right-aligned as they are given, text is escaped. `folded`: it opens on a click on
        these words."""
        numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
        above = f'<p class="caption">{self._text(caption)}</p>' if caption else ""
        heads = zip(columns, numeric, strict=True)
        head = "".join(
            f"<th{_head_class(number, name)}{_title(self.glossary.topic(name))}>{escape(name)}</th>"
            for name, number in heads
        )
        body = "".join(f"<tr>{self._cells(row, numeric)}</tr>" for row in rows)
        box = f'<div class="wide table" role="region" tabindex="0" aria-label="{escape(_label(columns))}">'
        table = f"{above}{box}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        self._parts.append(f"<details><summary>{escape(folded)}</summary>{table}</details>" if folded else table)

    def figure(self, svg: str, caption: str, data: Data, name: str = "data") -> None:
        """An SVG figure; its caption is also its text alternative; the data behind it can be downloaded as CSV,
        under its `name`."""
        link = f' <a download="{escape(name)}.csv" href="{_csv_link(*data)}">data (CSV)</a>'
        box = f'<div class="wide" role="group" tabindex="0" aria-label="Figure">{inline_svg(svg, caption)}</div>'
        self._parts.append(f"<figure>{box}<figcaption>{self._text(caption)}{link}</figcaption></figure>")

    def include(self, page: Path) -> None:
        """The parts of another report of ours, its headings one level down."""
        body = page.read_text(encoding="utf-8").split(BEGIN, 1)[1].split(END, 1)[0]
        self._parts.append(re.sub(r'<h2 id="[^"]*">(.*?)</h2>', r"<h3>\1</h3>", body))

    def html(self, raw: str) -> None:
        """Markup of our own making; whoever calls this has escaped what came from outside."""
        self._parts.append(raw)

    def write(self, path: Path, manifest: dict[str, Any]) -> Path:
        """The page, whole or not at all."""
        body = f"{BEGIN}{''.join(self._parts)}{END}"
        top = f"<h1>{escape(self.title)}</h1>{self._opening()}"
        found = self.glossary.entries(top + body)
        entries = f'<h2 id="{GLOSSARY}">Glossary</h2>{found}' if found else ""
        write_text(
            path,
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width, initial-scale=1"><title>{escape(self.title)}</title>'
            f"<style>{STYLE}</style></head><body>{top}{self._contents(bool(entries))}<main>{body}"
            f"{entries}{_how_made(manifest)}</main>"
            "</body></html>\n",
        )
        return path

    def _text(self, text: str) -> str:
        """Text as markup; in each section the first mention of a term leads to its entry in the glossary."""
        return self.glossary.linked(text, self._linked)

    def _cells(self, row: Sequence[Cell], numeric: Sequence[bool]) -> str:
        return "".join(
            f"<td{_class(number, value)}{_title(self._meaning(value))}>{escape(_text(value))}</td>"
            for value, number in zip(row, numeric, strict=True)
        )

    def _meaning(self, value: Cell) -> str | None:
        return self.glossary.meaning(value) if isinstance(value, str) else None

    def _opening(self) -> str:
        """The lead and the verdict."""
        seen: set[str] = set()
        lead = f'<p class="lead">{self.glossary.linked(self.lead, seen)}</p>'
        sentences = "".join(f"<p>{self.glossary.linked(one, seen)}</p>" for one in self.verdict)
        if not sentences:
            return lead
        return f'{lead}<section class="verdict" aria-label="Verdict">{sentences}</section>'

    def _contents(self, with_glossary: bool) -> str:
        more = [(GLOSSARY, "Glossary")] if with_glossary else []
        entries = [*self._headings, *more, (MADE, "How this was made")]
        items = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in entries)
        return f'<nav aria-label="Contents"><ol>{items}</ol></nav>'


def _how_made(manifest: dict[str, Any]) -> str:
    command, everything = str(manifest.get("command", "")), json.dumps(manifest, indent=2)
    return (
        f'<h2 id="{MADE}">How this was made</h2><pre>{escape(command)}</pre>'
        f"<details><summary>Manifest</summary><pre>{escape(everything)}</pre></details>"
    )


def _title(meaning: str | None) -> str:
    return f' title="{escape(meaning)}"' if meaning else ""


def _label(columns: Sequence[str]) -> str:
    """What a table's box is called where it is read aloud."""
    return f"Table: {', '.join(columns)}"


def _csv_link(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([[csv_cell(cell) for cell in row] for row in (columns, *rows)])
    return "data:text/csv;base64," + base64.b64encode(buffer.getvalue().encode()).decode()


def csv_cell(value: Cell) -> Cell:
    """A cell that no spreadsheet takes for a formula: a text that begins like one has a quote in front."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _is_number(value: Cell) -> bool:
    return value is None or isinstance(value, int | float) or (bool(value) and value[:1] in "+-.0123456789<–")


def _head_class(numeric: bool, title: str) -> str:
    names = ["number"] * numeric + ["wraps"] * (len(title) > LONG_TITLE)
    return f' class="{" ".join(names)}"' if names else ""


def _class(numeric: bool, value: Cell = None) -> str:
    """Numbers to the right; text that is long may go over several lines."""
    if isinstance(value, str) and len(value) > LONG:
        return ' class="long"'
    return ' class="number"' if numeric else ""


def _text(value: Cell) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
