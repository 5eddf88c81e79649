"""A text with a colour behind each word as strong as the word's value, and the strongest words as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.core.atomic import whole_file
from whyrank.plots.style import BAD, GOOD, INK, QUIET, SETTINGS, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RAISES, LOWERS = GOOD, BAD
PAGE, LINE = 9.2, 0.30  # inches: the width of the figure, the height of a line of text
#: A piece of text, or the name of a bar, and its value.
Valued = tuple[str, float]


def draw_highlighted_text(
    path: Path, *, title: str, subtitle: str, text: Sequence[Valued], bars: Sequence[Valued], bars_label: str
) -> Path:
    """Draws the figure; the suffix of `path` says the format (svg, png). Same input, same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    characters = sum(len(chunk) + 1 for chunk, _ in text)
    height = 1.0 + max((characters // 62 + 2) * LINE, 0.5 + 0.30 * len(bars))
    top = 1 - 0.72 / height
    with rc_context(SETTINGS):
        figure = Figure(figsize=(PAGE, height), facecolor="white")
        figure.text(0.02, 1 - 0.30 / height, title, size=13, weight="bold", color=INK, va="center")
        figure.text(0.02, 1 - 0.58 / height, subtitle, size=9, color=QUIET, va="center")
        draw_marked_text(figure.add_axes((0.02, 0.02, 0.58, top - 0.04)), text)
        draw_bars(figure.add_axes((0.74, 0.55 / height, 0.22, top - 0.60 / height)), bars, bars_label)
        with whole_file(path) as partial:
            figure.savefig(partial, format=path.suffix.removeprefix("."), dpi=160, metadata=_undated(path))
    return path


def draw_marked_text(axes: Axes, text: Sequence[Valued]) -> Axes:
    """The text chunk by chunk, wrapped at the axes' width."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = axes.figure
    renderer = FigureCanvasAgg(figure).get_renderer()
    axes.set_axis_off()
    box = axes.get_window_extent(renderer)
    strongest = max((abs(value) for _, value in text), default=0) or 1
    x, y = 0.0, box.height - LINE * figure.dpi / 2
    for chunk, value in text:
        drawn = axes.text(0, 0, chunk, size=10, color=INK, va="center")
        width = drawn.get_window_extent(renderer).width
        if x + width > box.width:
            x, y = 0.0, y - LINE * figure.dpi
        drawn.set_position((x / box.width, y / box.height))
        drawn.set_transform(axes.transAxes)
        strength = abs(value) / strongest
        if strength > 0.03:
            ground = {"facecolor": RAISES if value > 0 else LOWERS, "alpha": 0.75 * strength**0.7}
            drawn.set_bbox({**ground, "edgecolor": "none", "pad": 1.2})
        x += width + 0.045 * figure.dpi
    return axes


def draw_bars(axes: Axes, bars: Sequence[Valued], label: str) -> Axes:
    """One bar per name, to the right of 0 for what raises the score, to the left for what lowers it."""
    places, values = range(len(bars)), [value for _, value in bars]
    axes.barh(places, values, color=[RAISES if value > 0 else LOWERS for value in values], height=0.62)
    axes.set_yticks(places, [name for name, _ in bars], size=9, color=INK)
    axes.invert_yaxis()
    axes.axvline(0, color=QUIET, linewidth=0.8)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8, colors=QUIET)
    axes.set_xlabel(label, size=8, color=QUIET)
    bare(axes).spines["left"].set_visible(False)
    return axes


def _undated(path: Path) -> dict[str, str | None]:
    return {"Date": None} if path.suffix == ".svg" else {"Software": None}
