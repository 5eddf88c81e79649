"""`whyrank suppress`: can these words be kept from helping a document?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.console import command, say, suggest
from whyrank.cli.edit_tables import show_holders, show_suppression, warn
from whyrank.cli.editing import (
    Depth,
    FirstStage,
    Rule,
    Save,
    claimed,
    given_up_when_refused,
    open_dial,
    parse_scales,
    step_of,
    texts_of,
)
from whyrank.cli.idf import IdfSource, fingerprint_of_idf

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.collections.records import Run
    from whyrank.core.runs import RunFolder
    from whyrank.edits.block_list import BlockList
    from whyrank.edits.dial import Dial


def suppress(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    terms: Annotated[Path, typer.Option(help="The words to suppress: a text file, one a line, # for comments.")],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    save: Save = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Documents that each word is put into.")] = 10,
    threshold: Annotated[float, typer.Option(min=0, help="Keep pairs whose score rises by more than this.")] = 0.0,
    scales: Annotated[str, typer.Option(help="The scales to try.")] = "1,2,5,10,20,50,100,200,500,1200",
    idf: IdfSource = "collection",
    run: FirstStage = None,
    k: Depth = 20,
    rule: Rule = "from-one",
    seed: options.Seed = 0,
) -> None:
    """Turn listed words down until a document does not gain by them; propose a scale, and save it if asked."""
    say(f"suppressing the words of {terms} in {ranker}, tried on {collection}")
    from whyrank.core.errors import UserError
    from whyrank.core.packages import sha256
    from whyrank.edits.block_list import BlockList
    from whyrank.edits.saving import check_target
    from whyrank.edits.suppress_report import RESULT, knee_in_words
    from whyrank.edits.term_edit import check_rule

    chosen = parse_scales(scales)
    check_rule(rule)
    if save:
        check_target(save)
        if len(chosen) < 3:
            raise UserError("a knee needs three scales or more", todo="give more --scales, or leave --save out")
    BlockList.entries(terms)
    opened, _, dial = open_dial(ranker, collection, idf)
    assert opened is not None
    listed = BlockList.read(terms, dial.ranker.pieces.tokenizer)
    for reason, entries in listed.skipped.items():
        say(f"left out, {reason}: {', '.join(entries[:5])}{f' and {len(entries) - 5} more' * (len(entries) > 5)}")
    how = {"n": n, "threshold": threshold, "scales": list(chosen), "rule": rule, "seed": seed}
    settings = {"terms": sha256(terms), "idf": fingerprint_of_idf(idf), **how}
    stage, folder = claimed(dial, opened, out, "suppress", run, k, None, seed, settings)
    assert folder is not None
    result = folder.result(RESULT)
    if result is not None:
        say(f"{out} holds the result already")
    else:
        result = _suppress(dial, listed, opened, stage, folder, k, how)
    show_holders([result["holders"]])
    show_suppression(result)
    warn(result)
    say(knee_in_words(result))
    if save:
        _save(dial, listed, result, save)
        suggest(command("rank", "--ranker", save, "--collection", collection, "-o", "runs/suppressed"))
    else:
        suggest(f"open {out / 'report.html'} in a browser", "the same command again with --save FOLDER")


def _suppress(
    dial: Dial,
    listed: BlockList,
    collection: Collection,
    stage: Run,
    folder: RunFolder,
    k: int,
    how: dict[str, Any],
) -> dict[str, Any]:
    """Does the work, and writes the run folder."""
    from whyrank.edits.preview import describe_edits
    from whyrank.edits.suppress import suppress as measure
    from whyrank.edits.suppress_report import write_suppress
    from whyrank.edits.unedited import Unedited

    shards, step, model = folder.work("shards"), step_of(folder), dial.ranker
    with given_up_when_refused(folder):
        unedited = Unedited.ranked(model, collection, stage, k=k, shards=shards, step=step)
        found = measure(dial, listed, unedited, **how, shards=shards, step=step)
    about = describe_edits(dial, listed.edits(how["scales"][-1], how["rule"]), texts_of(collection))
    result: dict[str, Any] = {
        "ranker": model.name, "source": str(model.source), "collection": collection.name, "k": k,
        "dial": dial.to_json(), **found, "shared": about["shared"], "spellings": about["spellings"],
    }  # fmt: skip
    manifest = folder.record(pairs=found["kept"])
    paths = write_suppress(result, folder.path, manifest)
    folder.save(manifest)
    say(f"wrote {', '.join(path.name for path in paths)} to {folder.path}")
    return result


def _save(dial: Dial, listed: BlockList, result: dict[str, Any], save: Path) -> None:
    """The ranker with all listed words turned down at the knee."""
    from whyrank.core.errors import UserError
    from whyrank.edits.rows import applied
    from whyrank.edits.saving import save_checkpoint

    if not result["knee"]:
        raise UserError(
            "there is no knee to save at", todo="see the curve, and choose: whyrank edit --down WORD=SCALE"
        )
    edits = listed.edits(result["knee"]["scale"], result["rule"])
    turns = dial.turns(edits)
    model = dial.ranker
    done = {
        "ranker": model.name, "fingerprint": model.fingerprint(), "dial": dial.to_json(), "edits": edits.to_json(),
        "turns": [turn.to_json() for turn in turns],
    }  # fmt: skip
    with applied(model, dial.change(turns)):
        save_checkpoint(model, save, done, "words suppressed in")
    say(f"wrote {save}: an ordinary checkpoint, {len(edits)} words down at scale {result['knee']['scale']:g}")
