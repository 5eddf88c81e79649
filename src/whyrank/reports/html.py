"""Reports: one HTML file that needs nothing else, light and dark, printable, with its command and manifest."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from whyrank.store.atomic import write_text

Cell = str | float | int | None
#: The columns and rows behind a figure.
Data = tuple[Sequence[str], Sequence[Sequence[Cell]]]
#: Figures by name: SVG, caption, and the data behind it.
Figures = dict[str, tuple[str, str, Data]]
#: Letters of a cell that may go over several lines.
LONG = 40
#: What stands between these is what the report says; outside of them is the page.
BEGIN, END = "<!-- report -->", "<!-- end of report -->"

STYLE = """
:root { --ink: #1c1e21; --quiet: #5d646b; --ground: #ffffff; --line: #d9dde1; --card: #f5f6f8; --accent: #14608a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --quiet: #a2a9b0; --ground: #15181b; --line: #363c42; --card: #1e2226;
    --accent: #7cc0e8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
p.lead { color: var(--quiet); margin-top: 0; } a { color: var(--accent); }
nav ol { columns: 2; padding-left: 1.2rem; } figure { margin: 1rem 0; }
figure svg { width: auto; max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 6px; }
figcaption, p.caption { color: var(--quiet); font-size: .88rem; margin: .6rem 0 0; }
.wide { overflow-x: auto; } .wide svg { min-width: min(100%, 20rem); }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { padding: .25rem .6rem; white-space: nowrap;
  border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.long { white-space: normal; min-width: 16rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--card); padding: .7rem; overflow-x: auto; font-size: .8rem; border-radius: 6px; }
details { margin: .4rem 0; } summary { cursor: pointer; }
mark { background: #ffe08a; color: #1c1e21; } mark.other { background: #f3b7a8; }
@media (max-width: 40rem) { nav ol { columns: 1; } }
@media print { body { max-width: none; } nav { display: none; } figure, tr { break-inside: avoid; } }
"""


@dataclass
class Report:
    """A report under construction: parts are added in order, `write` makes the page."""

    title: str
    lead: str
    _parts: list[str] = field(default_factory=list)
    _headings: list[tuple[str, str]] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Starts a section, which the table of contents lists."""
        name = f"section-{len(self._headings) + 1}"
        self._headings.append((name, text))
        self._parts.append(f'<h2 id="{name}">{escape(text)}</h2>')

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Cell]], caption: str = "") -> None:
        """A table; numbers are right-aligned as they are given, text is escaped."""
        numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(columns))]
        head = "".join(f"<th{_class(n)}>{escape(c)}</th>" for c, n in zip(columns, numeric, strict=True))
        body = "".join(
            "<tr>"
            + "".join(f"<td{_class(n, v)}>{escape(_text(v))}</td>" for v, n in zip(row, numeric, strict=True))
            + "</tr>"
            for row in rows
        )
        told = f'<p class="caption">{escape(caption)}</p>' if caption else ""
        self._parts.append(
            f'{told}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        )

    def figure(self, svg: str, caption: str, data: Data) -> None:
        """An SVG figure; its caption is also its text alternative; the data behind it can be downloaded as CSV."""
        drawing = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        link = f' <a download="data.csv" href="{_csv_link(*data)}">data (CSV)</a>'
        told = f"<figcaption>{escape(caption)}{link}</figcaption>"
        self._parts.append(f'<figure><div class="wide">{drawing}</div>{told}</figure>')

    def include(self, page: Path) -> None:
        """The parts of another report of ours, its headings one level down."""
        body = page.read_text(encoding="utf-8").split(BEGIN, 1)[1].split(END, 1)[0]
        self._parts.append(re.sub(r'<h2 id="[^"]*">(.*?)</h2>', r"<h3>\1</h3>", body))

    def html(self, raw: str) -> None:
        """Markup of our own making; whoever calls this has escaped what came from outside."""
        self._parts.append(raw)

    def write(self, path: Path, manifest: dict[str, Any]) -> Path:
        """The page, whole or not at all."""
        contents = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in self._headings)
        page = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width, initial-scale=1"><title>{escape(self.title)}</title>'
            f"<style>{STYLE}</style></head><body><h1>{escape(self.title)}</h1>"
            f'<p class="lead">{escape(self.lead)}</p><nav><ol>{contents}</ol></nav><main>'
            f"{BEGIN}{''.join(self._parts)}{END}"
            f"<h2>How this was made</h2><pre>{escape(str(manifest.get('command', '')))}</pre><details><summary>"
            f"Manifest</summary><pre>{escape(json.dumps(manifest, indent=2))}</pre></details></main>"
            "</body></html>\n"
        )
        write_text(path, page)
        return path


def _csv_link(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerows([columns, *rows])
    return "data:text/csv;base64," + base64.b64encode(buffer.getvalue().encode()).decode()


def _is_number(value: Cell) -> bool:
    return value is None or isinstance(value, int | float) or (bool(value) and value[:1] in "+-.0123456789<–")


def _class(numeric: bool, value: Cell = None) -> str:
    """Numbers to the right; text that is long may go over several lines."""
    if isinstance(value, str) and len(value) > LONG:
        return ' class="long"'
    return ' class="number"' if numeric else ""


def _text(value: Cell) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
