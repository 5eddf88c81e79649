"""The report of the two-token experiment: the edit of one word against changes that are as large."""

from __future__ import annotations

from whyrank.edits.controls import RANDOM
from whyrank.edits.edit import scale_text
from whyrank.edits.experiment import EDIT, TwoTokenExperiment
from whyrank.edits.figures import Curve, Panel, ScaleAxis, scale_curves
from whyrank.pages.numbers import counted
from whyrank.pages.page import Cell, Data, Figures, Report
from whyrank.plots.style import QUIET, SERIES

DIRECTIONS = {"up": "up: taken for rarer", "down": "down: taken for more common"}
LOOKS = {"U0": ("U0", SERIES[0]), "U1": ("U1", SERIES[1]), "U2": ("U2", SERIES[2]), "row": ("row", SERIES[3])}
CONTROLS = (
    "Each control moves the rows as far as the edit does: along the next singular vectors or along random "
    "directions; or it scales the whole row, up as far as the edit moves it, down by the inverse factor. What "
    "the edit does beyond its controls is in the column 'edit less control'."
)


def experiment_page(result: TwoTokenExperiment) -> Report:
    """The page: the verdict, the edit's curves, its controls."""
    page = Report(
        f"Is U0 an IDF? Two-token documents, {result.ranker}",
        f"{counted(result.items, 'pair')} of words from {counted(result.queries, 'query', 'queries')} of "
        f"{result.collection}: doc1 is the edited word {result.times} times, doc2 the other; "
        f"rule '{result.rule}'; intervals over queries.",
        result.verdict(),
    )
    figures = experiment_figures(result)
    page.heading("The edit")
    page.figure(*figures["edit"])
    if "attention" in figures:
        page.figure(*figures["attention"])
    page.heading("Its controls")
    page.paragraph(CONTROLS)
    page.figure(*figures["controls"])
    page.paragraph(str(result.dial.units))
    _randoms(page, result)
    columns = ["control", "direction", "scale", "doc1", "edit less control", "doc2", "doc1 above doc2"]
    rows: list[list[Cell]] = [
        [
            one.control, one.direction, scale_text(one.scale, result.rule), one.doc1.text("+.3f"),
            one.edit_less.text("+.3f") if one.edit_less else None, one.doc2.text("+.3f"),
            one.doc1_above.percent(),
        ]
        for one in result.curves
        if not one.control.startswith(RANDOM)
    ]  # fmt: skip
    caption = f"Scores, from the unedited doc1 on, of {result.items} documents; the share with doc1 above doc2."
    page.table(columns, rows, caption)
    page.heading("Where the sign comes from")
    page.paragraph(str(result.dial))
    return page


def _randoms(page: Report, result: TwoTokenExperiment) -> None:
    """The edit beside all random directions, scale by scale."""
    found = [(one, one.randoms) for one in result.curves if one.randoms]
    rows: list[list[Cell]] = [
        [
            one.direction, scale_text(one.scale, result.rule), one.doc1.text("+.3f"), randoms.mean.text("+.3f"),
            f"{randoms.least:+.3f}, {randoms.low:+.3f} to {randoms.high:+.3f}, {randoms.most:+.3f}",
            randoms.edit_less.text("+.3f"),
        ]
        for one, randoms in found
    ]  # fmt: skip
    columns = ["direction", "scale", "doc1", "mean of random directions", "least, middle 90%, most", "edit's own"]
    drawn = found[0][1].drawn
    caption = (
        f"doc1 under the edit and under {drawn} random directions of the same size. The edit's own is what it "
        "does beyond their mean; its interval is over queries and directions."
    )
    page.table(columns, rows, caption)


def experiment_figures(result: TwoTokenExperiment) -> Figures:
    """The edit, its controls, and the attention if a head was given."""
    both = [("doc1", "doc1 (edited word)", SERIES[0]), ("doc2", "doc2", SERIES[1])]
    axis = ScaleAxis.of(result.rule, result.dial.units)
    edit = {d: Panel(title, [_curve(result, EDIT, d, *one) for one in both]) for d, title in DIRECTIONS.items()}
    named = {name: LOOKS.get(name, (RANDOM, QUIET)) for name in [*result.controls[1:], EDIT]}  # the edit on top
    controls = {
        d: Panel(title, [_curve(result, name, d, "doc1", *look) for name, look in named.items()])
        for d, title in DIRECTIONS.items()
    }
    data = _curve_data(result)
    caption = "Mean score of the two documents as U0 of the edited word is turned; the unedited doc1 is 0."
    found: Figures = {"edit": (scale_curves(edit, "score - unedited doc1", axis), caption, data)}
    caption = (
        "doc1 under the edit, with its interval, and under changes that are as large, along other directions."
    )
    found["controls"] = (scale_curves(controls, "doc1 - unedited doc1", axis), caption, data)
    if result.head:
        looking = {
            d: Panel(title, [_curve(result, EDIT, d, "attention", "[CLS]", SERIES[2])])
            for d, title in DIRECTIONS.items()
        }
        caption = f"What [CLS] of head {result.head} reads of the edited word in the query, with doc1."
        found["attention"] = (scale_curves(looking, "attention", axis), caption, data)
    return found


def _curve(result: TwoTokenExperiment, control: str, direction: str, what: str, name: str, colour: str) -> Curve:
    points = [one for one in result.curve(control, direction) if getattr(one, what) is not None]
    is_edit = control == EDIT
    estimates = [getattr(one, what) for one in points]
    return Curve(name, [one.scale for one in points], estimates, colour, "-" if is_edit else "--", band=is_edit)


def _curve_data(result: TwoTokenExperiment) -> Data:
    parts = ("doc1", "doc2", "doc1_above", "attention")
    columns = [
        "control", "direction", "scale", *(f"{p} {end}".strip() for p in parts for end in ("", "low", "high"))
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for one in result.curves:
        found = [getattr(one, part) for part in parts]
        ends = [
            getattr(estimate, key) if estimate else None for estimate in found for key in ("value", "low", "high")
        ]
        rows.append([one.control, one.direction, one.scale, *ends])
    return columns, rows
