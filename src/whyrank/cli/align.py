"""`whyrank align`: a ranker that takes words for as rare as they are in my collection."""

from __future__ import annotations

from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.console import command, console, say, suggest
from whyrank.cli.editing import Depth, FirstStage, RunFolderIfAny, Save, open_dial, run_preview
from whyrank.cli.idf import IdfSource, fingerprint_of_idf
from whyrank.core.errors import UserError


def align(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    collection: options.CollectionName,
    save: Save = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show what moves, and what it costs.")] = False,
    out: RunFolderIfAny = None,
    idf: IdfSource = "collection",
    formula: Annotated[str, typer.Option(help="bm25 or plain.")] = "bm25",
    run: FirstStage = None,
    k: Depth = 20,
    n: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n queries.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Set a ranker's IDF dial to a collection's own IDF, for all its tokens at once."""
    say(f"aligning {ranker} with {collection}")
    if not (save or preview):
        raise UserError("nothing to do with the aligned ranker", todo="give --save FOLDER, or --preview")
    if out and not preview:
        raise UserError("-o is for --preview", todo="leave it out; --save names a folder")
    from whyrank.collections.idf import FORMULAS
    from whyrank.edits.align import alignment, describe_alignment
    from whyrank.edits.rows import applied
    from whyrank.edits.saving import check_target, save_checkpoint

    if formula not in FORMULAS:
        raise UserError(f"unknown IDF formula '{formula}'", todo=f"choose {' or '.join(FORMULAS)}")
    if save:
        check_target(save)
    opened, model, dial = open_dial(ranker, collection, idf, fall_back=False)
    assert opened is not None
    change = alignment(dial, formula)
    told = describe_alignment(dial, change, formula)
    console().print(
        f"r of U0 with IDF over {told['words']} words: {told['r_before']:.4f} before, {told['r_after']:.4f} after "
        f"({told['r_by_new_svd']:.4f} by a new SVD); {told['tokens']} tokens moved"
    )
    if preview:
        about = {"edits": [], "turns": [], "shared": [], "spellings": {}, "alignment": told}
        settings = {"align": formula, "idf": fingerprint_of_idf(idf)}
        run_preview(dial, change, opened, out, run, k, n, seed, about, settings)
    if save:
        done = {
            "ranker": model.name, "fingerprint": model.fingerprint(), "dial": dial.to_json(), "alignment": told
        }  # fmt: skip
        with applied(model, change):
            save_checkpoint(model, save, done, f"aligned with the IDF of {dial.idf.source}, from")
        say(f"wrote {save}: an ordinary checkpoint; what was done is in edits.json")
        suggest(command("rank", "--ranker", save, "--collection", collection, "-o", "runs/aligned"))
    else:
        how = ["--idf", idf] if idf != "collection" else []
        how += ["--formula", formula] if formula != FORMULAS[0] else []
        suggest(command("align", "--ranker", ranker, "--collection", collection, *how, "--save", "FOLDER"))
