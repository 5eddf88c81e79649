"""`whyrank audit`: does it behave?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.console import console, progress_bar, say, suggest
from whyrank.cli.opened import open_for_queries
from whyrank.cli.pairs import choose, pair_options
from whyrank.collections.records import fingerprint_of

if TYPE_CHECKING:
    from whyrank.axioms.audit import Audit


def audit(
    ranker: Annotated[
        list[str], typer.Option(help="A folder, hub id or short name; again for more, side by side.")
    ],
    collection: options.CollectionName,
    out: options.RunFolderPath,
    axioms: Annotated[str, typer.Option(help="all, or TFC1,TFC2:marginal,LNC1:*, ...")] = "all",
    pairs: Annotated[Path | None, typer.Option(help="Audit on this pairs file instead.")] = None,
    delta: Annotated[float | None, typer.Option(min=0, help="Differences up to this are neutral.")] = None,
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
    """Check rankers against IR axioms on minimal pairs, with intervals, curves and the worst violations."""
    say(f"auditing {', '.join(ranker)} on {pairs or collection}")
    from whyrank.axioms.api import make_pairs
    from whyrank.axioms.audit import audit_pairs
    from whyrank.axioms.axiom import parse_axioms
    from whyrank.axioms.pair import read_pairs
    from whyrank.axioms.pool import Pool
    from whyrank.rankers.load import load
    from whyrank.reports.audit import write_audit
    from whyrank.store.packages import sha256
    from whyrank.store.run_folder import RunFolder

    chosen = parse_axioms(axioms)
    choices, origin = choose(n, seed, term, filler, top, ranks, having), pair_options(run, synonyms, wordnet)
    own = read_pairs(pairs) if pairs else None
    if own and axioms != "all":
        say("--axioms is for pairs made here; the pairs of the file are audited as they are")
    opened = open_for_queries(collection)
    rankers = [load(name, collection=opened) for name in dict.fromkeys(ranker)]
    for one in rankers:
        say(f"{one.name}: {one.source}")
    inputs: dict[str, Any] = {
        "rankers": [[one.name, one.fingerprint()] for one in rankers],
        "collection": opened.fingerprint(),
        "split": opened.split,
        "pairs": _fingerprint(own),
        "axioms": [] if own else [str(axiom) for axiom in chosen],
        "choices": vars(choices),
        "run": fingerprint_of(origin.run) if origin.run else None,
        "synonyms": sha256(synonyms) if synonyms else None,
        "wordnet": wordnet,
        "delta": delta,
    }
    folder = RunFolder.claim(out, "audit", inputs)
    pool, dropped = Pool(opened, origin.run, choices.top), {}
    if own is None:
        with progress_bar("making pairs", n * len(chosen), "documents") as advance:
            made = make_pairs(chosen, opened, rankers, choices, origin, pool=pool, progress=advance)
        own, dropped = made.pairs, made.drop_counts()
    shards = folder.work("shards")
    with progress_bar("scoring", 2 * len(own) * len(rankers), "inputs") as advance:
        result = audit_pairs(
            rankers, own, idf=pool.idf, delta=delta, seed=seed, dropped=dropped, shards=shards, progress=advance
        )
    manifest = folder.record(pairs=len(own), inputs_scored={one.ranker: one.inputs for one in result.scored},
                             texts={one.ranker: one.texts().to_json() for one in result.scored})  # fmt: skip
    folder.begin()
    paths = write_audit(result, out, manifest)
    folder.save(manifest)
    show(result)
    for scored in result.scored:
        for told in scored.sentences():
            say(f"{scored.ranker}: {told}")
        for told in scored.texts().sentences(scored.ranker) if pairs else []:
            say(f"{scored.ranker}: {told}; the texts that were scored are in rows.parquet")
        if scored.dropped:
            told = ", ".join(f"{count} {reason}" for reason, count in scored.dropped.items())
            say(f"{scored.ranker}: pairs left out: {told}")
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    suggest(f"open {out / 'report.html'} in a browser")


def show(result: Audit) -> None:
    """A row an axiom, a column a ranker: the share that holds, and that violates, on stdout."""
    from rich.table import Table

    from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW

    rankers = [one.ranker for one in result.scored]
    found = {(summary.axiom, summary.ranker): summary for summary in result.summaries}
    told = "pairs whose preferred side scores higher / lower; * mean significant at 0.05 (Holm)"
    table = Table(title=told, title_justify="left")
    table.add_column("axiom")
    table.add_column("pairs", justify="right")
    for ranker in rankers:
        table.add_column(ranker, justify="right")
    for axiom in dict.fromkeys(summary.axiom for summary in result.summaries):
        cells, sizes = [], []
        for ranker in rankers:
            summary = found.get((axiom, ranker))
            star = "*" if summary and summary.p_adjusted < 0.05 else " "
            cells.append(
                f"{summary.shares['holds']:.0%} / {summary.shares['violates']:.0%}{star}" if summary else "–"
            )
            sizes.append(summary.n if summary else 0)
        pairs = str(max(sizes)) if min(sizes) == max(sizes) else f"{min(sizes)}-{max(sizes)}"
        table.add_row(axiom, pairs, *cells)
    for axiom, falling in _falling(result).items():
        more = axiom.removeprefix("TFC2:marginal").replace(":", " ")
        cells = [f"{falling[ranker]:.0%}" if ranker in falling else "–" for ranker in rankers]
        table.add_row(f"TFC2 itself: gains fall{more}", "", *cells)
    console().print(table)
    few = {summary.axiom: summary.queries for summary in result.summaries if summary.queries < FEWEST_QUERIES}
    if few:
        names = ", ".join(f"{axiom} ({count})" for axiom, count in few.items())
        say(f"{TOO_FEW} for an interval or a p-value: {names}; give {FEWEST_QUERIES} or more")


def _falling(result: Audit) -> dict[str, dict[str, float]]:
    """By axiom and ranker, the share of steps in which the marginal gain falls."""
    found: dict[str, dict[str, float]] = {}
    for summary in result.summaries:
        if summary.flattens is not None:
            found.setdefault(summary.axiom, {})[summary.ranker] = summary.flattens
    return found


def _fingerprint(pairs: list[Any] | None) -> str | None:
    import hashlib

    if pairs is None:
        return None
    return hashlib.sha256("\n".join(pair.to_json() for pair in pairs).encode()).hexdigest()
