"""`whyrank edit`: can I change it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import editing, options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import print_json, say, suggest
from whyrank.cli.gate import FAILED
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.edits.results import EditPreview


@app.command("edit")
def edit(
    ranker: editing.OneRanker,
    up: Annotated[list[str] | None, typer.Option(help="TERM=2sd: take it for rarer; also 1.5idf, x5.")] = None,
    down: Annotated[list[str] | None, typer.Option(help="TERM=2sd: take it for more common.")] = None,
    save: editing.Save = None,
    preview: editing.Preview = False,
    propose: Annotated[
        bool,
        typer.Option("--propose", help="Propose a scale: chosen on half of the queries, tried on the others."),
    ] = False,
    new_token: Annotated[
        str | None, typer.Option(help="A token of its own for words of several pieces; its row: mean or fitted.")
    ] = None,
    max_loss: Annotated[
        float | None, typer.Option(min=0, help="Exit with 3 and save nothing where nDCG@10 falls by more: 0.005.")
    ] = None,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Two-token documents over scales, with controls.")
    ] = False,
    collection: editing.CollectionIfAny = None,
    out: editing.RunFolderIfAny = None,
    idf: editing.IdfSource = "collection",
    run: options.FromRun = None,
    depth: options.Depth = 20,
    queries: options.Queries = None,
    head: Annotated[str | None, typer.Option(help="experiment: read this head's attention, such as 10.1.")] = None,
    scales: Annotated[str | None, typer.Option(help="experiment: scales of the rule, such as 0.5,1,2,4.")] = None,
    randoms: Annotated[int, typer.Option(min=2, help="experiment: random directions as controls.")] = 20,
    rule: editing.Rule = "sd",
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Turn a ranker's own IDF dial for some terms: preview what moves, save an ordinary checkpoint."""
    say(f"editing {ranker}{f' on {collection}' if collection else ''}")
    if experiment:
        _check_experiment(bool(up or down or save or preview), collection, out)
        _experiment(
            ranker, collection or "", out or Path(), idf, queries, head, scales, rule, randoms, seed, device, json
        )
        return
    if not (up or down):
        raise UserError("no edit", todo="give --up TERM=2sd or --down TERM=2sd")
    if not (save or preview):
        raise UserError(
            "neither --preview nor --save is given", todo="give --preview --collection C, or --save FOLDER"
        )
    from whyrank.edits.api import edit as run_edit
    from whyrank.edits.results import ENCODE_AGAIN
    from whyrank.evaluation.gate import GateFailed

    failed: GateFailed | None = None
    try:
        result = run_edit(
            ranker, up=up or (), down=down or (), rule=rule, collection=collection, preview=preview,
            propose=propose, new_token=new_token, max_loss=max_loss, save=save, idf=idf, run=run, depth=depth,
            queries=queries, seed=seed, device=device, out=out, caller=terminal(),
        )  # fmt: skip
    except GateFailed as error:
        failed, result = error, error.result
    print_json(result) if json else _show(result)
    editing.warn_of_range(result.turns, result.dial.units)
    editing.warn(result.shared, result.spellings)
    if result.encode_again is not None:
        where = f", listed in {out / ENCODE_AGAIN}" if out else "; -o FOLDER lists them"
        say(f"a bi-encoder's index: {len(result.encode_again)} documents have to be encoded again{where}")
    if failed is not None:
        say(str(failed))
        raise typer.Exit(FAILED)
    if not result.ranking:
        say("not tried whether documents that hold these words move as meant: --preview --collection C shows it")
    words = [word for one in result.edits for word in (f"--{one.direction}", f"{one.term}={one.written}")]
    words += [*(["--rule", rule] if rule == "authors" else []), *(["--new-token", new_token] if new_token else [])]
    words += [*(["--idf", idf] if idf != "collection" else [])]
    words += ["--collection", collection] if collection else []
    editing.suggest_after(save, out, collection, ["edit", "--ranker", ranker, *words])


def _show(result: EditPreview) -> None:
    editing.show_holders(result.holders)
    editing.show_sharers(result.sharers)
    for one in (result.new_tokens, result.proposal):
        if one is not None:
            print(one, flush=True)
    editing.show_turns(result.turns, result.dial.units)
    if result.ranking:
        editing.show_ranking(result.ranking)


def _check_experiment(edits: bool, collection: str | None, out: Path | None) -> None:
    """What goes together, before anything is loaded."""
    if edits:
        todo = "drop --up, --down, --preview, --save"
        raise UserError("--experiment edits words of the queries by itself", todo=todo)
    if not (collection and out):
        raise UserError("--experiment needs --collection and -o", todo="give both")


def _experiment(
    ranker: str, collection: str, out: Path, idf: str, queries: int | None, head: str | None, scales: str | None,
    rule: str, randoms: int, seed: int, device: str, json: bool,
) -> None:  # fmt: skip
    from whyrank.edits.api import two_tokens
    from whyrank.edits.two_tokens import SCALES

    result = two_tokens(
        ranker, collection, scales=scales or SCALES, head=head, rule=rule, randoms=randoms, idf=idf,
        queries=queries, seed=seed, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    print_json(result) if json else editing.show_experiment(result)
    suggest(f"open {out / 'report.html'} in a browser")
