"""Scores and relevance, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyrank.evaluation.calibration import Bin
from whyrank.evaluation.estimate import percent
from whyrank.explain.calibration import Calibration
from whyrank.plots.style import GOOD, INK, QUIET, SERIES, bare

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_scores(found: Calibration, axes: Axes) -> Axes:
    """The share of relevant documents by score, the isotonic fit, and the cut-off."""
    _points(axes, found.by_score)
    knots = found.knots
    axes.plot([k.score for k in knots], [k.probability for k in knots], color=SERIES[0], label="isotonic fit")
    if found.cut_off is not None and found.cut_off.score is not None:
        label = f"cut-off for {percent(found.cut_off.wanted)}"
        axes.axvline(found.cut_off.score, color=GOOD, linestyle="--", linewidth=1, label=label)
    axes.legend(loc="upper left")
    axes.set_xlabel("score")
    return axes


def plot_reliability(found: Calibration, axes: Axes) -> Axes:
    """The share of relevant documents by held-out probability."""
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8)
    _points(axes, found.by_probability)
    axes.set_xlabel("held-out probability")
    axes.set_xlim(0, 1)
    return axes


def _points(axes: Axes, bins: tuple[Bin, ...]) -> None:
    for one in bins:
        if one.share.low is not None and one.share.high is not None:
            bare(axes).plot([one.mean] * 2, [one.share.low, one.share.high], color=INK, linewidth=1)
    bare(axes).plot(
        [one.mean for one in bins], [one.share.value or 0.0 for one in bins], "o", color=INK, markersize=4
    )
    axes.set_ylim(-0.02, 1.02)
    axes.set_ylabel("share relevant")
