"""What the papers say of repeated terms (TFC2), beside ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import estimate_text, row_text
from whyrank.evaluation.interval import Interval
from whyrank.pages.findings import Beside
from whyrank.papers.term_frequency.verdicts import judged, majority, some_of

HEADS = ("1.0", "1.9", "1.6", "0.9")
#: The least R2 of the paper's log fits, the most that another occurrence adds beyond `FAR`, and fewest documents
#: on which a share can be judged.
GOOD, LITTLE, FAR, FEWEST = 0.92, 0.005, 10, 20
#: The part of pairs that do not rise at the paper's last k.
MOST_VIOLATE = 0.39
#: In so many draws a curve must be the best to be called so.
CLEARLY = 0.95
#: The paper looks at what changes beyond this k.
LATER = 5


def counting_findings(told: dict[str, Any], known: bool) -> Iterator[Beside]:
    curves = told["tfc2"]
    if not curves:
        return
    most = next(iter(curves.values()))
    n = f"{most['documents']} documents"
    if known:
        yield Beside.heads("heads that count (TFC2)", HEADS, told["tfc2_leading"], n)
    else:
        ours = " ".join(told["tfc2_leading"]) or "none"
        yield Beside.holds("heads that count (TFC2)", f"{' '.join(HEADS)} (TAS-B)", ours, n, None)
    for name in ("cumulative", "cumulative, 50 slots"):
        if name in curves:
            yield from _shape(name, curves[name])
    yield from _gains(curves)
    yield from _violations("marginal" if "marginal" in curves else next(iter(curves)), curves)
    yield from _attention(told)


def _shape(name: str, one: dict[str, Any]) -> Iterator[Beside]:
    """Log fits and shapes of heads that have an effect, in documents whose score rises at every k (as the paper
    filters), if there are any."""
    filtered = bool(one["effects_of_adherent"])
    some = one["effects_of_adherent"] if filtered else one["effects"]
    some = {short_name(site): curve for site, curve in some.items() if curve["verdict"] != "none"}
    n = f"{one['adherent_documents']} of " * filtered + f"{one['documents']} documents"
    count = one["adherent_documents"] if filtered else one["documents"]
    yield from (judged(row, count) for row in _fits(f"R2 of log fits, k up to 5 ({name})", some, n))
    yield from (judged(row, count) for row in _slopes(f"late slope over early slope ({name})", some, n))


def _fits(what: str, curves: dict[str, Any], n: str) -> Iterator[Beside]:
    logs = {head: fit for head, curve in curves.items() for fit in curve["fits"] if fit["curve"] == "log"}
    logs = {head: fit for head, fit in logs.items() if fit["r2"] is not None}
    if not logs:
        return
    ends = [fit["r2_interval"] for fit in logs.values()]
    good = sum(one["low"] is not None and one["low"] >= GOOD for one in ends)
    bad = sum(one["high"] is not None and one["high"] < GOOD for one in ends)
    yield Beside.holds(
        what, f"{GOOD} or more in every head", some_of([f"{head} {_r2(fit)}" for head, fit in logs.items()]), n,
        True if good == len(logs) else False if bad else None,
        f"surely {GOOD} or more: {good} of {len(logs)}, surely less: {bad}",
    )  # fmt: skip


def _slopes(what: str, curves: dict[str, Any], n: str) -> Iterator[Beside]:
    ratios = {
        head: curve["ratio"] for head, curve in curves.items() if (curve["ratio"] or {}).get("value") is not None
    }
    if not ratios:
        return
    below = sum(one["high"] is not None and one["high"] < 1 for one in ratios.values())
    above = sum(one["low"] is not None and one["low"] >= 1 for one in ratios.values())
    shown = [f"{head} {row_text(one, 'value', '.2f')}" for head, one in ratios.items()]
    yield Beside.holds(
        what, "below 1: sublinear", some_of(shown), n,
        True if below == len(ratios) else False if above > len(ratios) / 2 else None,
        f"surely below 1: {below} of {len(ratios)}, surely not: {above}",
    )  # fmt: skip


def _gains(curves: dict[str, Any]) -> Iterator[Beside]:
    """The gain of one more occurrence at k = 10 or later, by the effect of all before, of heads that surely have
    one."""
    what, paper = f"gain of one more beyond k = {FAR}, by the whole effect", "below 0.5%"
    one_more, all_before = (curves.get(name, {}).get("effects", {}) for name in ("marginal", "cumulative"))
    parts: dict[str, tuple[float, Interval, int]] = {}
    measured = False
    for site, curve in one_more.items():
        gain = _at(curve["points"], FAR)
        whole = _at(all_before.get(site, {}).get("points", []), FAR)
        measured |= bool(gain and whole)
        if gain and whole and _outside(whole["low"], whole["high"], 0.0):
            ends = Interval.from_json(gain).scaled(1 / whole["mean"])
            parts[short_name(site)] = (gain["mean"] / whole["mean"], ends, gain["n"])
    if not parts:
        why = "no head surely has an effect to gain on" if measured else f"k = {FAR} was not asked for"
        yield Beside.holds(what, paper, "not measured", "–", None, why)
        return
    small = [h for h, (_, ends, _) in parts.items() if ends and _within(ends.low, ends.high, LITTLE)]
    large = [h for h, (_, ends, _) in parts.items() if ends and _outside(ends.low, ends.high, LITTLE)]
    shown = some_of([f"{head} {estimate_text(*part[:2], '.1%')}" for head, part in parts.items()])
    n = max(part[2] for part in parts.values())
    row = Beside.holds(
        what, paper, shown, f"{n} documents",
        True if len(small) == len(parts) else False if large else None,
        f"surely below: {len(small)} of {len(parts)}, surely above: {len(large)}; the interval is the gain's",
    )  # fmt: skip
    yield judged(row, n)


def _at(points: Sequence[dict[str, Any]], k: int) -> dict[str, Any] | None:
    """The first point from k on."""
    return next((point for point in points if point["k"] >= k), None)


def _within(low: float | None, high: float | None, limit: float) -> bool:
    return low is not None and high is not None and max(abs(low), abs(high)) < limit


def _outside(low: float | None, high: float | None, limit: float) -> bool:
    return low is not None and high is not None and (low > limit or high < -limit)


def _violations(name: str, curves: dict[str, Any]) -> Iterator[Beside]:
    """Do more pairs fail to rise as k grows? Judged by intervals that are apart, of enough documents."""
    found = curves[name]["violations"]
    points = found["points"]
    if len(points) < 2:
        return
    first, last = points[0], points[-1]
    n = min(first["n"], last["n"])
    grows: bool | None = None
    if n >= FEWEST and None not in (first["low"], first["high"], last["low"], last["high"]):
        grows = True if last["low"] > first["high"] else False if last["high"] < first["low"] else None
    shown = ", ".join(f"{row_text(p, 'mean', '.0%')} at k = {p['k']}" for p in (first, last))
    why = f"fewer than {FEWEST} documents" if n < FEWEST else "" if grows is not None else "the intervals overlap"
    if grows and not last["low"] <= MOST_VIOLATE <= last["high"]:
        than = "more" if last["mean"] > MOST_VIOLATE else "fewer"
        why = f"they grow, to {than} than the paper's {MOST_VIOLATE:.0%}"
    yield Beside.holds(
        f"pairs that do not rise ({name})", "8% to 39% as k grows", shown, f"{n} documents", grows, why
    )
    log = next((fit for fit in found["fits"] if fit["curve"] == "log"), None)
    if log and log["r2"] is not None:
        part = log["best_in"]
        best = None if part is None else True if part >= CLEARLY else False if part <= 1 - CLEARLY else None
        in_draws = "" if part is None else f", best in {part:.0%} of draws"
        yield Beside.holds(
            f"how they grow ({name})", "logarithmically",
            f"log R2 {_r2(log)}{in_draws}",
            f"{n} documents", best if grows else None, "" if grows else "they do not surely grow",
        )  # fmt: skip


def _r2(fit: dict[str, Any]) -> str:
    return row_text(fit, "r2", ".2f", "r2_interval")


def _attention(told: dict[str, Any]) -> Iterator[Beside]:
    """Beyond k = 5: does the injected term look less at itself and more at other query words?"""
    rows = [row for row in told["attention_over_k"] if row["k"] is not None and row["k"] >= LATER]
    heads = list(dict.fromkeys(row["head"] for row in rows))
    moves = {head: (_moves(rows, head, "inj -> inj"), _moves(rows, head, "inj -> qterm-")) for head in heads}
    known = {head: both for head, both in moves.items() if None not in both}
    if not known:
        return
    left = [head for head, both in known.items() if both == (-1, 1)]
    came = [head for head, both in known.items() if both == (1, -1)]
    n = max(row["n"] for row in rows)
    row = Beside.holds(
        f"attention beyond k = {LATER}", "from the injected term to other query words",
        f"{len(left)} of {len(known)} heads surely go, {len(came)} the other way", f"{n} documents",
        majority(len(left), len(came), len(known)),
    )  # fmt: skip
    yield judged(row, n)


def _moves(rows: Sequence[dict[str, Any]], head: str, quantity: str) -> int | None:
    """1 where attention surely rises from the first of these k to the last, -1 falls, 0 neither."""
    mine = sorted((r for r in rows if (r["head"], r["quantity"]) == (head, quantity)), key=lambda row: row["k"])
    if len(mine) < 2 or None in (mine[0]["low"], mine[0]["high"], mine[-1]["low"], mine[-1]["high"]):
        return None
    return 1 if mine[-1]["low"] > mine[0]["high"] else -1 if mine[-1]["high"] < mine[0]["low"] else 0
