"""The figures and the report of a patching run, from its summary."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from whyrank.reports.audit import p_text
from whyrank.reports.heatmaps import heat_maps, interval_bars, scatter
from whyrank.reports.html import Cell, Figures, Report
from whyrank.store.atomic import write_text
from whyrank.text.categories import CATEGORIES

#: Sites in the bar chart and in the table.
LEADING, LISTED = 15, 60
SIGNIFICANT = 0.05
#: Rows of a map of heads by category.
MOST_ROWS = 24
#: A split has a figure of its own when it has so many values at most.
MOST_PANELS = 4
Site = dict[str, Any]


def write_patch(summary: dict[str, Any], folder: Path, manifest: dict[str, Any]) -> list[Path]:
    """summary.json, the figures and report.html."""
    paths, figures = [folder / "summary.json"], make_figures(summary)
    write_text(paths[0], json.dumps(summary, indent=2, allow_nan=False) + "\n")
    for name, (svg, _, _) in figures.items():
        paths.append(folder / f"{name}.svg")
        write_text(paths[-1], svg)
    return [*paths, _report(summary, figures).write(folder / "report.html", manifest)]


def measure_of(summary: dict[str, Any]) -> tuple[str, str]:
    """What is drawn: the share of the gap; for ablations, which close none, the change of the score."""
    if summary["method"] == "ablation":
        return "mean_change", "mean change of the score"
    return "share", "share of the gap" if summary["direction"] == "denoise" else "share of the gap lost"


def interval_of(value: str) -> str:
    """The name of the interval of a value."""
    return {"share": "share_interval", "mean_change": "change_interval"}[value]


def make_figures(summary: dict[str, Any]) -> Figures:
    """The maps that the sites allow, the leading sites, and the comparisons."""
    sites, (value, title) = summary["sites"], measure_of(summary)
    found: Figures = {}
    whole_heads = [site for site in sites if _is_head(site) and site["category"] is None]
    if len(whole_heads) > 3:
        caption = f"{_about(summary)}: every head's {title}; a dot where it is significant (Holm, 0.05)."
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
        caption = f"{_about(summary)}: residual stream, attention and MLP outputs, layer by layer; {title}."
        found["blocks"] = (_block_map(blocks, value, title), caption, _data(blocks))
    cut_heads = [site for site in sites if site["category"] is not None and site["head"] is not None]
    if cut_heads:
        caption = f"{_about(summary)}: heads by the category of the tokens they are patched at; {title}."
        found["categories"] = (_category_map(cut_heads, value, title), caption, _data(cut_heads))
    leading = sorted((site for site in sites if site[value] is not None), key=lambda site: -abs(site[value]))
    if leading:
        caption = f"{_about(summary)}: the sites with the largest effects, with 95% intervals over queries."
        found["leading"] = (_bars(leading[:LEADING], value, title), caption, _data(leading[:LEADING]))
    if summary.get("agreement"):
        points = [
            (p["site"], _number(p["exact"]), _number(p["attribution"])) for p in summary["agreement"]["points"]
        ]
        told = summary["agreement"]["map"]
        caption = f"Attribution against exact patching, {told['sites']} sites: Pearson {_r(told)}."
        found["agreement"] = (
            scatter(points, "exact", "attribution"),
            caption,
            (["site", "exact", "attribution"], points),
        )
    if summary.get("compared"):
        compared = summary["compared"]
        points = [(p["site"], _number(p["here"]), _number(p["there"])) for p in compared["points"]]
        caption = (
            f"This map against that of {compared['with']}, {compared['sites']} sites: Pearson {_r(compared)}."
        )
        found["compared"] = (scatter(points, "here", "there"), caption, (["site", "here", "there"], points))
    return found


def _report(summary: dict[str, Any], figures: Figures) -> Report:
    report = Report(
        f"What causes the score? {_about(summary)}",
        f"{summary['pairs']} minimal pairs of {summary['queries']} queries; intervals by bootstrap over queries.",
    )
    report.heading("Effects")
    _told(report, summary)
    for name in ("heads", "blocks", "categories", "leading"):
        if name in figures:
            report.figure(*figures[name])
    report.heading("Numbers")
    _table(report, summary)
    apart = [name for name in figures if name.startswith("heads-by-")]
    if apart or summary["splits"]:
        report.heading("Apart")
        for name in apart:
            report.figure(*figures[name])
        _splits(report, summary)
    if summary["between_axioms"] or summary.get("compared"):
        report.heading("Maps compared")
        for one in summary["between_axioms"]:
            report.paragraph(f"{one['of']} against {one['with']}, {one['sites']} sites: Pearson {_r(one)}, "
                             f"Spearman {_short(one['spearman'])}.")  # fmt: skip
        if "compared" in figures:
            report.figure(*figures["compared"])
    if summary.get("agreement"):
        report.heading("How good is the approximation?")
        told = summary["agreement"]
        report.paragraph(
            f"Attribution was compared with exact patching on {told['pairs']} pairs ({told['rows']} rows): "
            f"Pearson over rows {_short(told['pearson_rows'])}, over the map {_r(told['map'])}, Spearman "
            f"{_short(told['map']['spearman'])}; {told['leading']['shared']} of the {told['leading']['of']} "
            "leading sites are the same."
        )
        report.figure(*figures["agreement"])
    return report


def _told(report: Report, summary: dict[str, Any]) -> None:
    gap, keep = summary["gap"], summary["keep"]
    report.paragraph(
        f"Mean score of the baseline {gap['base']:.4g}, of the perturbed text {gap['perturbed']:.4g}: a gap of "
        f"{gap['mean']:+.4g} (median {gap['median']:+.4g})."
    )
    share = f"{keep['adherent']} of {keep['pairs']} pairs adhere (the perturbed text scores higher)"
    used = "only these are used" if keep["rule"] == "adherent" else "all are used"
    text = f"{share}; {used}."
    if keep["correlation_with_all"] is not None:
        text += (
            f" The map of all pairs and that of the adherent ones correlate at {keep['correlation_with_all']:.3f}"
        )
        change = keep["largest_change"]
        if change:
            text += f"; the largest change is at {change['site']}, {change['all']:.3f} with all and "
            text += f"{change['adherent']:.3f} with these"
        text += "."
    report.paragraph(text)
    if summary.get("screen"):
        screen = summary["screen"]
        report.paragraph(
            f"{screen['kept']} of {screen['of']} sites were chosen by attribution and patched exactly; p is "
            f"adjusted for all {screen['of']}."
        )
    for reason, count in summary.get("dropped", {}).items():
        report.paragraph(f"Left out: {count} pairs ({reason}).")


def _table(report: Report, summary: dict[str, Any]) -> None:
    value, _ = measure_of(summary)
    order = sorted(summary["sites"], key=lambda site: -abs(site[value] or 0.0))
    columns = [
        "site",
        "n",
        "queries",
        "share of the gap",
        "ratio of sums",
        "mean effect",
        "mean of ratios",
        "dropped",
    ]
    columns += ["p", "p (BH)"]
    rows: list[list[Cell]] = [
        [
            site["site"], site["n"], site["queries"], _with(site["share"], site["share_interval"]),
            _with(site["ratio_of_sums"], site["interval"]),
            _with(site["mean_effect"], site["mean_interval"]), site["mean_of_ratios"],
            f"{site['dropped_by_threshold']:.0%}", p_text(_number(site["p_holm"])), p_text(_number(site["p_bh"])),
        ]
        for site in order[:LISTED]
    ]  # fmt: skip
    told = (
        "Ratio of sums: sum(patched - base) / sum(perturbed - base). Mean of ratios: over pairs whose gap is not "
    )
    told += "too small; the share dropped stands beside it. p: Student's t of the queries' mean changes, "
    told += (
        f"Holm-corrected, and Benjamini-Hochberg's. The {min(LISTED, len(order))} largest of {len(order)}; all "
    )
    told += "are in summary.json."
    report.table(columns, rows, told)


def _splits(report: Report, summary: dict[str, Any]) -> None:
    value, title = measure_of(summary)
    for name, values in summary["splits"].items():
        leading = sorted(summary["sites"], key=lambda site: -abs(site[value] or 0.0))[:10]
        found = {group: {site["site"]: site for site in sites} for group, sites in values.items()}
        rows: list[list[Cell]] = []
        for site in leading:
            cells = [found[group].get(site["site"]) for group in values]
            interval = interval_of(value)
            rows.append([site["site"], *(_with(one[value], one[interval]) if one else None for one in cells)])
        sizes = {group: max((site["n"] for site in sites), default=0) for group, sites in values.items()}
        columns = ["site", *(f"{group} (n={sizes[group]})" for group in values)]
        report.table(columns, rows, f"By {name.replace('_', ' ')}: {title} of the ten leading sites.")


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
    ends = [(_number(site[interval]["low"]), _number(site[interval]["high"])) for site in sites]
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


def _about(summary: dict[str, Any]) -> str:
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
    return site["p_holm"] is not None and site["p_holm"] < SIGNIFICANT


def _with(value: float | None, interval: dict[str, float | None]) -> str | None:
    if value is None:
        return None
    low, high = interval["low"], interval["high"]
    return f"{value:+.3f} [–]" if low is None or high is None else f"{value:+.3f} [{low:.3f}, {high:.3f}]"


def _r(told: dict[str, Any]) -> str:
    return str(_with(told["pearson"], told["interval"]) or "–").lstrip("+")


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value
