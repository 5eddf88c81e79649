"""A figure's SVG as a part of a page: as wide as the column, in the page's colours, light or dark."""

from __future__ import annotations

import re
from html import escape

#: Colours of plots -> the page's, which differ in the dark.
COLOURS = {
    "#1c1e21": "ink", "#6b7177": "quiet", "#14608a": "blue", "#d1781f": "orange", "#6a4fa3": "violet",
    "#1b7f5c": "green", "#b3423a": "red", "#7a6a4f": "brown", "#c9ced3": "neutral", "#d4d8dc": "missing",
}  # fmt: skip
#: How far a figure is stretched, so that its text is not larger than the page's, and how far it shrinks, so that
#: its text can be read: a wider one scrolls in its box.
STRETCH, SHRINK = 1.35, 0.6
#: CSS pixels in a point.
PIXELS = 4 / 3
_NOT_SHOWN = re.compile(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", re.DOTALL)
_SIZE = re.compile(r'\s(?:width|height)="[^"]*"')
_COLOUR = re.compile("|".join(COLOURS))
_ID = re.compile(r'\sid="([^"]*)"')


def inline_svg(svg: str, label: str) -> str:
    """The figure's element; `label` is its text alternative."""
    start = svg.index("<svg")
    end = svg.index(">", start)
    inside = _NOT_SHOWN.sub("", svg[end:])
    inside = inside.replace("fill: #ffffff", "fill: none", 1)  # the ground is the page's
    inside = _COLOUR.sub(lambda found: f"var(--{COLOURS[found[0]]})", inside)
    inside = _ID.sub(lambda found: found[0] if f"#{found[1]}" in svg else "", inside)
    head = _SIZE.sub("", svg[start:end])
    return (
        head.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"{_limits(svg[start:end])}', 1) + inside
    )


def _limits(head: str) -> str:
    """How wide it may become, by its own width."""
    found = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) [\d.]+"', head)
    if not found:
        return ""
    width = PIXELS * float(found[1])
    return f' style="max-width: {STRETCH * width:.0f}px; min-width: {SHRINK * width:.0f}px"'
