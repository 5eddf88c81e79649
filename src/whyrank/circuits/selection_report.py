"""How the heads of a circuit were selected, as the page and the terminal tell it."""

from __future__ import annotations

from whyrank.circuits.criterion import UNCONFIRMED
from whyrank.circuits.selected import InSet, Selection
from whyrank.circuits.threshold import BORDERLINE, KEPT
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import NOTHING, p_text
from whyrank.evaluation.interval import TOO_FEW
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Report


def selection_sentence(selection: Selection) -> str:
    """How many heads were chosen, how many the other half confirms, and which sets decided."""
    count = counted(len(selection.heads), "head")
    if not selection.tested:
        return f"{count.capitalize()} stand out by their total effect; {TOO_FEW} to confirm any of them."
    numbers = {status: len(selection.with_status(status)) for status in (KEPT, BORDERLINE, UNCONFIRMED)}
    rest = ", ".join(f"{number} {status}" for status, number in list(numbers.items())[1:] if number)
    sets = " and ".join(selection.deciding)
    silent = [name for name in selection.sets if name not in selection.deciding]
    said = f"Of {count} chosen on one half of the queries, {numbers[KEPT]} are confirmed on the other"
    said += f" ({rest})" if rest else ""
    said += f", by {sets}" if len(selection.deciding) > 1 else f", by {sets} alone"
    return said + (f"; {' and '.join(silent)} could not decide." if silent else ".")


def add_selection(page: Report, selection: Selection) -> None:
    """The sets, the heads that were chosen, and how well integrated gradients would have screened them."""
    page.paragraph(selection_sentence(selection))
    _sets(page, selection)
    rows: list[list[Cell]] = [
        [
            short_name(one.head), NOTHING if one.standing is None else f"{one.standing:.1f}",
            *(_both(one.by_set[name]) for name in selection.sets), p_text(one.p_holm), one.status,
        ]
        for one in selection.heads
    ]  # fmt: skip
    page.table(
        [
            "head",
            "times the usual head",
            *(f"{name}: chosen; confirmed" for name in selection.sets),
            "p",
            "status",
        ],
        rows,
        "Total effect of a head on the score (activation patching), as a share of the gap: on the half of the "
        "queries where heads were chosen, and on the other half, which has no reason to be flattered. p: the "
        "largest of the sets' one-sided p on the other half, Holm-corrected over all that were chosen. "
        "Borderline: confirmed, but below the cut-off there.",
    )
    _gradients(page, selection)


def _sets(page: Report, selection: Selection) -> None:
    rows: list[list[Cell]] = [
        [
            name, " + ".join(f"{pairs} ({queries})" for pairs, queries in zip(one.pairs, one.queries,
            strict=True)), one.gap.text("+.3f"), _share(one.usual), _share(one.cutoff), one.why_not or "decides",
        ]
        for name, one in selection.sets.items()
    ]  # fmt: skip
    page.table(
        ["pairs of", "pairs (queries) in each half", "mean gap", "usual head", "cut-off", "decides"],
        rows,
        "Usual head: 1.4826 times the median size of all heads' effects, as a share of the gap. Every set that "
        "decides has to support a head; one whose gap may be 0 decides nothing.",
    )


def _gradients(page: Report, selection: Selection) -> None:
    one = selection.gradients
    if one is None:
        return
    r = ", ".join(f"{name} {NOTHING if value is None else f'{value:.3f}'}" for name, value in one.pearson.items())
    page.paragraph(
        f"All heads were patched exactly. Integrated gradients ({one.steps} steps, {counted(one.pairs, 'pair')}) "
        f"agree by r = {r}; a screen that keeps the {one.screened} highest of them would hold "
        f"{one.chosen_in_screen} of the {len(selection.heads)} chosen heads."
    )


def _both(one: InSet) -> str:
    return one.chosen.text() + ("" if one.confirmed is None else f"; {one.confirmed.text()}")


def _share(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4f}"
