"""The figures of a term-frequency study of one ranker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.encoders.site import short_name
from whyrank.reports.flow_figure import flow_figure
from whyrank.reports.heatmaps import heat_maps
from whyrank.reports.html import Cell, Figures
from whyrank.reports.lines import Point, line_plots
from whyrank.text.categories import CATEGORIES

#: Panels in one figure.
MOST_PANELS = 4
SIGNIFICANT = 0.05


def term_frequency_figures(told: dict[str, Any], *, hide: bool = False) -> Figures:
    """By name. `hide`: only what is significant after Holm's correction is coloured."""
    figures: Figures = {}
    names = list(told["sets"])
    for start in range(0, len(names), MOST_PANELS):
        some = {name: told["sets"][name]["sites"] for name in names[start : start + MOST_PANELS]}
        caption = (
            f"Share of the gap by head: {', '.join(f'{name} (n={_n(sites)})' for name, sites in some.items())}."
        )
        figures[f"heads-{start // MOST_PANELS + 1}"] = _heads(some, caption, hide)
    for split, words in (("rank", "rank band"), ("term_present", "whether the term was in the document before")):
        values = told["sets"]["append"]["splits"].get(split)
        if values:
            figures[f"heads-by-{split.replace('_', '-')}"] = _heads(values, f"Append, apart by {words}.", hide)
    figures["blocks"] = _blocks(told["blocks"], hide)
    figures["leading-by-category"] = _categories(told["by_category"], hide)
    figures |= _over_k(told)
    if told["flow"]:
        caption = (
            "Where the signal of the appended term stands in each layer (height) and what goes on from there "
            "(bands): what heads pick up from a category of tokens, shared out by what attention writes where."
        )
        data = [[r["layer"], r["category"], *(r.get(k, {}).get("share") for k in ("stands", "moves", "lands"))]
                for r in told["flow"]]  # fmt: skip
        figures["flow"] = (
            flow_figure(told["flow"], told["links"]), caption,
            (["layer", "tokens", "stands", "moves", "lands"], data),
        )  # fmt: skip
    return figures


def _heads(panels: dict[str, Sequence[dict[str, Any]]], caption: str, hide: bool) -> Any:
    every = [site for sites in panels.values() for site in sites]
    layers, heads = 1 + max(site["layer"] for site in every), 1 + max(site["head"] for site in every)
    cells = {name: _cells(sites, hide) for name, sites in panels.items()}
    marked = {name: {(s["layer"], s["head"]) for s in sites if _significant(s)} for name, sites in panels.items()}
    svg = heat_maps(
        cells, [str(i) for i in range(layers)], [str(i) for i in range(heads)], row_title="layer",
        column_title="head", value_title="share of the gap", marked=marked,
    )  # fmt: skip
    data: list[list[Cell]] = [
        [name, s["site"], s["share"], s["share_interval"]["low"], s["share_interval"]["high"], s["p_holm"], s["n"]]
        for name, sites in panels.items() for s in sites
    ]  # fmt: skip
    return svg, caption + " A dot: significant after Holm's correction.", (
        ["set", "head", "share", "low", "high", "p (Holm)", "n"], data,
    )  # fmt: skip


def _cells(sites: Sequence[dict[str, Any]], hide: bool) -> dict[tuple[int, int], float]:
    return {
        (site["layer"], site["head"]): site["share"] if _significant(site) or not hide else 0.0
        for site in sites
        if site["share"] is not None
    }


def _blocks(sites: Sequence[dict[str, Any]], hide: bool) -> Any:
    layers = 1 + max(site["layer"] for site in sites)
    columns = [name for name in CATEGORIES if any(site["category"] == name for site in sites)]
    panels: dict[str, dict[tuple[int, int], float]] = {}
    marked: dict[str, set[tuple[int, int]]] = {}
    for site in sites:
        part = site["site"].split("@")[0].split(".")[-1]
        place = (site["layer"], columns.index(site["category"]))
        if site["share"] is not None:
            panels.setdefault(part, {})[place] = site["share"] if _significant(site) or not hide else 0.0
        if _significant(site):
            marked.setdefault(part, set()).add(place)
    svg = heat_maps(
        panels, [str(i) for i in range(layers)], columns, row_title="layer", column_title="tokens",
        value_title="share of the gap", marked=marked,
    )  # fmt: skip
    data: list[list[Cell]] = [[s["site"], s["category"], s["share"], s["p_holm"], s["n"]] for s in sites]
    return svg, "Append: residual stream, attention and MLP output by layer and category of tokens.", (
        ["site", "tokens", "share", "p (Holm)", "n"], data,
    )  # fmt: skip


def _categories(sites: Sequence[dict[str, Any]], hide: bool) -> Any:
    rows = list(dict.fromkeys(site["site"].split("@")[0] for site in sites))
    columns = [name for name in CATEGORIES if any(site["category"] == name for site in sites)]
    places = [(rows.index(s["site"].split("@")[0]), columns.index(s["category"])) for s in sites]
    cells = {
        place: s["share"] if _significant(s) or not hide else 0.0
        for place, s in zip(places, sites, strict=True)
        if s["share"] is not None
    }
    marked = {"": {place for place, s in zip(places, sites, strict=True) if _significant(s)}}
    svg = heat_maps({"": cells}, rows, columns, row_title="", column_title="tokens",
                    value_title="share of the gap", marked=marked)  # fmt: skip
    data: list[list[Cell]] = [[s["site"], s["category"], s["share"], s["p_holm"], s["n"]] for s in sites]
    return svg, "The heads that stand out, by category of tokens.", (
        ["head", "tokens", "share", "p (Holm)", "n"], data,
    )  # fmt: skip


def _over_k(told: dict[str, Any]) -> Figures:
    figures: Figures = {}
    if not told["tfc2"]:
        return figures
    panels = {
        variant: {short_name(head): _points(curve) for head, curve in one["effects"].items()}
        for variant, one in told["tfc2"].items()
    }
    svg = line_plots(panels, "k", "mean effect on the score")
    data: list[list[Cell]] = [
        [variant, head, p["k"], p["mean"], p["low"], p["high"], p["n"], curve["verdict"]]
        for variant, one in told["tfc2"].items() for head, curve in one["effects"].items() for p in curve["points"]
    ]  # fmt: skip
    columns = ["variant", "head", "k", "mean", "low", "high", "n", "verdict"]
    figures["tfc2"] = (svg, "TFC2: effects of the heads that stand out over k.", (columns, data))
    shares = {"violations": {variant: _points(one["violations"]) for variant, one in told["tfc2"].items()}}
    svg = line_plots(shares, "k", "share of pairs that do not rise")
    data = [[variant, p["k"], p["mean"], p["low"], p["high"], p["n"]]
            for variant, one in told["tfc2"].items() for p in one["violations"]["points"]]  # fmt: skip
    columns = ["variant", "k", "share", "low", "high", "n"]
    figures["violations"] = (svg, "TFC2: pairs whose score does not rise, over k.", (columns, data))
    looks = [row for row in told["attention_over_k"] if row["k"] is not None]
    quantities = ("cls -> inj", "inj -> qterm-", "inj -> qterm+")
    heads = list(dict.fromkeys(row["head"] for row in looks))
    panels = {
        quantity: {
            head: [Point(r["k"], r["mean"], r["low"], r["high"]) for r in looks
                   if r["head"] == head and r["quantity"] == quantity]
            for head in heads
        }
        for quantity in quantities
    }  # fmt: skip
    panels = {name: {h: p for h, p in curves.items() if p} for name, curves in panels.items()}
    if any(panels.values()):
        svg = line_plots({name: curves for name, curves in panels.items() if curves}, "k", "attention")
        columns = ["head", "quantity", "k", "mean", "low", "high", "n"]
        data = [[row[name] for name in columns] for row in looks]
        figures["attention-over-k"] = (svg, "What the heads that stand out look at, over k.", (columns, data))
    return figures


def _points(curve: dict[str, Any]) -> list[Point]:
    return [Point(p["k"], p["mean"], p["low"], p["high"]) for p in curve["points"]]


def _significant(site: dict[str, Any]) -> bool:
    return site["p_holm"] is not None and site["p_holm"] < SIGNIFICANT


def _n(sites: Sequence[dict[str, Any]]) -> int:
    return max((site["n"] for site in sites), default=0)
