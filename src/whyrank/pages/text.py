"""A user's text on a page, a colour behind each word as strong as its value."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from whyrank.pages.glossary import given

#: Below this share of the strongest value a word is not coloured.
FAINT = 0.03


def marked(text: Sequence[tuple[str, float]], caption: str) -> str:
    """The pieces of a text with their values: green raises, red lowers; the value shows under the pointer."""
    strongest = max((abs(value) for _, value in text), default=0.0) or 1.0
    pieces = " ".join(_piece(piece, value, value / strongest) for piece, value in text)
    return (
        f'<figure class="text"><figcaption>{escape(caption)}</figcaption>'
        f"<blockquote>{given(pieces)}</blockquote></figure>"
    )


def _piece(piece: str, value: float, share: float) -> str:
    if abs(share) <= FAINT:
        return escape(piece)
    colour, strength = ("green" if share > 0 else "red"), round(75 * abs(share) ** 0.7)
    style = f"background: color-mix(in srgb, var(--{colour}) {strength}%, transparent)"
    return f'<span style="{style}" title="{value:+.3f}">{escape(piece)}</span>'
