"""What the commands that edit show on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whyrank.cli.console import console, say
from whyrank.evaluation.estimate import row_text

#: Queries, and documents of each, shown on the screen; and warnings.
QUERIES, DOCUMENTS, WARNINGS = 5, 4, 12


def show_holders(told: Sequence[Mapping[str, Any]]) -> None:
    """Whether documents that hold an edited word moved as was meant: the first lines of a result."""
    for one in told:
        print(one["sentence"], flush=True)  # not through rich, which would break the line


def show_turns(told: Mapping[str, Any]) -> None:
    """What is turned."""
    from rich.table import Table

    table = Table(title="pieces that are turned (less of U0 is rarer)", title_justify="left")
    for column in ("term", "piece", "U0 before", "after"):
        table.add_column(column, justify="left" if column in ("term", "piece") else "right")
    for turn in told["turns"]:
        table.add_row(", ".join(turn["terms"]), turn["piece"], f"{turn['before']:+.5f}", f"{turn['after']:+.5f}")
    console().print(table)


def warn(told: Mapping[str, Any]) -> None:
    """Who else is moved, and what is not."""
    for one in told["shared"][:WARNINGS]:
        users = [f"is the word '{one['word']}'"] if one["word"] else []
        if one["words"]:
            users.append(f"stands in {_count(one['words'], 'other word')} ({', '.join(one['examples'])}) of "
                         f"{_count(one['documents'], 'document')}")  # fmt: skip
        say(f"warning: {one['term']}: its piece '{one['piece']}' {' and '.join(users)}; that moves, too")
    if len(told["shared"]) > WARNINGS:
        say(f"warning: {len(told['shared']) - WARNINGS} more pieces are shared with other words")
    for term, others in told["spellings"].items():
        are = "is another token" if len(others) == 1 else "are other tokens"
        say(f"warning: {term}: {' and '.join(others)} {are}, which this does not edit")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def show_moves(told: Mapping[str, Any]) -> None:
    """The documents that move, of the queries that change most."""
    from rich.table import Table

    cost = told["cost"]
    say(
        f"{told['rescored']} of {told['pairs']} pairs read a changed token and were scored again; the order "
        f"changes in {cost['changed_queries']} of {cost['queries']} queries"
    )
    if not told["changes"]:
        return
    table = Table(title="what moves most", title_justify="left")
    for column in ("query", "document", "rank", "score", "grade"):
        table.add_column(column, justify="left" if column in ("query", "document") else "right")
    for change in told["changes"][:QUERIES]:
        for i, one in enumerate(change["documents"][:DOCUMENTS]):
            grade = "–" if one["grade"] is None else str(one["grade"])
            scores = f"{one['score_before']:.3f} → {one['score_after']:.3f}"
            query = change["query"][:30] if i == 0 else ""
            table.add_row(query, one["docno"], f"{one['before']} → {one['after']}", scores, grade)
    console().print(table)


def show_cost(cost: Mapping[str, Any]) -> None:
    """nDCG before and after, the paired difference, and agreement with the unedited ranking."""
    from rich.table import Table

    table = Table(title=f"{cost['queries']} queries, 95% intervals over queries", title_justify="left")
    for column in ("nDCG@10 before", "after", "difference", "agreement with the unedited"):
        table.add_column(column, justify="right")
    table.add_row(
        short(cost["ndcg_before"]), short(cost["ndcg_after"]), short(cost["difference"], "+.4f"),
        short(cost["agreement"]),
    )  # fmt: skip
    console().print(table)
    if cost["ndcg_before"] is None:
        say("there are no judgements, so nDCG is only against the unedited ranking")


def show_experiment(told: Mapping[str, Any]) -> None:
    """doc1 and doc2 over the scales, and doc1 under the controls; of several random ones the ends."""
    from rich.table import Table

    controls: dict[str, list[str]] = {}
    for name in dict.fromkeys(row["control"] for row in told["curves"]):
        controls.setdefault(name.split()[0], []).append(name)
    table = Table(
        title=f"{told['items']} word pairs, scores from the unscaled doc1 on; then doc1 under the controls",
        title_justify="left",
    )
    for column in ("", "scale", "doc1", "doc2", *(name for name in controls if name != "U0")):
        table.add_column(column, justify="left" if not column else "right")
    found = {(row["control"], row["direction"], row["scale"]): row for row in told["curves"]}
    for (control, direction, scale), row in found.items():
        if control == "U0":
            cells = []
            for name, names in controls.items():
                values = [found[one, direction, scale]["doc1"]["value"] for one in names]
                ends = dict.fromkeys(f"{value:+.2f}" for value in (min(values), max(values)))
                cells += [" to ".join(ends)] if name != "U0" else []
            doc1, doc2 = short(row["doc1"], "+.2f"), short(row["doc2"], "+.2f")
            table.add_row(direction, f"{scale:g}", doc1, doc2, *cells)
    console().print(table)


def show_suppression(told: Mapping[str, Any]) -> None:
    """Success and cost at each scale."""
    from rich.table import Table

    table = Table(title=f"{told['kept']} of {told['drawn']} documents score higher with a listed word in them",
                  title_justify="left")  # fmt: skip
    for column in ("scale", "put below", "nDCG@10", "agreement", "queries changed"):
        table.add_column(column, justify="right")
    for row in told["scales"]:
        cost = row["cost"]
        knee = told["knee"] and told["knee"]["scale"] == row["scale"]
        table.add_row(
            f"{row['scale']:g}{' (knee)' if knee else ''}", short(row["success"], ".3f"),
            short(cost["ndcg_after"]), short(cost["agreement"]), f"{cost['changed_queries']} of {cost['queries']}",
        )  # fmt: skip
    console().print(table)


def short(estimate: Mapping[str, Any] | None, form: str = ".4f") -> str:
    """`0.777 [0.711, 0.844]`."""
    return "–" if estimate is None else row_text(estimate, "value", form)
