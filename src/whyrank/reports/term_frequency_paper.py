"""The findings of the term-frequency papers on TAS-B beside what was measured on another ranker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from whyrank.reports.beside import Beside
from whyrank.reports.numbers import with_ends

NOTE = (
    "The paper's model is TAS-B, a DistilBERT of 6 x 12 heads, which is on the hub only; its heads' numbers mean "
    "nothing in another model, so they are shown without a verdict unless the ranker is TAS-B itself: "
    "whyrank study term-frequency --ranker sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco."
)
HEADS = ("0.9", "1.6", "2.3")


def findings(told: dict[str, Any]) -> list[Beside]:
    """What can be said of any ranker."""
    return [*_heads(told), *_bands(told), *_positions(told), *_counting(told), *_pairs(told)]


def _heads(told: dict[str, Any]) -> Iterator[Beside]:
    known = "tas" in told["ranker"].lower()
    n = f"{told['sets']['append']['pairs']} pairs"
    if known:
        yield Beside.heads("heads that carry an appended term", HEADS, told["leading"], n)
    else:
        shown = " ".join(told["leading"])
        yield Beside.holds("heads that carry an appended term", " ".join(HEADS) + " (TAS-B)", shown, n, None)
    (joint,) = told["together"]["sites"]
    ends = joint["share_interval"]
    half = None if ends["low"] is None else True if ends["low"] >= 0.5 else False if ends["high"] < 0.5 else None
    yield Beside.holds(
        "leading heads together at the injected term, share of the gap", "0.5 or more (top 10%)",
        _with(joint["share"], ends), f"{joint['n']} pairs", half,
    )  # fmt: skip


def _bands(told: dict[str, Any]) -> Iterator[Beside]:
    bands = told["sets"]["append"]["splits"].get("rank", {})
    if not {"1-10", "91-100"} <= set(bands):
        return
    sizes = {band: max((abs(s["share"] or 0.0) for s in bands[band]), default=0.0) for band in ("1-10", "91-100")}
    yield Beside.holds(
        "largest share by rank band", "0.96 in ranks 1-10, at most 0.10 in 91-100",
        f"{sizes['1-10']:.2f} in 1-10, {sizes['91-100']:.2f} in 91-100",
        f"{_n(bands['1-10'])} and {_n(bands['91-100'])} pairs", sizes["1-10"] > 2 * sizes["91-100"],
    )  # fmt: skip


def _positions(told: dict[str, Any]) -> Iterator[Beside]:
    if "prepend" not in told["sets"]:
        return
    after, before = (
        {s["site"]: s["share"] or 0.0 for s in told["sets"][name]["sites"]} for name in ("append", "prepend")
    )
    leading = [f"L{h.split('.')[0]}.H{h.split('.')[1]}.z" for h in told["leading"]]
    opposite = [site for site in leading if after[site] * before.get(site, 0.0) < 0]
    yield Beside.holds(
        "leading heads when the term is prepended", "turn negative (-.12, -.38, -.32)",
        f"{len(opposite)} of {len(leading)} change sign", f"{told['sets']['prepend']['pairs']} pairs",
        len(opposite) > len(leading) / 2,
    )  # fmt: skip


def _counting(told: dict[str, Any]) -> Iterator[Beside]:
    one = told["tfc2"].get("cumulative")
    if not one:
        return
    fits = [next((f["r2"] for f in c["fits"] if f["curve"] == "log"), None) for c in one["effects"].values()]
    known = [r2 for r2 in fits if r2 is not None]
    n = f"{one['violations']['points'][0]['n']} documents"
    if known:
        good = [r2 for r2 in known if r2 > 0.9]
        yield Beside.holds(
            "log fits of leading heads, k up to 5", "R2 .92 or more",
            f"R2 above .90 in {len(good)} of {len(known)}; best {max(known):.2f}", n, len(good) == len(known),
        )  # fmt: skip
    verdicts = ", ".join(f"{site.replace('L', '').replace('H', '').removesuffix('.z')} {c['verdict']}"
                         for site, c in one["effects"].items())  # fmt: skip
    yield Beside.holds("shape over k", "sublinear", verdicts, n, None)
    points = (told["tfc2"].get("marginal") or one)["violations"]["points"]
    first, last = points[0], points[-1]
    grows = None
    if first["high"] is not None and last["low"] is not None:
        grows = True if last["low"] > first["high"] else False if last["high"] < first["low"] else None
    yield Beside.holds(
        "violations as k grows", "8% to 39%", f"{first['mean']:.0%} at k={first['k']}, {last['mean']:.0%} at "
        f"k={last['k']}", f"{first['n']} documents", grows,
    )  # fmt: skip


def _pairs(told: dict[str, Any]) -> Iterator[Beside]:
    keep = told["sets"]["append"]["keep"]
    yield Beside.holds(
        "appended term raises the score", "96.8% of pairs (80.5% of rank 1-10)",
        f"{keep['adherent'] / keep['pairs']:.1%}", f"{keep['pairs']} pairs", None,
    )  # fmt: skip


def _with(value: float | None, ends: dict[str, float | None]) -> str:
    return with_ends(value, ends["low"], ends["high"])


def _n(sites: list[dict[str, Any]]) -> int:
    return max((site["n"] for site in sites), default=0)
