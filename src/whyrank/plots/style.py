"""How figures look, and how they become SVG."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD, NEUTRAL, BAD, INK, QUIET = "#1b7f5c", "#c9ced3", "#b3423a", "#1c1e21", "#6b7177"
#: One colour per ranker; they differ also for those who do not see red and green apart.
SERIES = ("#14608a", "#d1781f", "#6a4fa3", "#1b7f5c", "#b3423a", "#7a6a4f")
#: Inches of a figure that fills the column of a report and can still be read on a phone.
WIDTH = 6.2
#: What draws the text where there is no DejaVu; the widths of its letters are the same.
FONTS = "'DejaVu Sans', Verdana, sans-serif"
SETTINGS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "svg.fonttype": "none",
    "svg.hashsalt": "whyrank",
    "text.parse_math": False,  # names and tokens with dollar signs are not formulas
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "xtick.color": QUIET,
    "ytick.color": INK,
    "axes.titlesize": 10,
    "axes.facecolor": "none",
    "text.color": INK,
    "legend.frameon": False,
}


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """A figure in inches, in our style."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        yield Figure(figsize=(width, height), facecolor="white", layout="constrained")


def svg_of(draw: Callable[[Axes], object], height: float, width: float = WIDTH) -> str:
    """What a function draws on axes, as SVG."""
    with drawing(width, height) as figure:
        draw(figure.subplots())
        return as_svg(figure)


def new_axes(width: float, height: float) -> Axes:
    """Axes on a figure of their own, in our style."""
    with drawing(width, height) as figure:
        return figure.subplots()


def bare(axes: Axes) -> Axes:
    """Without the upper and the right edge."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return axes


def as_svg(figure: Figure) -> str:
    """The figure as SVG text; the same figure always makes the same text."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the browser's own fonts draw the text
        warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)  # names longer than it
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue().replace("'DejaVu Sans'", FONTS)
