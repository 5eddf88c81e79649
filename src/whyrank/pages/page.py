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

from whyrank.core.atomic import write_text

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
#: Letters of a column's title that may go over two lines.
LONG_TITLE = 16

STYLE = """
:root { color-scheme: light dark; --ink: #1c1e21; --quiet: #5d646b; --ground: #ffffff; --line: #d9dde1;
  --card: #f5f6f8; --accent: #14608a; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --quiet: #a2a9b0; --ground: #15181b; --line: #363c42; --card: #1e2226;
    --accent: #7cc0e8; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 76rem; color: var(--ink); background: var(--ground);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
section.verdict { border-left: 4px solid var(--accent); background: var(--card); padding: .2rem 1rem;
  max-width: 56rem; border-radius: 0 6px 6px 0; font-size: 1.05rem; }
p.lead { color: var(--quiet); margin-top: 0; } a { color: var(--accent); }
nav ol { columns: 2; padding-left: 1.8rem; } figure { margin: 1rem 0 1.6rem; }
figure svg { display: block; width: auto; max-width: max(100%, 44rem); height: auto; background: #fff;
  border: 1px solid var(--line); border-radius: 6px; }
p, figcaption, p.caption { max-width: 56rem; }
figcaption, p.caption { color: var(--quiet); font-size: .88rem; margin: .6rem 0 0; }
.wide { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .88rem; margin: .6rem 0; }
th, td { padding: .25rem .6rem; white-space: nowrap;
  border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { vertical-align: bottom; } th.wraps { white-space: normal; min-width: 6rem; }
td.long { white-space: normal; min-width: 11rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: var(--card); padding: .7rem; overflow-x: auto; font-size: .8rem; border-radius: 6px; }
details { margin: .4rem 0; } summary { cursor: pointer; }
mark { background: #ffe08a; color: #1c1e21; } mark.other { background: #f3b7a8; }
@media (max-width: 40rem) { nav ol { columns: 1; } }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; } nav, figcaption a { display: none; }
  figure, tr { break-inside: avoid; } h2, h3, p.caption { break-after: avoid; }
  figure svg { max-width: 100%; } .wide { overflow: visible; }
  table { font-size: 8pt; } th, td { white-space: normal; padding: .15rem .3rem; } td.long { min-width: 0; }
}
"""


@dataclass
class Report:
    """A report under construction: parts are added in order, `write` makes the page. It begins with the verdict,
    two or three plain sentences."""

    title: str
    lead: str
    verdict: Sequence[str] = ()
    _parts: list[str] = field(default_factory=list)
    _headings: list[tuple[str, str]] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Starts a section, which the table of contents lists."""
        name = f"section-{len(self._headings) + 1}"
        self._headings.append((name, text))
        self._parts.append(f'<h2 id="{name}">{escape(text)}</h2>')

    def paragraph(self, text: str) -> None:
        self._parts.append(f"<p>{escape(text)}</p>")

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
        head = "".join(f"<th{_head_class(n, c)}>{escape(c)}</th>" for c, n in zip(columns, numeric, strict=True))
        body = "".join(
            "<tr>"
            + "".join(f"<td{_class(n, v)}>{escape(_text(v))}</td>" for v, n in zip(row, numeric, strict=True))
            + "</tr>"
            for row in rows
        )
        told = f'<p class="caption">{escape(caption)}</p>' if caption else ""
        table = f'{told}<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        self._parts.append(f"<details><summary>{escape(folded)}</summary>{table}</details>" if folded else table)

    def figure(self, svg: str, caption: str, data: Data, name: str = "data") -> None:
        """An SVG figure; its caption is also its text alternative; the data behind it can be downloaded as CSV,
        under its `name`."""
        drawing = svg[svg.index("<svg") :].replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        link = f' <a download="{escape(name)}.csv" href="{_csv_link(*data)}">data (CSV)</a>'
        told = f"<figcaption>{escape(caption)}{link}</figcaption>"
        self._parts.append(f'<figure><div class="wide">{drawing}</div>{told}</figure>')

    def include(self, page: Path) -> None:
        """The parts of another report of ours, its headings one level down."""
        body = page.read_text(encoding="utf-8").split(BEGIN, 1)[1].split(END, 1)[0]
        self._parts.append(re.sub(r'<h2 id="[^"]*">(.*?)</h2>', r"<h3>\1</h3>", body))

    def html(self, raw: str) -> None:
        """Markup of our own making; whoever calls this has escaped what came from outside."""
        self._parts.append(raw)

    def _verdict(self) -> str:
        sentences = "".join(f"<p>{escape(one)}</p>" for one in self.verdict)
        return f'<section class="verdict" aria-label="Verdict">{sentences}</section>' if sentences else ""

    def write(self, path: Path, manifest: dict[str, Any]) -> Path:
        """The page, whole or not at all."""
        contents = "".join(f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in self._headings)
        contents += f'<li><a href="#{MADE}">How this was made</a></li>'
        page = (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width, initial-scale=1"><title>{escape(self.title)}</title>'
            f"<style>{STYLE}</style></head><body><h1>{escape(self.title)}</h1>"
            f'<p class="lead">{escape(self.lead)}</p>{self._verdict()}<nav><ol>{contents}</ol></nav><main>'
            f"{BEGIN}{''.join(self._parts)}{END}"
            f'<h2 id="{MADE}">How this was made</h2><pre>'
            f"{escape(str(manifest.get('command', '')))}</pre><details><summary>"
            f"Manifest</summary><pre>{escape(json.dumps(manifest, indent=2))}</pre></details></main>"
            "</body></html>\n"
        )
        write_text(path, page)
        return path


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
