"""What the commands that edit share: their options, the dial, the ranking before and after."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli.caller import asked
from whyrank.cli.console import progress_bar, say
from whyrank.cli.edit_tables import show_cost, show_holders, show_moves, show_turns
from whyrank.cli.opened import open_for_queries
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.collections.records import Run
    from whyrank.core.progress import OpenProgress, Progress
    from whyrank.core.runs import RunFolder
    from whyrank.edits.cost import Cost
    from whyrank.edits.dial import Dial
    from whyrank.edits.rows import RowChange
    from whyrank.edits.term_edit import Edits
    from whyrank.rankers.neural import NeuralRanker

Save = Annotated[
    Path | None, typer.Option("--save", help="Save the edited ranker as a checkpoint in this folder.")
]
RunFolderIfAny = Annotated[Path | None, typer.Option("-o", "--out", help="The run folder to write.")]
FirstStage = Annotated[Path | None, typer.Option("--run", help="Your first stage, a TREC run; default: BM25.")]
Depth = Annotated[int, typer.Option("-k", min=1, help="How many of the first stage's documents to rank.")]
Rule = Annotated[
    str, typer.Option("--rule", help="from-one: a scale of 1 changes nothing; authors: -s|U0|, +s|U0|.")
]


def open_dial(
    ranker: str, collection: str | None, idf: str, *, fall_back: bool = True
) -> tuple[Collection | None, NeuralRanker, Dial]:
    """The collection, the ranker and its dial, by what the options say; tells how sure the dial's sign is.

    `fall_back`: by the IDF of the built-in collection where the words of this one do not tell the sign.
    """
    from whyrank.edits.dial import Dial
    from whyrank.edits.saving import EDITS_FILE
    from whyrank.evaluation.estimate import estimate_text
    from whyrank.interventions.api import neural

    opened = open_for_queries(collection) if collection else None
    model = neural(ranker)
    say(f"{model.name}: {model.source}")
    if (model.checkpoint.folder / EDITS_FILE).exists():
        say("this checkpoint was edited before; U0 is of its embeddings as they are now")
    dial = Dial.of(model, idf, opened, fall_back=fall_back)
    if dial.fallback:
        say(f"{dial.fallback}: the IDF of the built-in collection {dial.idf.source} is used")
    r = estimate_text(dial.correlation.r, dial.correlation.interval)
    say(f"U0 against the IDF of {dial.idf.source}: r = {r}, {dial.correlation.n} words")
    return opened, model, dial


def texts_of(collection: Collection | None) -> Iterator[str]:
    """The documents' texts, of the built-in collection where none is given."""
    from whyrank.collections.demo import open_demo

    return (text for _, text in (collection or open_demo()).documents())


def run_preview(
    dial: Dial, change: RowChange, collection: Collection, out: Path | None, run: Path | None, k: int,
    n: int | None, seed: int, told: dict[str, Any], settings: dict[str, Any], edits: Edits | None = None,
) -> None:  # fmt: skip
    """Ranks the collection without and with the change; shows it, and writes the run folder if there is one."""
    from whyrank.edits.preview import preview
    from whyrank.edits.unedited import Unedited

    stage, folder = claimed(dial, collection, out, "edit", run, k, n, seed, settings)
    shards, step = shards_of(folder), step_of(folder)
    with given_up_when_refused(folder):
        unedited = Unedited.ranked(dial.ranker, collection, stage, k=k, shards=shards, step=step)
        found, cost = preview(unedited, change, edits, seed=seed, shards=shards, step=step)
    result = {
        "what": "preview", "ranker": dial.ranker.name, "source": str(dial.ranker.source),
        "collection": collection.name, "k": k, "dial": dial.to_json(), **told, **found,
    }  # fmt: skip
    show_holders(result["holders"])
    if result["turns"]:
        show_turns(result)
    show_moves(result)
    show_cost(result["cost"])
    if folder is not None:
        _write_preview(result, cost, folder)


def claimed(
    dial: Dial, collection: Collection, out: Path | None, name: str, run: Path | None, k: int, n: int | None,
    seed: int, settings: dict[str, Any],
) -> tuple[Run, RunFolder | None]:  # fmt: skip
    """The first stage, and the run folder claimed for this work if one is asked for."""
    from whyrank.collections.given import first_stage_of
    from whyrank.collections.records import fingerprint_of
    from whyrank.core.runs import RunFolder

    stage, _ = first_stage_of(collection, run, k)
    stage = dict(list(stage.items())[:n])
    if collection.qrels:
        say(f"measured by {collection.judgements}")
    inputs = {
        "judgements": collection.judgements, "split": collection.split,
        "ranker": dial.ranker.fingerprint(), "collection": collection.fingerprint(),
        "first_stage": fingerprint_of(stage), "k": k, "seed": seed, **settings,
    }  # fmt: skip
    return stage, RunFolder.claim(out, name, inputs, asked=asked()) if out else None


def step_of(folder: RunFolder | None) -> OpenProgress:
    """A progress bar a step; the first one makes the folder this work's."""

    def step(name: str, count: int) -> AbstractContextManager[Progress]:
        from whyrank.core.progress import no_progress

        if folder is not None:
            folder.begin()
        return progress_bar(name, count, "pairs") if count else no_progress(name, count)

    return step


@contextmanager
def given_up_when_refused(folder: RunFolder | None) -> Iterator[None]:
    """Leaves nothing of a run folder whose work turns out to be refused, so that it can be used again."""
    from whyrank.core.atomic import DiskError

    try:
        yield
    except DiskError:
        raise
    except UserError:
        if folder is not None:
            folder.give_up()
        raise


def shards_of(folder: RunFolder | None) -> Path | None:
    """Where finished parts are kept until all is done."""
    return None if folder is None else folder.work("shards")


def _write_preview(result: dict[str, Any], cost: Cost, folder: RunFolder) -> None:
    from whyrank.collections.trec import write_run
    from whyrank.edits.report import write_preview

    out, manifest = folder.path, folder.record(pairs=result["pairs"], rescored=result["rescored"])
    for name, ranking in (("before", cost.before), ("after", cost.after)):
        write_run(out / f"{name}.trec", ranking)
    paths = [out / "before.trec", out / "after.trec", *write_preview(result, out, manifest)]
    folder.save(manifest)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")


def parse_scales(text: str) -> tuple[float, ...]:
    """`1,5,20` as growing scales from 1 on."""
    try:
        found = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        found = ()
    if not found or not all(1 <= scale < float("inf") for scale in found):
        raise UserError(f"'{text}' are no scales", todo="write numbers from 1 on, such as 1,5,20,100")
    return found
