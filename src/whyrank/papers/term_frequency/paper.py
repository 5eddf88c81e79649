"""The findings of the term-frequency papers on TAS-B beside what was measured here.

A statement agrees only where it holds beyond the uncertainty of our data, differs only where its contrary does,
and is left open otherwise. The papers' numbers: 'Reproducing and Extending Causal Insights Into Term Frequency
Computation in Neural Rankers', its figures for single heads, and the published pairs for how often scores rise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whyrank.evaluation.estimate import estimate_text, row_text
from whyrank.evaluation.interval import FEWEST_QUERIES, Interval
from whyrank.evaluation.wilson import wilson
from whyrank.interventions.effect_maps import Spot
from whyrank.pages.findings import Beside
from whyrank.papers.term_frequency.heads_report import head_spots, leading_sites
from whyrank.papers.term_frequency.paper_counting import counting_findings
from whyrank.papers.term_frequency.verdicts import beyond, judged, majority, some_of

#: What TAS-B is called here and on the hub.
TAS_B = ("bi-tas-b", "sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco")
NOTE = (
    "The paper's model is TAS-B, a DistilBERT of 6 x 12 heads, which is on the hub only; its heads' numbers mean "
    "nothing in another model, so they are shown without a verdict unless the ranker is TAS-B itself: "
    f"whyrank study term-frequency --ranker {TAS_B[1]}. The paper's shares are means of ratios, ours ratios of "
    "sums."
)
#: Shares of single heads, appended, ranks 1 to 10; and with occurrences replaced.
APPENDED = {"0.9": 0.45, "1.6": 0.82, "2.3": 0.96}
REPLACED = {"0.9": 0.81, "1.6": 0.80, "1.0": -1.61, "1.9": -1.35}
TOP, BOTTOM = "1-10", "91-100"


def findings(told: dict[str, Any]) -> list[Beside]:
    """What can be said of any ranker."""
    known = told["ranker"] in TAS_B
    return [
        *_heads(told, known), *_together(told), *_bands(told), *_positions(told), *_replaced(told, known),
        *_aggregation(told), *counting_findings(told, known), *_adherence(told),
    ]  # fmt: skip


def _heads(told: dict[str, Any], known: bool) -> Iterator[Beside]:
    n = _pairs(told["sets"]["append"])
    what = "heads that carry an appended term"
    if not known:
        yield Beside.holds(what, f"{' '.join(APPENDED)} (TAS-B)", " ".join(told["leading"]), n, None)
        return
    yield Beside.heads(what, tuple(APPENDED), told["leading"], n)
    top = {spot.name: spot for spot in _band_spots(told, TOP)}
    for head, paper in APPENDED.items():
        if head in top:
            one = top[head]
            yield Beside.number(
                f"{head}, appended, ranks {TOP}: share", paper, one.value, one.interval, f"{one.n} pairs"
            )


def _together(told: dict[str, Any]) -> Iterator[Beside]:
    """Half of the gap in the top 10%, by heads that the other half of the queries chose."""
    what, paper = f"leading heads together at the injected term, ranks {TOP}", "half of the gap or more"
    joint = told["together"]["positive"]
    band = (joint or {}).get("bands", {}).get(TOP)
    if band is None:
        yield Beside.holds(what, paper, "not measured", "–", None)
        return
    half = beyond(band["low"], band["high"], 0.5)
    shown = row_text(band, "share")
    told_of = "chosen on one half of the queries, measured on the other"
    yield judged(Beside.holds(what, paper, shown, f"{band['n']} pairs", half, told_of), band["n"])


def _bands(told: dict[str, Any]) -> Iterator[Beside]:
    """For each leading head: is its |share| surely larger in the top ranks than in the lowest?"""
    top, low = ({spot.name: spot for spot in _band_spots(told, band)} for band in (TOP, BOTTOM))
    shared = [head for head in told["leading"] if head in top and head in low]
    if not shared:
        return
    larger = [head for head in shared if _surely_larger(top[head], low[head])]
    smaller = [head for head in shared if _surely_larger(low[head], top[head])]
    shown = some_of([f"{head} {_size(top[head])} and {_size(low[head])}" for head in shared])
    row = Beside.holds(
        "shares of leading heads by rank band", f"up to 0.96 in {TOP}, at most 0.10 in {BOTTOM}", shown,
        f"{_most(top)} and {_most(low)} pairs", majority(len(larger), len(smaller), len(shared)),
        f"surely larger in {TOP}: {len(larger)} of {len(shared)}, surely smaller: {len(smaller)}",
    )  # fmt: skip
    yield judged(row, min(_most(top), _most(low)))


def _positions(told: dict[str, Any]) -> Iterator[Beside]:
    """Does a leading head's effect on the score turn round when the term stands first? Mean effects, not shares:
    the gap itself may turn round."""
    if "prepend" not in told["sets"]:
        return
    after, before = ({s["site"]: s for s in told["sets"][name]["sites"]} for name in ("append", "prepend"))
    paired = {row["site"]: row for row in told["append_less_prepend"]}
    sites = [site for site in leading_sites(told) if site in after and site in before]
    signs = {site: (_sign(after[site]), _sign(before[site])) for site in sites}
    sure = [site for site in sites if site in paired and _leaves_out_0(paired[site])]
    turned = [site for site in sites if _product(signs[site]) < 0 and site in sure]
    kept = [site for site in sites if _product(signs[site]) > 0]
    row = Beside.holds(
        "effects of leading heads when the term is prepended", "turn negative (-.12, -.38, -.32)",
        f"{len(turned)} of {len(sites)} surely change sign, {len(kept)} surely keep it",
        _pairs(told["sets"]["prepend"]), majority(len(turned), len(kept), len(sites)),
        "by mean effects on the score and their paired difference",
    )  # fmt: skip
    yield judged(row, told["sets"]["prepend"]["pairs"])


def _replaced(told: dict[str, Any], known: bool) -> Iterator[Beside]:
    """TFC1-R: its heads, and in how few documents there is anything to replace."""
    one = told["sets"].get("replace")
    if one:
        spots = [spot for spot in head_spots(one["sites"], raw=not one["sure"]) if spot.significant]
        order = [spot.name for spot in sorted(spots, key=lambda spot: -abs(spot.value or 0.0))]
        what, paper = "heads when occurrences are replaced", list(REPLACED)
        if known:
            yield Beside.heads(what, paper, order, _pairs(one))
        else:
            shown = " ".join(order[:6]) or "none significant"
            yield Beside.holds(what, f"{' '.join(paper)} (TAS-B)", shown, _pairs(one), None)
    groups = told["sets"]["append"]["splits"].get("term_present") or {}
    holding, lacking = (max((s["n"] for s in groups.get(name) or []), default=0) for name in ("yes", "no"))
    if holding + lacking:
        every = holding + lacking
        ends = wilson(holding, every) if every >= FEWEST_QUERIES else Interval.none("too few documents")
        yield Beside.holds(
            "documents that hold the term: only these differ when it is replaced", "about 10%",
            estimate_text(holding / every, ends, ".0%"), f"{every} documents", None,
            "a matter of the collection; here only such documents are replaced in",
        )  # fmt: skip


def _aggregation(told: dict[str, Any]) -> Iterator[Beside]:
    """Where attention writes the signal into [CLS]: in the last third of the layers?"""
    rows = [r for r in told["flow"] if r["category"] == "cls" and (r.get("lands") or {}).get("share") is not None]
    if not rows:
        return
    top = max(rows, key=lambda row: row["lands"]["share"])
    late = [row for row in rows if row["layer"] >= 2 * told["layers"] // 3]
    early = [row for row in rows if row not in late]
    others = early if top in late else late
    apart = bool(others) and all(_above(top["lands"], row["lands"]) for row in others)
    reads_cls = "[CLS]" in told["reads"]
    shown = row_text(top["lands"], "share", ".2f")
    row = Beside.holds(
        "where attention gathers the signal in [CLS]", "layers 4 and 5 of 6: the last third",
        f"most in layer {top['layer']} of {told['layers']} ({shown})", f"{top['lands']['n']} pairs",
        (top in late) if apart and reads_cls else None,
        "" if reads_cls else f"this ranker's read-out is {told['reads']}",
    )  # fmt: skip
    yield judged(row, top["lands"]["n"])


def _adherence(told: dict[str, Any]) -> Iterator[Beside]:
    """How often an appended term raises the score: over all ranks, and in the top ten."""
    for summary in (told["questions"]["audit"].get("TFC1:append") or {}).get("axioms", []):
        holds, ends = summary["holds"]["value"], Interval.from_json(summary["holds"])
        what = "an appended term raises the score beyond the neutral band, all ranks"
        yield Beside.number(what, 0.968, holds, ends, f"{summary['n']} pairs")
    band = (told["sets"]["append"].get("adherence") or {}).get(TOP)
    if band:
        yield Beside.number(
            f"an appended term raises the score, ranks {TOP}", 0.805, band["adherent"] / band["pairs"],
            Interval.from_json(band["interval"]), f"{band['pairs']} pairs",
        )  # fmt: skip


def _band_spots(told: dict[str, Any], band: str) -> Sequence[Spot]:
    return head_spots((told["sets"]["append"]["splits"].get("rank") or {}).get(band) or [])


def _surely_larger(one: Spot, other: Spot) -> bool:
    """By the sizes of both: the ends of the one farther from 0 than all of the other."""
    here, there = one.interval, other.interval
    if not here or not there:
        return False
    least = min(abs(here.low), abs(here.high)) if here.leaves_out_zero else 0.0
    return least > max(abs(there.low), abs(there.high))


def _size(spot: Spot) -> str:
    return estimate_text(spot.value, spot.interval, ".2f")


def _sign(site: dict[str, Any]) -> int:
    """Of a mean effect; 0 where its interval does not tell."""
    ends = site["mean_interval"]
    return 0 if not _leaves_out_0(ends) else 1 if ends["low"] > 0 else -1


def _product(signs: tuple[int, int]) -> int:
    return signs[0] * signs[1]


def _leaves_out_0(ends: dict[str, Any]) -> bool:
    return ends["low"] is not None and ends["high"] is not None and (ends["low"] > 0 or ends["high"] < 0)


def _above(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one["low"] is not None and other["high"] is not None and one["low"] > other["high"]


def _most(spots: dict[str, Spot]) -> int:
    return max(spot.n for spot in spots.values())


def _pairs(one: dict[str, Any]) -> str:
    return f"{one['pairs']} pairs"
