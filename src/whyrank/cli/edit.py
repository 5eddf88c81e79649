"""`whyrank edit`: can I change it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, say, suggest
from whyrank.cli.edit_tables import show_experiment, show_turns, warn
from whyrank.cli.editing import (
    Depth,
    FirstStage,
    Rule,
    RunFolderIfAny,
    Save,
    given_up_when_refused,
    open_dial,
    parse_scales,
    run_preview,
    shards_of,
    step_of,
    texts_of,
)
from whyrank.cli.idf import CollectionIfAny, IdfSource, fingerprint_of_idf
from whyrank.core.errors import UserError


def edit(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    up: Annotated[list[str] | None, typer.Option(help="TERM=SCALE: take it for rarer; again for more.")] = None,
    down: Annotated[list[str] | None, typer.Option(help="TERM=SCALE: take it for more common.")] = None,
    save: Save = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what moves, and what it costs.")] = False,
    experiment: Annotated[
        bool, typer.Option("--experiment", help="Two-token documents over scales, with controls.")
    ] = False,
    collection: CollectionIfAny = None,
    out: RunFolderIfAny = None,
    idf: IdfSource = "collection",
    run: FirstStage = None,
    k: Depth = 20,
    n: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n queries.")] = None,
    head: Annotated[str | None, typer.Option(help="experiment: read this head's attention, such as 10.1.")] = None,
    scales: Annotated[str | None, typer.Option(help="experiment: scales, such as 1,5,20,100.")] = None,
    rule: Rule = "from-one",
    seed: options.Seed = 0,
) -> None:
    """Turn a ranker's own IDF dial for some terms: preview what moves, save an ordinary checkpoint."""
    say(f"editing {ranker}{f' on {collection}' if collection else ''}")
    _check_call(up, down, save, preview, experiment, collection, out)
    if experiment:
        assert collection and out
        _experiment(ranker, collection, out, idf, n, head, scales, rule, seed)
        return
    from whyrank.edits.preview import describe_edits
    from whyrank.edits.rows import applied
    from whyrank.edits.saving import check_target, save_checkpoint
    from whyrank.edits.term_edit import Edits

    edits = Edits.of(up or (), down or (), rule)
    if save:
        check_target(save)
    opened, model, dial = open_dial(ranker, collection, idf)
    change = dial.change(edits)
    told = describe_edits(dial, edits, texts_of(opened))
    warn(told)
    if preview:
        assert opened is not None
        settings = {"edits": edits.to_json(), "idf": fingerprint_of_idf(idf)}
        run_preview(dial, change, opened, out, run, k, n, seed, {**told, "alignment": None}, settings, edits)
    else:
        show_turns(told)
        say("not tried whether documents that hold these words move as meant: --preview --collection C tells")
    if save:
        done = {"ranker": model.name, "fingerprint": model.fingerprint(), "dial": dial.to_json()}
        with applied(model, change):
            save_checkpoint(model, save, {**done, "edits": told["edits"], "turns": told["turns"]}, "edited from")
        say(f"wrote {save}: an ordinary checkpoint; what was done is in edits.json")
        suggest(command("rank", "--ranker", save, "--collection", collection or "demo", "-o", "runs/edited"))
    else:
        words = [word for one in edits for word in (f"--{one.direction}", f"{one.term}={one.scale:.15g}")]
        words += ["--rule", rule] if rule != "from-one" else []
        words += ["--idf", idf] if idf != "collection" else []
        words += ["--collection", collection] if collection else []
        suggest(command("edit", "--ranker", ranker, *words, "--save", "FOLDER"))


def _check_call(
    up: list[str] | None, down: list[str] | None, save: Path | None, preview: bool, experiment: bool,
    collection: str | None, out: Path | None,
) -> None:  # fmt: skip
    """What goes together, before anything is loaded."""
    if experiment and (up or down or save or preview):
        raise UserError(
            "--experiment edits words of the queries by itself", todo="leave out --up, --down, --preview, --save"
        )
    if experiment and not (collection and out):
        raise UserError("--experiment needs --collection and -o", todo="give both")
    if not experiment and not (up or down):
        raise UserError("no edit", todo="give --up TERM=SCALE or --down TERM=SCALE")
    if not experiment and not (save or preview):
        raise UserError("nothing to do with the edit", todo="give --preview --collection C, or --save FOLDER")
    if preview and not collection:
        raise UserError("--preview needs a collection to rank", todo="give --collection")
    if out and not (preview or experiment):
        raise UserError("-o is for --preview and --experiment", todo="leave it out; --save names a folder")


def _experiment(
    ranker: str, collection: str, out: Path, idf: str, n: int | None, head: str | None, scales: str | None,
    rule: str, seed: int,
) -> None:  # fmt: skip
    from whyrank.core.runs import RunFolder
    from whyrank.edits.term_edit import check_rule
    from whyrank.edits.two_tokens import SCALES, two_tokens
    from whyrank.edits.two_tokens_report import write_experiment

    check_rule(rule)
    chosen = parse_scales(scales) if scales else SCALES
    opened, model, dial = open_dial(ranker, collection, idf)
    assert opened is not None
    queries = dict(list(opened.queries.items())[:n])
    inputs = {
        "ranker": model.fingerprint(), "collection": opened.fingerprint(),
        "split": opened.split, "queries": list(queries), "head": head,
        "scales": list(chosen), "rule": rule, "idf": fingerprint_of_idf(idf), "seed": seed, "what": "experiment",
    }  # fmt: skip
    folder = RunFolder.claim(out, "edit", inputs, asked=asked())
    shards = shards_of(folder)
    with given_up_when_refused(folder):
        found = two_tokens(
            dial, queries, scales=chosen, head=head, rule=rule, seed=seed, shards=shards, step=step_of(folder)
        )
    result = {
        "what": "experiment", "ranker": model.name, "source": str(model.source), "collection": opened.name,
        "dial": dial.to_json(), **found,
    }  # fmt: skip
    manifest = folder.record(items=found["items"])
    paths = write_experiment(result, out, manifest)
    folder.save(manifest)
    show_experiment(result)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    suggest(f"open {out / 'report.html'} in a browser")
