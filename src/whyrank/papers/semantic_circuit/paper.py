"""The findings of 'Pathway to Relevance' beside what a study of a cross-encoder found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import row_text
from whyrank.evaluation.interval import Interval
from whyrank.pages.findings import OPEN, Beside

SCORING = ("10.1", "10.4", "10.7", "10.10")
CONTEXTUALIZATION = ("8.10", "9.11")
MATCHING = ("0.8", "1.7", "2.1", "3.1", "4.9", "5.7", "5.9", "6.3", "6.5", "7.9", "8.0", "8.1", "8.8")
#: Scales of an edit that are told: the middle of the paper's first range, and the end of its second.
SCALES_SHOWN = (20.0, 200.0)
#: A share below this part of another is small beside it.
SMALL = 0.1
#: The model that the paper opened, as a short name or on the hub.
PAPERS_MODEL = ("ce-minilm-l12", "ms-marco-minilm-l-12-v2")
#: A curve that changes by less than this part is level.
LEVEL = 0.2
Results = Mapping[str, dict[str, Any]]


def is_papers_model(name: str) -> bool:
    """Whether a ranker of this name is the one whose heads the paper names."""
    return any(known in name.lower() for known in PAPERS_MODEL)


def findings(results: Results) -> list[Beside]:
    """By the name of the stage, whatever stages there are."""
    found: list[Beside] = []
    for name, read in READERS.items():
        if name in results:
            found += read(results[name])
    return found


def _circuit(told: dict[str, Any]) -> Iterator[Beside]:
    known = is_papers_model(told["ranker"])
    steps = {(step["number"], step["part"]): step for step in told["steps"]}
    first, values = steps[0, None], steps.get((1, "v"))
    n = f"{sum(first['pairs'].values())} pairs"
    to_logits = [e["sender"] for e in told["edges"] if e["step"] == 0 and e["status"] == "kept"]
    later = f"{_pairs(values)} pairs"
    for what, heads, ours, count in (
        ("heads that reach the logits", SCORING, to_logits, n),
        ("query contextualization heads", CONTEXTUALIZATION, told["roles"]["contextualization"], later),
        ("matching heads", MATCHING, told["roles"]["matching"], later),
    ):
        found = Beside.heads(what, heads, _short(ours), count)
        yield found if known else replace(found, verdict=OPEN, why="another model: its heads are its own")
    for what, paper, step in (("to the logits", 0.99, first), ("to the scoring heads' values", 0.83, values)):
        between = step and step["between_sets"]
        if between:
            yield Beside.number(
                f"TFC1 against STMC1, {what}: r", paper, between["pearson"],
                Interval.from_json(between["interval"]), f"{between['sites']} heads, {between['pairs']} pairs",
            )  # fmt: skip
    yield from _attention(told, known)
    yield from _independence(told)
    yield from _ablation(told)
    yield from _counting(told)


def _attention(told: dict[str, Any], known: bool) -> Iterator[Beside]:
    roles, heads = told["tests"]["roles"], {row["head"]: row for row in told["tests"]["heads"]}
    first = next(iter(heads.values()))["pooled"]
    n = _n(first["scoring"])
    if roles["scoring"]["role_absolute"]:
        mine = roles["scoring"]["role_absolute"]
        yield Beside.number("CLS attention to query tokens against IDF, mean |r| of the scoring heads", 0.67,
                            mine["r"], Interval.from_json(mine), n)  # fmt: skip
    for head in told["roles"]["scoring"]:
        one, name = heads[head]["pooled"]["scoring"], _short([head])[0]
        said, holds = (SIGNS.get(name, "–"), _sign_agrees(name, one)) if known else ("–", None)
        yield Beside.holds(f"what {name} reads of the query", said, f"{_reads(one)}: r = {_with(one)}", n, holds)
    for head, paper in (("L8.H10", 0.781), ("L9.H11", 0.829)):
        if known and head in heads:
            one = heads[head]["pooled"]["contextualization"]
            yield Beside.number(f"{_short([head])[0]}: query-to-query attention against IDF, r", paper, one["r"],
                                Interval.from_json(one), _n(one))  # fmt: skip
    for name, paper, key in (("matching heads", 0.5, "role"), ("all other heads", 0.132, "others")):
        one = roles["matching"][key]
        if one:
            yield Beside.number(f"attention to document tokens against cosine, mean r of {name}", paper, one["r"],
                                Interval.from_json(one), _n(first["matching"], "pairs of tokens"))  # fmt: skip


#: What the paper says the scoring heads read, and the sign of r that follows.
SIGNS = {"10.1": "rare terms", "10.10": "common terms", "10.4": "mid to rare terms", "10.7": "mid to rare terms"}


def _sign(one: dict[str, Any]) -> int:
    """Of r, where its interval leaves out 0; else 0."""
    if one["low"] is None or one["low"] <= 0 <= one["high"]:
        return 0
    return 1 if one["low"] > 0 else -1


def _reads(one: dict[str, Any]) -> str:
    return {1: "rare terms", -1: "common terms", 0: "no clear preference"}[_sign(one)]


def _sign_agrees(head: str, one: dict[str, Any]) -> bool | None:
    if head not in SIGNS or not _sign(one):
        return None
    return (_sign(one) > 0) == (head != "10.10")


def _independence(told: dict[str, Any]) -> Iterator[Beside]:
    u0, paths = told.get("u0_against_matching"), told.get("matching_to_scoring")
    if u0:
        yield Beside.number("U0 against matching score, r", 0.143, u0["r"], Interval.from_json(u0),
                            f"{u0['n']} tokens of {u0['queries']} queries")  # fmt: skip
    if paths and "q" in paths:
        q, v = paths["q"], paths["v"]
        sizes = [abs(one["share"]) if one["share"] is not None else None for one in (q, v)]
        small = None if None in sizes else sizes[0] < SMALL * sizes[1]  # type: ignore[operator]
        yield Beside.holds(
            "matching heads to the scoring heads' queries", "about 0",
            f"{_share(q)} of the gap; to their values {_share(v)}", f"{q['n']} pairs", small,
        )  # fmt: skip


def _ablation(told: dict[str, Any]) -> Iterator[Beside]:
    papers = {"TFC1": "5.146 to -4.394", "STMC1": "-1.998 to -4.611"}
    for name, one in told["faithfulness"].items():
        zero = one["kinds"].get("zero", {})
        gone = zero.get("without matching")
        if gone and name in papers:
            before, after, drawn = (
                zero["intact"]["perturbed"],
                gone["perturbed"],
                zero["random"]["without matching's"],
            )
            rivals = (
                f"; as many random heads: {drawn['perturbed']:.3f}, at least {drawn['perturbed_least']:.3f}"
                if drawn["circuits"]
                else ""
            )
            holds = after < drawn["perturbed_least"] if drawn["circuits"] else None
            yield Beside.holds(
                f"matching heads zeroed, {name}: mean logit", papers[name], f"{before:.3f} to {after:.3f}{rivals}",
                f"{gone['n']} pairs", holds,
            )  # fmt: skip


def _counting(told: dict[str, Any]) -> Iterator[Beside]:
    if "saturation" in told:
        points = told["saturation"]["injected"]["matching heads"]["points"]
        control = told["saturation"]["other tokens"]["matching heads"]["points"]
        first, last = points[0]["mean"], points[-1]["mean"]
        half = points[len(points) // 2]["mean"]
        fits = told["saturation"]["injected"]["matching heads"].get("fits")
        flattens = None if not fits else _grows(points) and fits[0]["curve"] in ("log", "sqrt")
        yield Beside.holds(
            "attention of matching heads to the term over its occurrences", "rises, then flattens",
            f"{first:.3f} at k={points[0]['k']}, {half:.3f} at {points[len(points) // 2]['k']}, {last:.3f} at "
            f"{points[-1]['k']}; best fit {fits[0]['curve'] if fits else 'none'}",
            f"{points[0]['n']} documents", flattens,
        )  # fmt: skip
        change = control[-1]["mean"] / control[0]["mean"] - 1
        yield Beside.holds(
            "the same to other document tokens", "level",
            f"{control[0]['mean']:.3f} to {control[-1]['mean']:.3f} ({change:+.0%})",
            f"{points[0]['n']} documents", abs(change) < LEVEL,
        )  # fmt: skip
    if "count_not_flag" in told:
        effect = told["count_not_flag"]["matching heads"]["points"]
        yield Beside.holds(
            "matching heads alone on TFC2: the score", "grows with the count",
            f"{effect[0]['mean']:+.3f} at k={effect[0]['k']}, {effect[-1]['mean']:+.3f} at {effect[-1]['k']}",
            f"{effect[0]['n']} documents", _grows(effect),
        )  # fmt: skip
    if "length" in told:
        total, mean = (told["length"][name]["matching heads"]["points"] for name in ("sum", "mean over tokens"))
        n = sum(point["n"] for point in total)
        yield Beside.holds(
            "attention to the document as sentences are added", "falls (section 4.3); rises (appendix E)",
            f"sum {_mean(total):+.4f}, mean over tokens {_mean(mean):+.5f}", f"{n} documents", None,
        )  # fmt: skip


def _grows(points: list[dict[str, Any]]) -> bool | None:
    """Whether the last point is surely above the first; None where the intervals overlap."""
    first, last = points[0], points[-1]
    if first["high"] is None or last["low"] is None:
        return None
    if last["low"] > first["high"]:
        return True
    return False if last["high"] < first["low"] else None


def _activation(told: dict[str, Any]) -> Iterator[Beside]:
    one = told.get("compared")
    if one:
        yield Beside.number("TFC1 against STMC1, activation patching: r", 0.96, one["pearson"],
                            Interval.from_json(one["interval"]),
                            f"{one['sites']} heads, {told['pairs']} pairs")  # fmt: skip


def _idf(told: dict[str, Any]) -> Iterator[Beside]:
    one = told["correlations"][0]
    yield Beside.number(f"U0 against IDF ({told['idf']}), r", -0.7136, one["r"], Interval.from_json(one),
                        f"{one['n']} words")  # fmt: skip


def _two_tokens(told: dict[str, Any]) -> Iterator[Beside]:
    def at(control: str, direction: str, scale: float) -> dict[str, Any]:
        mine = [one for one in told["curves"] if one["control"] == control and one["direction"] == direction]
        return min(mine, key=lambda one: abs(one["scale"] - scale))

    others = sorted({one["control"] for one in told["curves"]} - {"U0"})
    for direction, paper, sign in (("up", "rises", 1), ("down", "falls", -1)):
        for scale in SCALES_SHOWN:
            edit = at("U0", direction, scale)
            beyond = [name for name in others if _surely(at(name, direction, scale)["edit_less"], sign)]
            moves = _surely(edit["doc1"], sign)
            found = Beside.holds(
                f"score of doc1 when IDF goes {direction}, scale {edit['scale']:g}", paper, _value(edit["doc1"]),
                f"{told['items']} documents", moves and len(beyond) == len(others),
            )  # fmt: skip
            yield replace(found, why=f"surely more than {len(beyond)} of {len(others)} controls of the same size")


def _surely(one: dict[str, Any], sign: int) -> bool:
    """Whether the interval lies on this side of 0."""
    end = one["low"] if sign > 0 else one["high"]
    return end is not None and sign * end > 0


def _suppress(told: dict[str, Any]) -> Iterator[Beside]:
    last = told["scales"][-1]
    n = f"{told['kept']} pairs of {told['words']} words"
    one = last["success"]
    yield Beside.number(
        f"unsafe below safe, scale {last['scale']:g}", 0.804, one["value"], Interval.from_json(one), n
    )
    more = told["control"]["more"]
    yield Beside.holds(
        f"the same beyond a random direction of the same size, scale {told['control']['scale']:g}", "not measured",
        _value(more), n, None,
    )  # fmt: skip
    kept = last["cost"]["agreement"]
    yield Beside.number(f"nDCG against the unedited ranking, scale {last['scale']:g}", 0.9861, kept["value"],
                        Interval.from_json(kept), f"{kept['queries']} queries")  # fmt: skip


def _semantic_bm(told: dict[str, Any]) -> Iterator[Beside]:
    names = {"default": "split by query, shared coefficients", "paper": "the paper's protocol"}
    for protocol in told["protocols"]:
        for model, paper, label in (("semantic_bm", 0.8157, "SemanticBM"), ("bm25", 0.42, "BM25")):
            one = next((m["pearson"] for m in protocol["models"] if m["name"] == model), None)
            if one:
                what = (
                    f"{label} against the cross-encoder, {names[protocol['name']]}, {len(told['heads'])} heads: r"
                )
                yield Beside.number(what, paper, one["r"], Interval.from_json(one), f"{one['n']} pairs")


READERS = {
    "circuit": _circuit, "activation-stmc1": _activation, "idf": _idf, "two-tokens": _two_tokens,
    "suppress": _suppress, "semantic-bm": _semantic_bm, "semantic-bm-paper": _semantic_bm,
}  # fmt: skip


def _short(heads: list[str]) -> list[str]:
    return [short_name(head) for head in heads if head.startswith("L")]


def _n(told: dict[str, Any], what: str = "tokens") -> str:
    return f"{told['n']} {what}, {told['queries']} queries"


def _pairs(step: dict[str, Any] | None) -> int:
    return sum(step["pairs"].values()) if step else 0


def _with(told: dict[str, Any]) -> str:
    return row_text(told, "r")


def _share(site: dict[str, Any]) -> str:
    return row_text(site, "share", ends="share_interval")


def _value(one: dict[str, Any]) -> str:
    return row_text(one, "value", "+.2f")


def _mean(points: list[dict[str, Any]]) -> float:
    """Over all documents, whatever their k."""
    return sum(p["mean"] * p["n"] for p in points) / sum(p["n"] for p in points)
