"""Maps of the term-frequency study: heads by set of pairs, against their controls, apart by what differs; blocks;
the leading heads by category of tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from whyrank.encoders.site import short_name
from whyrank.evaluation.interval import Interval
from whyrank.interventions.effect_maps import Axis, Spot, effect_map, head_axes, site_spot
from whyrank.pages.page import Figures
from whyrank.text.categories import CATEGORIES

#: Controls and what each is told on the scale of.
CONTROLS = {
    "null": "append", "minimal context": "append", "null, prepend": "prepend",
    "minimal context, prepend": "prepend",
}  # fmt: skip
#: What append is parted by, in words, and before the name of each part.
SPLITS = {
    "rank": ("rank band", "ranks "),
    "term_present": ("whether the term was in the document before", "term there before: "),
}
SHARE, SCORE = "share of the gap", "mean effect on the score"
Site = Mapping[str, Any]
#: The name of a figure, its panels, caption and unit.
Map = tuple[str, Mapping[str, Sequence[Spot]], str, str]


def head_figures(told: dict[str, Any], *, hide: bool = False) -> Figures:
    """Every map of heads."""
    figures: Figures = {}
    for name, panels, caption, unit in (
        *_sets(told["sets"]), *_all_controls(told), *_splits(told["sets"]["append"]["splits"]), _position(told)
    ):  # fmt: skip
        if any(panels.values()):
            svg, read, data = effect_map(panels, *head_axes(panels), unit, hide=hide)
            figures[name] = (svg, f"{caption} {read}", data)
    return figures


def _sets(sets: dict[str, Any]) -> Iterator[Map]:
    """Shares of the gap by set; raw effects where a set's gap is not surely other than 0."""
    main = [name for name in sets if name not in CONTROLS]
    sure = {name: head_spots(sets[name]["sites"]) for name in main if sets[name]["sure"]}
    caption = "Share of the gap that a head makes up, patched alone at all tokens."
    falls = [name for name in sure if sets[name]["gap"]["mean"] < 0]
    if falls:
        caption += f" The gap of {'; '.join(falls)} is negative: there, a share above 0 lowers the score."
    yield "heads-shares", sure, caption, SHARE
    unsure = [name for name in sets if not sets.get(CONTROLS.get(name, name), {}).get("sure")]
    raw = {name: head_spots(sets[name]["sites"], raw=True) for name in unsure}
    caption = "Mean effect on the score, not a share: the interval of the mean gap of these pairs holds 0."
    yield "heads-raw", raw, caption, SCORE


def _all_controls(told: dict[str, Any]) -> Iterator[Map]:
    for base in ("append", "prepend"):
        if told["sets"].get(base, {}).get("sure"):
            caption = (
                f"Controls on the same documents, all as shares of the mean gap of {base}: another query's word "
                "in the term's place (null), fillers for all but the words around the change (minimal context)."
            )
            yield f"heads-controls-{base}", _controls(told, base), caption, f"share of {base}'s gap"


def _splits(splits: dict[str, Any]) -> Iterator[Map]:
    for name, (words, prefix) in SPLITS.items():
        groups = splits.get(name) or {}
        panels = {f"{prefix}{group}": head_spots(sites) for group, sites in groups.items() if sites}
        caption = f"Append, apart by {words}; shares of each part's own gap."
        yield f"heads-by-{name.replace('_', '-')}", panels, caption, SHARE


def _position(told: dict[str, Any]) -> Map:
    spots = [_difference_spot(row) for row in told["append_less_prepend"]]
    caption = "Effect on the score of the term at the end less at the start, the same queries and documents."
    return "positions-heads", {"append less prepend": spots}, caption, SCORE


def block_figures(told: dict[str, Any], *, hide: bool = False) -> Figures:
    """Blocks by layer and category of tokens."""
    sites = told["blocks"]
    if not sites:
        return {}
    columns = _categories(sites)
    panels: dict[str, list[Spot]] = {}
    for site in sites:
        part = site["site"].split("@")[0].split(".")[-1]
        spot = site_spot(site, site["site"], site["layer"], columns.index(site["category"]))
        panels.setdefault(part, []).append(spot)
    rows = Axis("layer", [str(i) for i in range(1 + max(site["layer"] for site in sites))])
    svg, read, data = effect_map(panels, rows, Axis("tokens", columns), SHARE, hide=hide)
    caption = "Append: share of the gap of residual stream, attention and MLP output at one category of tokens."
    return {"blocks": (svg, f"{caption} {read}", data)}


def category_figures(told: dict[str, Any], *, hide: bool = False) -> Figures:
    """The leading heads by category of tokens."""
    sites = told["by_category"]
    if not sites:
        return {}
    names = list(dict.fromkeys(short_name(site["site"].split("@")[0]) for site in sites))
    columns = _categories(sites)
    spots = []
    for site in sites:
        head = short_name(site["site"].split("@")[0])
        place = names.index(head), columns.index(site["category"])
        spots.append(site_spot(site, f"{head} at {site['category']}", *place))
    svg, read, data = effect_map({"": spots}, Axis("head", names), Axis("tokens", columns), SHARE, hide=hide)
    caption = "Append: share of the gap of the leading heads, patched at one category of tokens"
    return {"leading-by-category": (svg, f"{caption} {read}", data)}


def head_spots(sites: Sequence[Site], *, raw: bool = False) -> list[Spot]:
    return [
        site_spot(site, f"{site['layer']}.{site['head']}", site["layer"], site["head"], raw=raw) for site in sites
    ]


def _controls(told: dict[str, Any], base: str) -> dict[str, list[Spot]]:
    """Each control on the scale of `base`, and how much less it is than `base`. A dot in the first: the effect is
    not 0; in the second: the difference is not."""
    panels: dict[str, list[Spot]] = {}
    for name, rows in told["against_append"].items():
        if CONTROLS.get(name) == base and rows:
            own = {site["site"]: site["p_holm"] for site in told["sets"].get(name, {}).get("sites", [])}
            panels[name] = [_against_spot(row, "other", own.get(row["site"])) for row in rows]
    for name in list(panels):
        rows = told["against_append"][name]
        panels[f"{base} less {name}"] = [_against_spot(row, "difference", row["p_holm"]) for row in rows]
    return panels


def _against_spot(row: Site, value: str, p: float | None) -> Spot:
    ends = Interval.from_json(row) if value == "difference" else None
    layer, head = row["layer"], row["head"]
    return Spot(f"{layer}.{head}", layer, head, row[value], ends, p, row["n"], row["queries"])


def _difference_spot(row: Site) -> Spot:
    name = short_name(row["site"])
    layer, head = map(int, name.split("."))
    ends = Interval.from_json(row)
    return Spot(name, layer, head, row["difference"], ends, row["p_holm"], row["n"], row["queries"])


def _categories(sites: Sequence[Site]) -> list[str]:
    return [name for name in CATEGORIES if any(site["category"] == name for site in sites)]


def leading_sites(told: dict[str, Any]) -> Iterator[str]:
    """`L0.H9.z` for each leading head."""
    for head in told["leading"]:
        layer, number = head.split(".")
        yield f"L{layer}.H{number}.z"
