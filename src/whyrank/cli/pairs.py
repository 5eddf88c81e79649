"""`whyrank pairs`: minimal pairs out of a collection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.console import progress_bar, say, suggest
from whyrank.cli.opened import open_for_queries
from whyrank.errors import UserError

if TYPE_CHECKING:
    from whyrank.axioms.api import PairOptions
    from whyrank.axioms.make import Choices
    from whyrank.store.lock import Lock


def pairs(
    axiom: Annotated[str, typer.Option(help="TFC1, TFC1:prepend, TFC2:*, several with commas, or all.")],
    collection: options.CollectionName,
    out: Annotated[Path, typer.Option("-o", "--out", help="The pairs file to write (JSON lines).")],
    ranker: Annotated[list[str] | None, typer.Option(help="Align for this ranker; again for more.")] = None,
    n: options.Documents = 100,
    seed: options.Seed = 0,
    run: options.FromRun = None,
    term: options.TermPolicy = "idf",
    filler: options.FillerPolicy = "a",
    top: options.Top = 100,
    ranks: options.Ranks = None,
    having: options.Having = None,
    synonyms: options.Synonyms = None,
    wordnet: options.WordNet = True,
) -> None:
    """Make minimal pairs for IR axioms, token-aligned for the rankers that will read them."""
    say(f"making pairs for {axiom} from {collection}")
    from whyrank.axioms.api import make_pairs
    from whyrank.axioms.axiom import parse_axioms
    from whyrank.axioms.pair import write_pairs
    from whyrank.rankers.load import load
    from whyrank.store.atomic import check_writable, write_json

    check_writable(out.parent)
    if out.is_dir():
        raise UserError(
            "a folder stands where the pairs file should be", where=out, todo="give a file: -o pairs.jsonl"
        )
    lock = _locked(out)
    if out.exists():
        say(f"{out} is there already and will be replaced")
    chosen = parse_axioms(axiom)
    choices, origin = choose(n, seed, term, filler, top, ranks, having), pair_options(run, synonyms, wordnet)
    opened = open_for_queries(collection)
    rankers = [load(name, collection=opened) for name in ranker or ()]
    with progress_bar("documents", n * len(chosen), "documents") as advance:
        made = make_pairs(chosen, opened, rankers, choices, origin, progress=advance)
    drops = out.with_name(f"{out.name.removesuffix('.jsonl')}.dropped.json")
    write_pairs(out, made.pairs)
    write_json(drops, {"pairs": len(made.pairs), "split": opened.split, "dropped": made.drop_counts()})
    lock.release()
    say(f"wrote {len(made.pairs)} pairs to {out}, and what was dropped and why to {drops}")
    name = (ranker or ["bi-minilm-l6"])[0]
    suggest(f"whyrank audit --ranker {name} --collection {collection} --pairs {out} -o runs/audit")


def _locked(out: Path) -> Lock:
    """The lock of a pairs file, in a folder that is gone again if nothing is written to it."""
    from whyrank.store.atomic import disk_errors
    from whyrank.store.lock import Lock

    new = not out.parent.exists()
    with disk_errors(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(out.parent / f".{out.name}.lock", with_folder=new)
        return lock.acquire(todo="wait for it to end, or choose another -o")


def choose(n: int, seed: int, term: str, filler: str, top: int, ranks: str | None, having: str | None) -> Choices:
    """The choices that the options make."""
    from whyrank.axioms.make import Choices

    bands = parse_ranks(ranks)
    return Choices(n, seed, term, filler, max([top, *(last for _, last in bands)]), bands, having)


def pair_options(run: Path | None, synonyms: Path | None, wordnet: bool) -> PairOptions:
    """Where pairs come from, by the options."""
    from whyrank.axioms.api import PairOptions
    from whyrank.cli.rank import run_of

    return PairOptions(run_of(run) if run else None, synonyms, wordnet)


def parse_ranks(text: str | None) -> tuple[tuple[int, int], ...]:
    """`1-10,91-100` -> ((1, 10), (91, 100))."""
    bands = []
    for part in (text or "").split(",") if text else ():
        first, dash, last = part.strip().partition("-")
        if (
            not (first.isdigit() and (last.isdigit() or not dash))
            or int(first) < 1
            or int(last or first) < int(first)
        ):
            raise UserError(f"'{part}' is no band of ranks", todo="write for example --ranks 1-10,91-100")
        bands.append((int(first), int(last or first)))
    return tuple(bands)
