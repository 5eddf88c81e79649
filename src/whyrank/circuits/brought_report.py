"""Heads that were brought beside those that were searched for, and beside random ones of the same layers."""

from __future__ import annotations

from whyrank.circuits.results import MATCHING, Ablated, Circuit, RandomSets
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import NOTHING, Estimate, percent
from whyrank.interventions.statistics import SiteSummary
from whyrank.pages.page import Cell, Report

#: The group of curves that tells what matching heads carry.
GROUP = "matching heads"


def brought_sentences(brought: Circuit) -> list[str]:
    """How much of the gap the brought heads keep."""
    if not brought.faithfulness:
        return []
    name, first = next(iter(brought.faithfulness.items()))
    kind, found = first.fairest()
    alone, without = found.only_circuit.kept, found.without_circuit.kept
    if alone.value is None or without.value is None:
        return []
    return [
        f"The {len(brought.heads)} heads brought ({brought.name}) keep {alone.percent()} of the gap of {name} "
        f"alone; without them {without.percent()} is left ({kind} ablation)."
    ]


def add_brought(page: Report, found: Circuit, brought: Circuit) -> None:
    """Both circuits, row by row of the evidence; the full evidence on the brought heads is in the file."""
    ours, theirs = ({one.head for one in circuit.heads} for circuit in (found, brought))
    for title, names in (
        ("in both", ours & theirs), ("only found", ours - theirs), ("only brought", theirs - ours)
    ):  # fmt: skip
        shown = " ".join(short_name(one.head) for one in (*found.heads, *brought.heads) if one.head in names)
        page.paragraph(f"{title.capitalize()}: {' '.join(dict.fromkeys(shown.split())) or NOTHING}.")
    rows: list[list[Cell]] = []
    for name, first in found.faithfulness.items():
        other = brought.faithfulness.get(name)
        for kind, one in first.kinds.items():
            beside = other.kinds[kind].each() if other and kind in other.kinds else {}
            for what, mine in one.each().items():
                given = beside.get(what)
                rows.append(
                    [f"{name}, {kind}", what, mine.kept.text(), _random(mine.random), *_given(given)]
                )  # fmt: skip
    page.table(
        ["pairs, ablation", "what is left", "found: kept of the gap", "random, its layers", "brought: kept",
         "random, its layers"],
        rows,
        f"Brought: {len(brought.heads)} heads ({brought.name}); found: {len(found.heads)}. Random: as many heads "
        "of each layer, mean (least to most).",
    )  # fmt: skip
    page.table(["evidence", "found", "brought"], _evidence(found, brought), "The same measures on both circuits.")


def _evidence(found: Circuit, brought: Circuit) -> list[list[Cell]]:
    rows: list[list[Cell]] = [["heads", len(found.heads), len(brought.heads)]]
    both = (found, brought)
    for role in found.tests.roles:
        rows.append([f"mean r of the {role} heads", *(_text(one.tests.roles[role].role) for one in both)])
    rows.append(["U0 against matching score, r", *(_text(one.u0_against_matching) for one in both)])
    for part, word in (("v", "values"), ("q", "queries"), ("k", "keys")):
        rows.append([f"{MATCHING} heads to scoring heads' {word}", *(_text(_sent(one, part)) for one in both)])
    for what, at in (("fewest", 0), ("most", -1)):
        name = f"{MATCHING} heads alone on TFC2, {what} occurrences"
        rows.append([name, *(_text(_counted(one, at)) for one in both)])
    return rows


def _sent(circuit: Circuit, part: str) -> Estimate | None:
    paths = circuit.matching_to_scoring
    sent: SiteSummary | None = None if paths is None else getattr(paths, part)
    return None if sent is None else sent.share


def _counted(circuit: Circuit, at: int) -> Estimate | None:
    curve = circuit.count_not_flag.get(GROUP)
    return None if curve is None else curve.points[at].mean


def _given(one: Ablated | None) -> tuple[str, str]:
    return (NOTHING, NOTHING) if one is None else (one.kept.text(), _random(one.random))


def _random(random: RandomSets) -> str:
    if random.mean is None:
        return NOTHING
    return f"{percent(random.mean)} ({percent(random.least)} to {percent(random.most)})"


def _text(one: Estimate | None) -> str:
    return NOTHING if one is None else one.text()
