"""Maps of what blocks send at the tokens of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from whyrank.circuits.results import LOGITS
from whyrank.encoders.site import BLOCK_PARTS
from whyrank.interventions.statistics import SiteSummary
from whyrank.pages.page import Cell, Figures
from whyrank.plots.heat_map import heat_maps
from whyrank.text.categories import CATEGORIES


def token_figures(found: Mapping[str, Sequence[SiteSummary]]) -> Figures:
    """For each set of receivers a map of layers and kinds of tokens for each block."""
    figures: Figures = {}
    for name, some in found.items():
        present = {one.category for one in some}
        kinds = [kind for kind in CATEGORIES if kind in present]
        layers = 1 + max((one.layer or 0 for one in some), default=0)
        panels = {
            block: {
                (one.layer, kinds.index(one.category)): one.share.value
                for one in some
                if one.part == block and one.layer is not None and one.category and one.share.value is not None
            }
            for block in BLOCK_PARTS
        }
        svg = heat_maps(
            panels, [str(i) for i in range(layers)], kinds, row_title="layer", column_title="tokens",
            value_title="share of the gap",
        )  # fmt: skip
        to = "the logits" if name == LOGITS else f"the {name} heads, all together (q, k, v)"
        caption = (
            f"Residual stream, attention and MLP output of each layer as senders to {to}, at the tokens of each "
            "kind. The residual stream carries what all below it send."
        )
        rows: list[list[Cell]] = [
            [one.whole, one.category, one.share.value, one.share.low, one.share.high, one.n] for one in some
        ]
        figures[f"senders-by-token-{name}"] = (
            svg,
            caption,
            (["sender", "tokens", "share", "low", "high", "n"], rows),
        )
    return figures
