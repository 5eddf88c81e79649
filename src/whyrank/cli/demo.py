"""`whyrank demo`: the first minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, progress_bar, say, suggest

if TYPE_CHECKING:
    from whyrank.explain.explanation import DialTurn, Explanation
    from whyrank.explain.first_look import FirstLook

#: Columns of a panel.
WIDTH = 96


@app.command("demo")
def demo(
    ranker: Annotated[str, typer.Option(help="The ranker to show.")] = "ce-minilm-l12",
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to put the runs and the pages.")] = Path(
        "runs/demo"
    ),
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """BM25 against a neural ranker on the built-in collection; why one document is first and another is not."""
    say("whyrank demo: 108 short documents, 26 queries, graded by hand")
    from whyrank.collections.demo import open_demo
    from whyrank.core.caller import Caller
    from whyrank.core.runs import Run
    from whyrank.explain.first_look import first_look
    from whyrank.rankers.load import load

    collection = open_demo()
    with Run.open(out, "demo", {}, terminal(), renew=True) as work:
        say(f"loading {ranker}")
        model = load(ranker, collection=collection, device=device)
        say(f"{ranker}: {model.source}")
        found = first_look(model, ranker, collection, Caller(progress=progress_bar))
        work.begin()
        work.keep_work()
        assert work.folder is not None
        written = _write(found, out, work.folder.record(ranker=repr(model)))
        work.finish(ranker=repr(model))
    print_json(found.measured) if json else _show(found)
    say(f"\nwrote {written[0]}, {out}/why.png, {', '.join(map(str, written[1:]))} and the two runs")
    suggest(
        command("explain", "--ranker", ranker, "--query", "your query", "--doc", "a text, or a file of yours"),
        command("explain", "--ranker", ranker, "--hits", "your-hits.json", "-o", "runs/why"),
        command("eval", *(out / name for name in _folders(found)), "--qrels", "demo", "--per-query"),
    )


def _folders(found: FirstLook) -> list[str]:
    from whyrank.rankers.rerank import safe_name

    return [safe_name(name) for name in found.runs]


def _write(found: FirstLook, out: Path, manifest: dict[str, object]) -> list[Path]:
    """Both runs, the figure, and a page of each explanation; returns what people look at."""
    from whyrank.collections.trec import write_run

    for folder, run in zip(_folders(found), found.runs.values(), strict=True):
        write_run(out / folder / "run.trec", run)
    figure = found.first.draw(out / "why.svg")
    found.first.draw(out / "why.png")
    pages = [found.first.write_report(out / "why.html", manifest)]
    if found.missed is not None:
        pages.append(found.missed.write_report(out / "why-not.html", manifest))
    return [figure, *pages]


def _show(found: FirstLook) -> None:
    """The measures, then three questions and their answers, on stdout."""
    from dataclasses import replace

    from whyrank.cli.eval import show
    from whyrank.explain.sentences import in_full

    show(found.measured)
    first, screen = found.first, console()
    assert first.versus is not None
    below = first.versus.docid
    _panel(first, f"'{first.query}': {first.docid} is first, from BM25's rank {found.lifted_from}. Why?")
    for sentence in in_full(replace(first, versus=replace(first.versus, turn=None))):
        screen.print(sentence)
    if first.versus.turn is not None:
        screen.print()
        screen.print(f"What does one dial do? {_dial(first, first.versus.turn, str(below))}")
    if found.missed is not None:
        screen.print()
        _panel(found.missed, f"{found.missed.docid} is relevant, too. Why is it not first?")
        for sentence in found.missed.verdict():
            screen.print(sentence)


def _dial(first: Explanation, turn: DialTurn, below: str) -> str:
    """What the smallest turn does, in words."""
    from whyrank.explain.sentences import WIDEST

    way = "less" if turn.direction == "down" else "more"
    far = f", where words differ by {WIDEST:g}" if turn.scale > WIDEST else ""
    return (
        f"The ranker keeps a dial for how rare it takes each word to be. If '{turn.term}' counts {way} "
        f"(by {turn.scale:.3g} standard deviations{far}), {first.docid} scores {turn.above:.2f} and "
        f"{below} {turn.below:.2f}: they change places."
    )


def _panel(found: Explanation, title: str) -> None:
    """The document with its words coloured by their effect."""
    from rich.panel import Panel

    from whyrank.cli.explain import coloured

    console().print(Panel(coloured(found), title=title, title_align="left", width=WIDTH))
