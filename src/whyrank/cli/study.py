"""`whyrank study`: a paper end to end."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked, terminal
from whyrank.cli.console import command, progress_bar, say, suggest
from whyrank.cli.opened import open_for_queries
from whyrank.cli.study_disentangled import disentangled
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.core.caller import Caller
    from whyrank.core.progress import Progress
    from whyrank.papers.term_frequency.sizes import Sizes
    from whyrank.rankers.neural import NeuralRanker

app = typer.Typer(help="The papers end to end, their tables beside ours.", no_args_is_help=True)
app.command("disentangled")(disentangled)


@app.command("semantic-circuit")
def semantic_circuit(
    out: options.RunFolderPath,
    ranker: Annotated[str, typer.Option(help="A cross-encoder.")] = "ce-minilm-l12",
    collection: options.CollectionName = "trec-rag-2024",
    terms: Annotated[
        Path | None, typer.Option(help="Words to suppress, one per line; default: rare words of the collection.")
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
    from whyrank.papers.api import study

    study(
        "semantic-circuit", ranker=ranker, collection=collection, out=out, terms=terms, extras=tuple(extras or ()),
        quick=quick, seed=seed, verbs=commands(), caller=terminal(),
    )  # fmt: skip
    suggest(
        f"open {out / 'report.html'} in a browser",
        command("rank", "--ranker", f"semantic-bm:{out / 'semantic-bm'}", "--collection", collection, "-o", "RUN"),
    )


@app.command("term-frequency")
def term_frequency(
    out: options.RunFolderPath,
    ranker: Annotated[list[str], typer.Option(help="A neural ranker; again for more: they are compared.")],
    collection: options.CollectionName = "trec-rag-2024",
    term: options.TermPolicy = "effect",
    hide: Annotated[
        bool, typer.Option("--hide-insignificant", help="Colour only what is significant in maps.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, for a first look.")] = False,
    seed: options.Seed = 0,
) -> None:
    """How rankers count a term: heads, positions, saturation, flow, estimators, open questions, an atlas."""
    say(f"study term-frequency: {', '.join(ranker)} on {collection}{', quick' if quick else ''}")
    from whyrank.papers.term_frequency.sizes import Sizes

    run_term_frequency(ranker, collection, out, Sizes.quick() if quick else Sizes(), term, hide=hide, seed=seed)
    suggest(f"open {out / 'report.html'} in a browser")


def run_term_frequency(
    rankers: list[str],
    collection: str,
    out: Path,
    sizes: Sizes,
    term: str = "effect",
    *,
    hide: bool = False,
    seed: int = 0,
) -> None:
    """A page a ranker, each in its own run folder, and the atlas; rankers that are done are not studied again."""
    from whyrank.axioms.make import Choices
    from whyrank.core.json_file import read_json
    from whyrank.core.runs import RunFolder
    from whyrank.interventions.api import neural
    from whyrank.papers.term_frequency.atlas import atlas
    from whyrank.papers.term_frequency.atlas_report import write_atlas
    from whyrank.papers.term_frequency.report import RESULT
    from whyrank.rankers.rerank import safe_name

    Choices(term=term)  # refuses an unknown one before anything is read
    documents = open_for_queries(collection)
    opened = {name: neural(name, sizes.max_length) for name in rankers}
    folders = {name: out / safe_name(name) for name in opened}
    if len(set(folders.values())) < len(rankers):
        raise UserError("two rankers of one name", todo="give each ranker once")
    inputs: dict[str, Any] = {
        "collection": documents.fingerprint(), "split": documents.split, "sizes": vars(sizes), "term": term,
        "seed": seed,
    }  # fmt: skip
    folder = RunFolder.claim(out, "study term-frequency", inputs, asked=asked())
    folder.begin()
    for i, (name, model) in enumerate(opened.items(), start=1):
        say(f"\n[{i}/{len(opened)}] {name}: {model.source}; {model.encoder}")
        _study_one(name, model, documents, folders[name], sizes, term, hide, seed)
    told = {name: read_json(place / RESULT, dict[str, Any]) for name, place in folders.items()}
    manifest = folder.record(rankers=list(opened))
    pages = {name: Path(safe_name(name)) / "report.html" for name in opened}
    paths = write_atlas(atlas({one["ranker"]: one for one in told.values()}), pages, out, manifest)
    folder.save(manifest)
    say(f"wrote {', '.join(path.name for path in paths)} and a page for each ranker to {out}")


def _study_one(
    name: str,
    model: NeuralRanker,
    documents: Collection,
    out: Path,
    sizes: Sizes,
    term: str,
    hide: bool,
    seed: int,
) -> None:
    """One ranker's page; drawn again, if it is done, as it is asked for now."""
    from whyrank.core.runs import RunFolder
    from whyrank.core.stages import Stages
    from whyrank.interventions.api import neural
    from whyrank.papers.term_frequency.analysis import RankerStudy
    from whyrank.papers.term_frequency.counting import PAPERS_SLOTS
    from whyrank.papers.term_frequency.pages import label
    from whyrank.papers.term_frequency.report import RESULT, write_ranker

    mine = sizes.affordable(model.encoder)
    inputs: dict[str, Any] = {
        "ranker": model.fingerprint(), "collection": documents.fingerprint(), "sizes": vars(mine), "term": term,
        "seed": seed,
    }  # fmt: skip
    folder = RunFolder.claim(out, "study term-frequency, one ranker", inputs, asked=asked())
    known = folder.result(RESULT)
    if known is not None:
        say("done before")
        write_ranker(known, out, folder.manifest(), hide=hide)
        return
    folder.begin()

    def watch(name: str, count: int) -> AbstractContextManager[Progress]:
        return progress_bar(name, count, "pairs")

    more = PAPERS_SLOTS - (sizes.most_k + 1)  # a term of one piece then leaves the text as much room as without
    wide = neural(name, sizes.max_length + more)
    study = RankerStudy(model, documents, mine, Stages(folder.work("stages")), watch, wide, out, term, seed)
    manifest = folder.record(pairs=mine.pairs)
    write_ranker({**study.result(), "ranker": label(model)}, out, manifest, hide=hide)
    folder.save(manifest)


def commands() -> dict[str, Callable[..., object]]:
    """The commands that are not verbs yet, as verbs; each goes when its verb comes."""
    from whyrank.axioms.api import pairs
    from whyrank.circuits.api import circuit
    from whyrank.circuits.semantic_bm.api import semantic_bm
    from whyrank.cli.edit import edit
    from whyrank.cli.finetune import finetune
    from whyrank.cli.idf import idf
    from whyrank.cli.patch import patch
    from whyrank.cli.suppress import suppress

    some = (patch, idf, edit, suppress, finetune)
    verbs: dict[str, Callable[..., object]] = {"pairs": pairs, "circuit": circuit, "semantic_bm": semantic_bm}
    return {**verbs, **{one.__name__: _as_verb(one) for one in some}}


def _as_verb(run: Callable[..., None]) -> Callable[..., None]:
    @wraps(run)
    def verb(*, caller: Caller, **arguments: Any) -> None:
        run(**arguments)

    return verb
