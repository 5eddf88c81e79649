"""What the curves say: sentences, and the section of a circuit's report."""

from __future__ import annotations

from collections.abc import Mapping

from whyrank.circuits.curves.results import (
    ATTRIBUTION,
    BASELINE,
    NEARLY_ALL,
    CircuitKept,
    Completeness,
    FaithfulnessCurves,
    SizeCurve,
)
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report


def curve_sentences(found: Mapping[str, FaithfulnessCurves]) -> list[str]:
    """Two sentences on the first set of pairs: what the circuit keeps alone, and how many heads it takes."""
    if not found:
        return []
    name, first = next(iter(found.items()))
    said = []
    where = "held-out pairs" if first.held_out else "the pairs it was searched with"
    alone = next((one for one in first.circuits if one.held == BASELINE), None)
    if alone is not None and alone.alone.value is not None:
        said.append(
            f"With all else at the pair's own baseline, {_the(alone)} keeps {alone.alone.percent()} of the gap of "
            f"{name} alone ({where}); the ranker without it keeps {alone.without.percent()}."
        )
    curve = first.curve()
    if curve is not None and (sentence := _size_sentence(curve, name)):
        said.append(sentence)
    return said


def _the(circuit: CircuitKept) -> str:
    return f"{circuit.name} ({counted(len(circuit.heads), 'head')})"


def _size_sentence(curve: SizeCurve, name: str) -> str | None:
    """From which size on nearly all is kept, and what the size before keeps."""
    size, every = curve.size_for(NEARLY_ALL), curve.points[-1].size
    below = [one for one in curve.points if size is not None and one.size < size]
    if size is None or not below:
        return None
    last = f"the first {below[-1].size} of {every} heads keep {below[-1].share.percent()}"
    if size == every:
        return f"By {ATTRIBUTION} {last} of the gap of {name}; no part that was tried keeps {NEARLY_ALL:.0%}."
    at = curve.at(size)
    assert at is not None
    return f"By {ATTRIBUTION} it takes the first {size} to keep {at.percent()} of the gap of {name}; {last}."


def add_curves(page: Report, found: Mapping[str, FaithfulnessCurves]) -> None:
    """The tables beside the figures: circuits alone and removed, completeness, edges."""
    if not found:
        return
    rows: list[list[Cell]] = [
        [name, one.name, len(one.heads), one.held, one.alone.text(), one.without.text()]
        for name, curves in found.items()
        for one in curves.circuits
    ]
    page.table(
        ["pairs", "circuit C", "heads", "rest held at", "F(C): C alone", "F(M - C): without C"],
        rows,
        "F: the share of the gap that is kept. F(C) says whether the circuit is enough (faithfulness), F(M - C) "
        "whether it is needed (necessity: the less is left, the more).",
    )
    _completeness(page, found)


def _completeness(page: Report, found: Mapping[str, FaithfulnessCurves]) -> None:
    some = {name: [one for one in curves.completeness if one.held == BASELINE] for name, curves in found.items()}
    rows = [_completeness_row(name, one) for name, several in some.items() for one in several]
    if rows:
        page.table(
            ["pairs: circuit", "K", "heads in K", "F(C - K)", "F(M - K)", "F(C - K) - F(M - K)"],
            rows,
            "Completeness, as IOI measures it: heads K are taken away from the circuit and from the whole ranker. "
            "A complete circuit loses what the ranker loses: the difference is 0. The rest is held at the pair's "
            "baseline; other ways in circuit.json.",
        )


def _completeness_row(name: str, one: Completeness) -> list[Cell]:
    numbers = (one.of_circuit.text(), one.of_ranker.text(), one.difference.text())
    return [f"{name}: {one.circuit}", one.name, len(one.heads), *numbers]
