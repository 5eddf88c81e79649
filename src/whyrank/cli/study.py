"""`whyrank study`: a paper end to end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.console import command, say, suggest
from whyrank.errors import UserError

if TYPE_CHECKING:
    from whyrank.studies.semantic_circuit import StudySizes
    from whyrank.studies.stage import Stage

app = typer.Typer(help="The papers end to end, their tables beside ours.", no_args_is_help=True)


@app.command("semantic-circuit")
def semantic_circuit(
    out: options.RunFolderPath,
    ranker: Annotated[str, typer.Option(help="A cross-encoder.")] = "ce-minilm-l12",
    collection: options.CollectionName = "trec-rag-2024",
    terms: Annotated[
        Path | None, typer.Option(help="Words to suppress, one a line; default: rare words of the collection.")
    ] = None,
    extras: Annotated[
        list[str] | None, typer.Option("--with", help="Also 'finetune' (hours on two cores).")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: about eight minutes, not to believe in.")
    ] = False,
    seed: options.Seed = 0,
) -> None:
    """'Pathway to Relevance': the circuit, its roles, IDF edits, suppression, SemanticBM; about an hour."""
    say(f"study semantic-circuit: {ranker} on {collection}{', quick' if quick else ''}")
    from whyrank.studies.semantic_circuit import StudySizes

    sizes = StudySizes.quick() if quick else StudySizes()
    run_semantic_circuit(ranker, collection, out, sizes, terms, tuple(extras or ()), quick=quick, seed=seed)
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", f"semantic-bm:{out / 'semantic-bm'}", "--collection", collection, "-o", "RUN"),
    )


def run_semantic_circuit(
    ranker: str,
    collection: str,
    out: Path,
    sizes: StudySizes,
    terms: Path | None = None,
    extras: tuple[str, ...] = (),
    *,
    quick: bool = False,
    seed: int = 0,
) -> None:
    """All stages in order, then the report; stages that were done before are not done again."""
    from whyrank.circuits.reading import cross_encoder
    from whyrank.collections.catalogue import open_collection
    from whyrank.rankers.load import load
    from whyrank.reports.manifest import RunFolder
    from whyrank.reports.semantic_circuit_study import write_study
    from whyrank.store.packages import sha256
    from whyrank.studies.semantic_circuit import stages
    from whyrank.studies.stand_ins import stand_in_words

    words = terms or out / "stand-ins.txt"
    plan = stages(ranker, collection, out, sizes, terms=words, extras=extras, seed=seed)
    if terms is not None and not terms.is_file():
        raise UserError("no such file", where=terms, todo="one word a line")
    documents = open_collection(collection)
    opened = cross_encoder(load(ranker, collection=documents))
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()], "collection": documents.fingerprint(), "sizes": vars(sizes),
        "terms": sha256(terms) if terms else None, "seed": seed,
    }  # fmt: skip
    folder = RunFolder.claim(out, "study semantic-circuit", inputs)
    folder.begin()
    if terms is None:
        stand_in_words(words, documents, opened.pieces.tokenizer, seed)
    done = [run_stage(stage, i, len(plan)) for i, stage in enumerate(plan, start=1)]
    manifest = folder.record(stages=[{"name": stage.name, "command": command(*stage.words())} for stage in done])
    parts = [(one.name, one.title, one.result.parent, command(*one.words())) for one in done]
    about = {"ranker": opened.name, "collection": collection, "quick": quick}
    paths = write_study(out, parts, about=about, manifest=manifest)
    folder.save(manifest)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")


def run_stage(stage: Stage, number: int, of: int) -> Stage:
    """Does a stage that is not done yet; what it had done of it before a kill is taken up by the command
    itself."""
    known = stage.resolved()
    if known.result.exists():
        say(f"\n[{number}/{of}] {known.title}: done before")
        return known
    say(f"\n[{number}/{of}] {known.title}\n{command(*known.words())}")
    commands()[known.command](**known.arguments)
    return known


def commands() -> dict[str, Callable[..., None]]:
    """The commands that studies are made of."""
    from whyrank.cli.circuit import circuit
    from whyrank.cli.edit import edit
    from whyrank.cli.finetune import finetune
    from whyrank.cli.idf import idf
    from whyrank.cli.pairs import pairs
    from whyrank.cli.patch import patch
    from whyrank.cli.semantic_bm import semantic_bm
    from whyrank.cli.suppress import suppress

    return {
        "pairs": pairs, "circuit": circuit, "patch": patch, "idf": idf, "edit": edit, "suppress": suppress,
        "semantic-bm": semantic_bm, "finetune": finetune,
    }  # fmt: skip
