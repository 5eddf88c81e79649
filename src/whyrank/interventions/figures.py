"""The figures of a patching run, from its summary; and how its numbers are written."""

from __future__ import annotations

import math
from typing import Any

from whyrank.evaluation.estimate import estimate_text, is_significant
from whyrank.evaluation.interval import Interval
from whyrank.pages.page import Cell, Figures
from whyrank.plots.heat_map import heat_maps, interval_bars, scatter
from whyrank.text.categories import CATEGORIES

#: Sites in the bar chart.
LEADING = 15
#: Rows of a map of heads by category.
MOST_ROWS = 24
#: A split has a figure of its own when it has so many values at most.
MOST_PANELS = 4
Site = dict[str, Any]


def measure_of(summary: dict[str, Any]) -> tuple[str, str]:
    """What is drawn: the share of the gap; for ablations, which close none, the change of the score."""
    if summary["method"] == "ablation":
        return "mean_change", "mean change of the score"
    return "share", "share of the gap" if summary["direction"] == "denoise" else "share of the gap lost"


def interval_of(value: str) -> str:
    """The name of the interval of a value."""
    return {"share": "share_interval", "mean_change": "change_interval"}[value]


def make_figures(summary: dict[str, Any], *, hide: bool = False) -> Figures:
    """The maps that the sites allow, the leading sites, and the comparisons. `hide`: maps are blank where nothing
    is significant."""
    sites, (value, title) = summary["sites"], measure_of(summary)
    if hide:
        summary = _without_insignificant(summary, value)
        sites = summary["sites"]
    found: Figures = {}
    whole_heads = [site for site in sites if _is_head(site) and site["category"] is None]
    if len(whole_heads) > 3:
        caption = f"{about(summary)}: every head's {title}; a dot where it is significant (Holm, 0.05)."
        panels: dict[str, list[Site]] = {}
        for site in whole_heads:
            panels.setdefault(_part(site), []).append(site)
        panels = {"": whole_heads} if list(panels) == ["z"] else panels
        found["heads"] = (_head_map(panels, value, title), caption, _data(whole_heads))
        if len(panels) == 1:
            found.update(_split_maps(summary, value, title))
    blocks = [site for site in sites if site["layer"] is not None and site["head"] is None]
    cut = [site for site in blocks if site["category"] is not None]
    blocks = cut or blocks
    if len(blocks) > 3:
        caption = f"{about(summary)}: residual stream, attention and MLP outputs, layer by layer; {title}."
        found["blocks"] = (_block_map(blocks, value, title), caption, _data(blocks))
    cut_heads = [site for site in sites if site["category"] is not None and site["head"] is not None]
    if cut_heads:
        caption = f"{about(summary)}: heads by the category of the tokens they are patched at; {title}."
        found["categories"] = (_category_map(cut_heads, value, title), caption, _data(cut_heads))
    leading = sorted(
        (site for site in summary["sites"] if site[value] is not None), key=lambda site: -abs(site[value])
    )
    if leading:
        caption = f"{about(summary)}: the sites with the largest effects, with 95% intervals over queries."
        found["leading"] = (_bars(leading[:LEADING], value, title), caption, _data(leading[:LEADING]))
    if summary.get("agreement"):
        points = [
            (p["site"], number_or_nan(p["exact"]), number_or_nan(p["attribution"]))
            for p in summary["agreement"]["points"]
        ]
        told = summary["agreement"]["map"]
        caption = f"Attribution against exact patching, {told['sites']} sites: Pearson {r_text(told)}."
        found["agreement"] = (
            scatter(points, "exact", "attribution"),
            caption,
            (["site", "exact", "attribution"], points),
        )
    if summary.get("compared"):
        compared = summary["compared"]
        points = [(p["site"], number_or_nan(p["here"]), number_or_nan(p["there"])) for p in compared["points"]]
        caption = (
            f"This map against that of {compared['with']}, {compared['sites']} sites: Pearson {r_text(compared)}."
        )
        found["compared"] = (scatter(points, "here", "there"), caption, (["site", "here", "there"], points))
    return found


def _without_insignificant(summary: dict[str, Any], value: str) -> dict[str, Any]:
    """The same with no effect where an effect is not significant."""

    def blank(sites: list[Site]) -> list[Site]:
        return [site if _significant(site) else {**site, value: 0.0} for site in sites]

    splits = {
        name: {group: blank(sites) for group, sites in values.items()}
        for name, values in summary["splits"].items()
    }
    return {**summary, "sites": blank(summary["sites"]), "splits": splits}


def _split_maps(summary: dict[str, Any], value: str, title: str) -> Figures:
    found: Figures = {}
    for name, values in summary["splits"].items():
        if 1 < len(values) <= MOST_PANELS:
            panels = {f"{name.replace('_', ' ')}: {group}": sites for group, sites in values.items()}
            heads = {
                label: [s for s in sites if _is_head(s) and s["category"] is None]
                for label, sites in panels.items()
            }
            told = f"The same by {name.replace('_', ' ')}; {title}."
            data = [[label, *row] for label, sites in heads.items() for row in _data(sites)[1]]
            found[f"heads-by-{name.replace('_', '-')}"] = (
                _head_map(heads, value, title), told, (["split", *_data([])[0]], data),
            )  # fmt: skip
    return found


def _head_map(panels: dict[str, list[Site]], value: str, title: str) -> str:
    every = [site for sites in panels.values() for site in sites]
    layers, heads = 1 + max(site["layer"] for site in every), 1 + max(site["head"] for site in every)
    cells = {
        name: {(s["layer"], s["head"]): s[value] for s in sites if s[value] is not None}
        for name, sites in panels.items()
    }
    marked = {name: {(s["layer"], s["head"]) for s in sites if _significant(s)} for name, sites in panels.items()}
    return heat_maps(
        cells, [str(i) for i in range(layers)], [str(i) for i in range(heads)],
        row_title="layer", column_title="head", value_title=title, marked=marked,
    )  # fmt: skip


def _block_map(blocks: list[Site], value: str, title: str) -> str:
    """Panels resid, attn, mlp; columns the categories, or one for all positions."""
    layers = 1 + max(site["layer"] for site in blocks)
    names = [name for name in CATEGORIES if any(site["category"] == name for site in blocks)]
    columns = names or ["all"]
    panels: dict[str, dict[tuple[int, int], float]] = {}
    marked: dict[str, set[tuple[int, int]]] = {}
    for site in blocks:
        part = _part(site)
        panels.setdefault(part, {})
        place = (site["layer"], columns.index(site["category"]) if names and site["category"] else 0)
        if site[value] is not None:
            panels[part][place] = site[value]
        if _significant(site):
            marked.setdefault(part, set()).add(place)
    return heat_maps(
        panels, [str(i) for i in range(layers)], columns,
        row_title="layer", column_title="tokens", value_title=title, marked=marked,
    )  # fmt: skip


def _category_map(sites: list[Site], value: str, title: str) -> str:
    """Rows the heads with the largest effects, columns the categories."""
    largest: dict[str, float] = {}
    for site in sites:
        name = site["site"].split("@")[0]
        largest[name] = max(largest.get(name, 0.0), abs(site[value] or 0.0))
    chosen = set(sorted(largest, key=lambda name: -largest[name])[:MOST_ROWS])
    rows = [name for name in largest if name in chosen]
    columns = [name for name in CATEGORIES if any(site["category"] == name for site in sites)]
    mine = [site for site in sites if site["site"].split("@")[0] in chosen]

    def place(site: Site) -> tuple[int, int]:
        return rows.index(site["site"].split("@")[0]), columns.index(site["category"])

    cells = {place(site): site[value] for site in mine if site[value] is not None}
    marked = {"": {place(site) for site in mine if _significant(site)}}
    return heat_maps(
        {"": cells}, rows, columns, row_title="", column_title="tokens", value_title=title, marked=marked
    )


def _bars(sites: list[Site], value: str, title: str) -> str:
    interval = interval_of(value)
    ends = [(number_or_nan(site[interval]["low"]), number_or_nan(site[interval]["high"])) for site in sites]
    return interval_bars([site["site"] for site in sites], [site[value] for site in sites], ends, title)


def _data(sites: list[Site]) -> tuple[list[str], list[list[Cell]]]:
    columns = ["site", "layer", "head", "category", "n", "ratio of sums", "low", "high", "mean effect", "p (Holm)"]
    rows: list[list[Cell]] = [
        [
            s["site"], s["layer"], s["head"], s["category"], s["n"], s["ratio_of_sums"], s["interval"]["low"],
            s["interval"]["high"], s["mean_effect"], s["p_holm"],
        ]
        for s in sites
    ]  # fmt: skip
    return columns, rows


def about(summary: dict[str, Any]) -> str:
    how = {
        "activation": "activation patching", "path": f"path patching to {summary['receiver']}",
        "attribution": "attribution patching", "ablation": f"{summary.get('ablate', '')} ablation".strip(),
    }[summary["method"]]  # fmt: skip
    return f"{summary.get('ranker', 'a ranker')}, {how} ({summary['direction']})"


def _part(site: Site) -> str:
    return str(site["site"]).split("@")[0].split(".")[-1]


def _is_head(site: Site) -> bool:
    return site["layer"] is not None and site["head"] is not None and "+" not in site["site"].replace("qterm+", "")


def _significant(site: Site) -> bool:
    return is_significant(site["p_holm"])


def with_interval(value: float | None, interval: dict[str, Any]) -> str | None:
    if value is None:
        return None
    return estimate_text(value, Interval.from_json(interval), "+.3f")


def r_text(told: dict[str, Any]) -> str:
    return str(with_interval(told["pearson"], told["interval"]) or "–").lstrip("+")


def number_or_nan(value: float | None) -> float:
    return math.nan if value is None else value
