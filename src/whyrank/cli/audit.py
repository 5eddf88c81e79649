"""`whyrank audit`: does it behave?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import gate, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import console, print_json, say, suggest
from whyrank.cli.grouped import grouped
from whyrank.cli.reading import opened

if TYPE_CHECKING:
    from whyrank.audit.results import Audit, AxiomSummary
    from whyrank.evaluation.estimate import Estimate


@app.command("audit")
@grouped
def audit(
    *,
    ranker: Annotated[
        list[str], typer.Option(help="A folder, hub id or short name; again for more, side by side.")
    ],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    axiom: options.Axioms = ["all"],  # noqa: B006
    pairs: Annotated[Path | None, typer.Option(help="Audit on this pairs file instead.")] = None,
    delta: Annotated[float | None, typer.Option(min=0, help="Differences up to this are neutral.")] = None,
    choices: options.PairChoices,
    reading: options.Reading,
    fail_if: gate.FailIf = [],  # noqa: B006
    junit: gate.JUnit = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Check rankers against IR axioms on minimal pairs, with intervals, curves and the worst violations."""
    say(f"auditing {', '.join(ranker)} on {pairs or collection}")
    conditions = gate.conditions_of(fail_if, junit)
    from whyrank.audit.api import audit as run_audit

    texts = opened(collection, **vars(reading))
    result = run_audit(
        ranker, texts, ",".join(axiom), pairs=pairs, delta=delta, device=device, out=out, caller=terminal(),
        **vars(choices),
    )  # fmt: skip
    print_json(result) if json else show(result)
    _notes(result, own=pairs is not None)
    suggest(f"open {out / 'report.html'} in a browser")
    gate.close(conditions, measured(result), junit, "whyrank audit")


def measured(result: Audit) -> dict[str, dict[str, Estimate]]:
    """The numbers that `--fail-if` may name: the share of pairs that hold, by axiom (`TFC1`) or variant
    (`TFC1:append`), and with `violates` behind it the share that violate; each ranker's."""
    numbers: dict[str, dict[str, Estimate]] = {}
    for one in result.axioms:
        parts = one.axiom.split(":")
        for name in (":".join(parts[:size]) for size in range(1, len(parts) + 1)):
            called = f"{one.ranker}, {one.axiom}"
            numbers.setdefault(name, {})[f"share of pairs that hold ({called})"] = one.holds
            violating = numbers.setdefault(f"{name} violates", {})
            violating[f"share of pairs that violate ({called})"] = one.violates
    return numbers


def _notes(result: Audit, own: bool) -> None:
    """What the table does not show: pairs that say nothing, texts not scored as given, pairs dropped."""
    for ranker in result.rankers:
        for sentence in ranker.sentences():
            say(f"{ranker.name}: {sentence}")
        for sentence in ranker.texts.sentences(ranker.name) if own else []:
            say(f"{ranker.name}: {sentence}; the texts that were scored are in rows.parquet")
        if ranker.dropped:
            reasons = ", ".join(f"{count} {reason}" for reason, count in ranker.dropped.items())
            say(f"{ranker.name}: dropped pairs: {reasons}")


def show(result: Audit) -> None:
    """One row per axiom, one column per ranker: the share that holds, and that violates, on stdout."""
    from rich.table import Table

    from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

    rankers = [one.name for one in result.rankers]
    found = {(summary.axiom, summary.ranker): summary for summary in result.axioms}
    title = "pairs whose preferred side scores higher / lower; * mean significant at 0.05 (Holm)"
    table = Table(title=title, title_justify="left")
    table.add_column("axiom")
    for name in ("pairs", *rankers):
        table.add_column(name, justify="right")
    for axiom in dict.fromkeys(summary.axiom for summary in result.axioms):
        mine = [found.get((axiom, ranker)) for ranker in rankers]
        table.add_row(axiom, _counts(mine), *map(_shares, mine))
    for axiom in dict.fromkeys(summary.axiom for summary in result.axioms if summary.gain_falls):
        falls = [_falls(found.get((axiom, ranker))) for ranker in rankers]
        more = axiom.removeprefix("TFC2:marginal").replace(":", " ")
        table.add_row(f"TFC2 itself: gains fall{more}", "", *falls)
    console().print(table)
    few = {summary.axiom: summary.queries for summary in result.axioms if summary.queries < FEWEST_QUERIES}
    if few:
        names = ", ".join(f"{axiom} ({count})" for axiom, count in few.items())
        say(f"{TOO_FEW} for an interval or a p-value: {names}; give {FEWEST_QUERIES} or more")


def _counts(summaries: list[AxiomSummary | None]) -> str:
    sizes = [summary.n if summary else 0 for summary in summaries]
    return str(max(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)}-{max(sizes)}"


def _shares(summary: AxiomSummary | None) -> str:
    from whyrank.evaluation.estimate import percent

    if summary is None:
        return "–"
    star = "*" if summary.is_significant else " "
    return f"{percent(summary.holds.value)} / {percent(summary.violates.value)}{star}"


def _falls(summary: AxiomSummary | None) -> str:
    from whyrank.evaluation.estimate import percent

    return percent(summary.gain_falls.value if summary and summary.gain_falls else None)
