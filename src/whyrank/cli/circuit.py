"""`whyrank circuit`: which heads make the score, and what each is for."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, console, progress_bar, say, suggest
from whyrank.cli.editing import given_up_when_refused

if TYPE_CHECKING:
    from whyrank.axioms.pair import MinimalPair
    from whyrank.collections.idf import TokenIdf
    from whyrank.core.progress import Progress
    from whyrank.interventions.aligned import AlignedPairs
    from whyrank.rankers.cross_encoder import CrossEncoder

DEFAULT_THRESHOLD = "relative=0.3,share=0.01"


def circuit(
    ranker: Annotated[str, typer.Option(help="A cross-encoder: a folder, hub id or short name.")],
    pairs: Annotated[
        list[Path],
        typer.Option(help="Pairs files: TFC1 and STMC1 to search with; TFC2 and LNC1 to test counting, length."),
    ],
    out: options.RunFolderPath,
    threshold: Annotated[
        str, typer.Option(help="Least |share of the gap|: relative (to the largest), quantile, share; all hold.")
    ] = DEFAULT_THRESHOLD,
    decide: Annotated[
        str, typer.Option(help="interval: must leave out 0; sure: above the cut-off in 97.5% of draws; point.")
    ] = "interval",
    to_logits: Annotated[int, typer.Option(min=2, help="Pairs in all, heads to the logits.")] = 500,
    to_heads: Annotated[int, typer.Option(min=2, help="Pairs in all, heads to other heads, and ablations.")] = 100,
    steps: Annotated[int, typer.Option(min=1, help="Steps down from the logits, at most.")] = 6,
    freeze_mlp: Annotated[bool, typer.Option("--freeze-mlp", help="Hold MLPs, too, in the search.")] = False,
    idf: Annotated[
        str | None, typer.Option(help="collection, wordfreq or a file; default: counted in the pairs' documents.")
    ] = None,
    collection: Annotated[str | None, typer.Option(help="The collection that IDF is counted in.")] = None,
    randoms: Annotated[int, typer.Option(min=0, help="Random circuits to compare with.")] = 10,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out pairs that this ranker cannot align.")] = False,
    pad: options.Pad = False,
    max_length: Annotated[
        int | None, typer.Option(min=8, help="Read at most so many tokens: shorter texts, faster.")
    ] = None,
    seed: options.Seed = 0,
) -> None:
    """Search a cross-encoder's circuit back from its logits, test what each head does, and draw it."""
    say(f"searching the circuit of {ranker} with {', '.join(path.name for path in pairs)}")
    from whyrank.circuits.api import CircuitRequest, Sizes, find_circuit
    from whyrank.circuits.circuit import FILE
    from whyrank.circuits.reading import cross_encoder
    from whyrank.circuits.report import write_circuit
    from whyrank.circuits.search import Search
    from whyrank.circuits.threshold import Threshold
    from whyrank.core.packages import sha256
    from whyrank.core.runs import RunFolder
    from whyrank.core.stages import Stages
    from whyrank.interventions.aligned import pair_table
    from whyrank.interventions.pair_texts import texts_json, turned_sentence, write_pair_table
    from whyrank.rankers.load import load

    search = Search(
        threshold=Threshold.parse(threshold, decide), pairs_to_logits=to_logits, pairs_to_heads=to_heads,
        most_steps=steps, freeze_mlp=freeze_mlp, seed=seed,
    )  # fmt: skip
    sizes = Sizes(readings=2 * to_heads, senders=to_heads, ablations=to_heads, randoms=randoms)
    request = CircuitRequest(search, sizes, seed=seed)
    settings: dict[str, Any] = {"max_length": max_length} if max_length else {}
    opened = cross_encoder(load(ranker, **settings))
    say(f"{opened.name}: {opened.source}; {opened.encoder}")
    sets, ready = sets_of(opened, pairs, skip, pad)
    texts = ready.counts().sentences(opened.name)
    for told in texts:
        say(f"{told}; both texts and their scores are in pairs.parquet")
    rarity = rarity_of(opened, sets, idf, collection)
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()],
        "pairs": [sha256(path) for path in pairs], "request": repr(request),
        "idf": [rarity.source, rarity.fingerprint()], "skip": skip, "pad": pad,
    }  # fmt: skip
    folder = RunFolder.claim(out, "circuit", inputs, asked=asked())

    def watch(name: str, count: int) -> AbstractContextManager[Progress]:
        folder.begin()
        return progress_bar(name, count, "pairs")

    kept = folder.work("stages")
    with given_up_when_refused(folder):
        found = find_circuit(opened, sets, rarity, request, stages=Stages(kept), watch=watch)
    table = pair_table(opened, ready, "document")
    shown = texts_json(ready.counts(), table)
    manifest = folder.record(pairs={name: len(some) for name, some in sets.items()}, texts=shown)
    paths = [write_pair_table(table, out), *write_circuit(found, out, manifest, texts)]
    folder.save(manifest)
    show(found)
    for told in turned_sentence(shown):
        say(f"{told} (pairs.parquet)")
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    suggest(
        f"open {out / 'report.html'} in a browser",
        command(
            "semantic-bm", "--ranker", ranker, "--collection", collection or "C", "--circuit", out, "-o", "RUN"
        ),
    )
    assert (out / FILE).exists()


def sets_of(
    ranker: CrossEncoder, paths: list[Path], skip: bool, pad: bool
) -> tuple[dict[str, list[MinimalPair]], AlignedPairs]:
    """The pairs of each file, by axiom (or the file's name), and all of them beside their texts as given; those to
    be patched must align, those about length must fit."""
    from whyrank.axioms.pair import read_pairs
    from whyrank.circuits.api import LENGTH
    from whyrank.core.errors import UserError
    from whyrank.interventions.aligned import AlignedPairs, aligned_pairs, fitting_pairs

    found: dict[str, list[MinimalPair]] = {}
    every = AlignedPairs(())
    for path in paths:
        if not path.is_file():
            raise UserError("no such file", where=path, todo="make one: whyrank pairs --axiom TFC1 ...")
        some = read_pairs(path)
        if any(pair.axiom != LENGTH for pair in some):
            ready = aligned_pairs(ranker, path, "document", skip=skip, pad=pad)
        else:
            ready = fitting_pairs(ranker, some)
        for reason, count in ready.dropped.items():
            say(f"left out of {path.name}: {count} pairs ({reason})")
        for pair in ready.scored:
            found.setdefault(pair.axiom or path.stem, []).append(pair)
        every = every.together(ready)
    return found, every


def rarity_of(
    ranker: CrossEncoder, sets: dict[str, list[MinimalPair]], idf: str | None, collection: str | None
) -> TokenIdf:
    """IDF as asked for, or counted in the pairs' documents, each once and without what was put into it."""
    from whyrank.collections.catalogue import open_collection
    from whyrank.collections.idf import TokenIdf, token_idf

    tokenizer = ranker.pieces.tokenizer
    if idf or collection:
        return token_idf(tokenizer, idf or "collection", open_collection(collection) if collection else None)
    kept = {pair.docid or pair.id: " ".join(pair.slotted.segments) for some in sets.values() for pair in some}
    texts = [kept[name] for name in sorted(kept)]
    return TokenIdf.counted(tokenizer, texts, f"the {len(texts)} documents of the pairs")


def show(found: dict[str, Any]) -> None:
    """The roles, on stdout."""
    from rich.table import Table

    from whyrank.circuits.report import with_interval
    from whyrank.encoders.site import short_name
    from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

    table = Table(title=f"the circuit of {found['ranker']}: {len(found['heads'])} heads", title_justify="left")
    for name in ("role", "heads", "mean r [95% interval]", "all other heads"):
        table.add_column(name)
    for role, heads in found["roles"].items():
        told = found["tests"]["roles"].get(role)
        row = [role, " ".join(map(short_name, heads)) or "–"]
        if told and told["role"]:
            row += [with_interval(told["role"]) or "–", with_interval(told["others"]) or "–"]
        table.add_row(*row)
    console().print(table)
    for name, one in found["faithfulness"].items():
        for kind, told in one["kinds"].items():
            alone, without = (with_interval(told[f"{way} circuit"], "kept") for way in ("only", "without"))
            if alone is None or without is None:
                say(f"{name}, {kind} ablation: its pairs have no gap to keep a part of")
            else:
                say(f"{name}, {kind} ablation: the circuit alone keeps {alone} of the gap, the rest {without}")
    if (
        found["decide"] == "point"
        and (queries := min(step["queries"] for step in found["steps"])) < FEWEST_QUERIES
    ):
        say(f"{TOO_FEW} ({queries}) for intervals: heads above the cut-off are kept, none is tested")
