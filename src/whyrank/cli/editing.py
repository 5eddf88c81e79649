"""What the commands that edit share: their options, and what they show on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli.console import command, console, say, suggest

if TYPE_CHECKING:
    from whyrank.edits.experiment import TwoTokenExperiment
    from whyrank.edits.holder_moves import HolderMoves, RankingCost
    from whyrank.edits.intent import SharerMoves
    from whyrank.edits.results import RankingChange, SharedPiece, Turn
    from whyrank.edits.suppression import Suppression
    from whyrank.edits.units import Units
    from whyrank.evaluation.estimate import Estimate

#: Queries, and documents of each, shown on the screen; and warnings.
QUERIES, DOCUMENTS, WARNINGS = 5, 4, 12
OneRanker = Annotated[str, typer.Option("--ranker", help="A folder, hub id or short name.")]
Save = Annotated[
    Path | None, typer.Option("--save", help="Save the edited ranker as a checkpoint in this folder.")
]
Preview = Annotated[bool, typer.Option("--preview", help="Show what moves, and what it costs.")]
RunFolderIfAny = Annotated[Path | None, typer.Option("-o", "--out", help="The run folder to write.")]
Rule = Annotated[
    str,
    typer.Option("--rule", help="What a plain scale is: sd, idf, paper (x5: a factor of |U0|) or authors."),
]
IdfSource = Annotated[
    str, typer.Option("--idf", help="collection (counted there), wordfreq, or a file: word<TAB>idf per line.")
]
CollectionIfAny = Annotated[
    str | None, typer.Option("--collection", help="A folder, a built-in name or an ir_datasets id.")
]


def show_holders(holders: Sequence[HolderMoves]) -> None:
    """Whether documents that hold an edited word moved as was meant: the first lines of a result."""
    for one in holders:
        print(one.sentence, flush=True)  # not through rich, which would break the line


def show_sharers(sharers: Sequence[SharerMoves]) -> None:
    """Documents that share a piece of an edited word: one line per word, and those that moved most."""
    from rich.table import Table

    for one in sharers:
        print(one, flush=True)
        if one.examples:
            table = Table(title=f'without "{one.term}", moved as it is turned', title_justify="left")
            for column in ("query", "document", "by", "rank"):
                table.add_column(column)
            for move in one.examples:
                rank = f"{move.before} → {move.after}"
                table.add_row(move.query[:30], move.snippet, ", ".join(move.words), rank)
            console().print(table)


def show_turns(turns: Sequence[Turn], units: Units) -> None:
    """What is turned, and by how much."""
    from rich.table import Table

    table = Table(title="pieces that are turned (less of U0 is rarer)", title_justify="left")
    for column in ("term", "piece", "U0 before", "after", "up, in sd", "in IDF"):
        table.add_column(column, justify="left" if column in ("term", "piece") else "right")
    for turn in turns:
        moved = turn.after - turn.before
        table.add_row(
            ", ".join(turn.terms), turn.piece, f"{turn.before:+.5f}", f"{turn.after:+.5f}",
            f"{units.in_sd(moved):+.2f}", f"{units.in_idf(moved):+.2f}",
        )  # fmt: skip
    console().print(table)
    say(str(units))


def warn_of_range(turns: Sequence[Turn], units: Units) -> None:
    """Pieces that are turned to where hardly any word is."""
    found = [turn for turn in turns if units.leaves(turn.before, turn.after)]
    for turn in found[:WARNINGS]:
        say(f"warning: {turn.outside(units)}")
    if len(found) > WARNINGS:
        say(f"warning: {len(found) - WARNINGS} more pieces leave the natural range")


def warn(shared: Sequence[SharedPiece], spellings: Mapping[str, Sequence[str]]) -> None:
    """Who else is moved, and what is not."""
    for one in shared[:WARNINGS]:
        say(f"warning: {one}; that moves, too")
    if len(shared) > WARNINGS:
        say(f"warning: {len(shared) - WARNINGS} more pieces are shared with other words")
    for term, others in spellings.items():
        are = "is another token" if len(others) == 1 else "are other tokens"
        say(f"warning: {term}: {' and '.join(others)} {are}, which this does not edit")


def show_ranking(ranking: RankingChange) -> None:
    """The documents that move, of the queries that change most, and what that costs."""
    from rich.table import Table

    cost = ranking.cost
    say(
        f"{ranking.rescored} of {ranking.pairs} pairs read a changed token and were scored again; the order "
        f"changes in {cost.changed_queries} of {cost.queries} queries"
    )
    if ranking.changes:
        table = Table(title="what moves most", title_justify="left")
        for column in ("query", "document", "rank", "score", "grade"):
            table.add_column(column, justify="left" if column in ("query", "document") else "right")
        for change in ranking.changes[:QUERIES]:
            for i, one in enumerate(change.documents[:DOCUMENTS]):
                grade = "–" if one.grade is None else str(one.grade)
                scores = f"{one.score_before:.3f} → {one.score_after:.3f}"
                query = change.query[:30] if i == 0 else ""
                table.add_row(query, one.title, f"{one.before} → {one.after}", scores, grade)
        console().print(table)
    show_cost(cost)


def show_cost(cost: RankingCost) -> None:
    """nDCG before and after, the paired difference, and agreement with the unedited ranking."""
    from rich.table import Table

    title = f"{cost.queries} queries, 95% intervals over queries"
    table = Table(title=title, title_justify="left")
    for column in ("nDCG@10 before", "after", "difference", "agreement with the unedited"):
        table.add_column(column, justify="right")
    table.add_row(
        _text(cost.ndcg_before), _text(cost.ndcg_after), _text(cost.difference, "+.4f"), _text(cost.agreement)
    )
    console().print(table)
    if cost.ndcg_before is None:
        say("there are no judgements, so nDCG is only against the unedited ranking")


def show_experiment(result: TwoTokenExperiment) -> None:
    """doc1 and doc2 over the scales, and doc1 under the controls; of several random ones the ends."""
    from rich.table import Table

    from whyrank.edits.edit import scale_text

    controls: dict[str, list[str]] = {}
    for name in result.controls[1:]:
        controls.setdefault(name.split()[0], []).append(name)
    title = f"{result.items} word pairs, scores from the unedited doc1 on; then doc1 under the controls"
    table = Table(title=title, title_justify="left")
    for column in ("", "scale", "doc1", "doc2", *controls, "beyond random"):
        table.add_column(column, justify="left" if not column else "right")
    found = {(one.control, one.direction, one.scale): one for one in result.curves}
    for (control, direction, scale), one in found.items():
        if control == result.controls[0]:
            rivals = [_ends([found[name, direction, scale].doc1 for name in names]) for names in controls.values()]
            doc1, doc2 = _text(one.doc1, "+.2f"), _text(one.doc2, "+.2f")
            beyond = _text(one.randoms.edit_less if one.randoms else None, "+.2f")
            table.add_row(direction, scale_text(scale, result.rule), doc1, doc2, *rivals, beyond)
    console().print(table)
    for sentence in result.verdict():
        print(sentence, flush=True)


def _ends(estimates: Sequence[Estimate]) -> str:
    """`-0.26`, or `-0.26 to +0.02` of several."""
    values = [one.value or 0.0 for one in estimates]
    return " to ".join(dict.fromkeys(f"{value:+.2f}" for value in (min(values), max(values))))


def show_suppression(result: Suppression) -> None:
    """Success and cost at each scale."""
    from rich.table import Table

    from whyrank.edits.edit import scale_text

    title = f"{result.kept} of {result.drawn} documents score higher with a listed word in them"
    table = Table(title=title, title_justify="left")
    for column in ("scale", "put below", "nDCG@10", "agreement", "queries changed"):
        table.add_column(column, justify="right")
    for one in result.scales:
        knee = " (knee)" if result.knee and result.knee.scale == one.scale else ""
        table.add_row(
            f"{scale_text(one.scale, result.rule)}{knee}", _text(one.success, ".3f"), _text(one.cost.ndcg_after),
            _text(one.cost.agreement), f"{one.cost.changed_queries} of {one.cost.queries}",
        )  # fmt: skip
    console().print(table)
    title = f"at scale {scale_text(result.at, result.rule)}, beside other means"
    table = Table(title=title, title_justify="left")
    for column in ("", "put below", "do not gain", "nDCG@10 changes by"):
        table.add_column(column, justify="right" if column else "left")
    for method in result.methods:
        table.add_row(
            method.name, _text(method.below, ".3f"), _text(method.not_above, ".3f"),
            _text(method.cost.difference, "+.4f"),
        )  # fmt: skip
    randoms = result.randoms
    table.add_row(
        f"{randoms.below.drawn} random directions", _text(randoms.below.mean, ".3f"),
        _text(randoms.not_above.mean, ".3f"), _text(randoms.difference, "+.4f"),
    )  # fmt: skip
    console().print(table)
    print(randoms, flush=True)


def _text(estimate: Estimate | None, form: str = ".4f") -> str:
    """`0.777 [0.711, 0.844]`."""
    return "–" if estimate is None else estimate.text(form)


def suggest_after(save: Path | None, out: Path | None, collection: str | None, again: Sequence[object]) -> None:
    """What makes sense next: rank with the saved checkpoint, or save; and read the report."""
    report = [f"open {out / 'report.html'} in a browser"] if out else []
    where = command("rank", "--ranker", save, "--collection", collection or "demo", "-o", "runs/edited")
    suggest(*report, where if save else command(*again, "--save", "FOLDER"))
