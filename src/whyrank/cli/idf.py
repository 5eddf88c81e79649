"""`whyrank idf`: does this ranker know how rare a word is?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, console, say, suggest
from whyrank.core.errors import UserError
from whyrank.evaluation.estimate import row_text

#: Words that a correlation needs.
ENOUGH_WORDS = 4
#: Where IDF comes from, in every command.
IdfSource = Annotated[
    str, typer.Option("--idf", help="collection (counted there), wordfreq, or a file: word<TAB>idf a line.")
]
CollectionIfAny = Annotated[
    str | None, typer.Option("--collection", help="A folder, a built-in name or an ir_datasets id.")
]


def idf(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    out: options.RunFolderPath,
    collection: CollectionIfAny = None,
    idf: IdfSource = "collection",
    vectors: Annotated[int, typer.Option(min=1, help="How many singular vectors to look at.")] = 10,
) -> None:
    """Correlate the singular vectors of a ranker's embeddings with IDF, and draw it."""
    say(f"the embeddings of {ranker} against the IDF of {collection if idf == 'collection' else idf}")
    from whyrank.collections.catalogue import open_collection
    from whyrank.collections.idf import token_idf
    from whyrank.core.atomic import whole_file
    from whyrank.core.runs import RunFolder
    from whyrank.edits.correlations import idf_correlations
    from whyrank.edits.idf_report import write_idf
    from whyrank.interventions.api import neural

    opened = open_collection(collection) if collection else None
    if opened is None:
        token_idf_needs(idf)
    model = neural(ranker)
    say(f"{model.name}: {model.source}; {model.encoder}")
    counted = opened.fingerprint() if opened and idf == "collection" else None
    inputs = {
        "ranker": model.fingerprint(), "collection": counted, "idf": fingerprint_of_idf(idf), "vectors": vectors
    }  # fmt: skip
    folder = RunFolder.claim(out, "idf", inputs, asked=asked())
    told, table = idf_correlations(model, token_idf(model.pieces.tokenizer, idf, opened), vectors)
    result = {"ranker": model.name, "source": str(model.source), **told}
    column = "idf_bm25" if "idf_bm25" in table else "idf"
    known = table[table["whole"] & table[column].notna()]
    if len(known) < ENOUGH_WORDS:
        raise UserError(
            f"{len(known)} words of the ranker's vocabulary have an IDF here", where=collection or idf,
            todo=f"{ENOUGH_WORDS} or more are needed: give another collection or file",
        )  # fmt: skip
    folder.begin()
    manifest = folder.record(words=len(known))
    with whole_file(out / "tokens.parquet") as partial:
        table.to_parquet(partial, index=False)
    words = list(zip(known["piece"].str.lstrip("Ġ▁"), known[column], known["U0"], strict=True))
    paths = [out / "tokens.parquet", *write_idf(result, words, out, manifest)]
    folder.save(manifest)
    show(result)
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    how = ["--idf", idf] if idf != "collection" else []
    suggest(
        f"open {out / 'report.html'} in a browser",
        command(
            "edit", "--ranker", ranker, *how, "--up", "TERM=5", "--preview", "--collection", collection or "C"
        ),
    )


def token_idf_needs(idf: str) -> None:
    """Raises at once where IDF is to be counted and there is no collection."""
    if idf == "collection":
        raise UserError(
            "no collection to count words in",
            todo="give --collection, or --idf wordfreq or a file of word<TAB>idf",
        )


def fingerprint_of_idf(idf: str) -> str:
    """`collection` and `wordfreq` as they are, a file by its content."""
    from whyrank.core.packages import sha256

    return sha256(Path(idf)) if idf not in ("collection", "wordfreq") and Path(idf).is_file() else idf


def show(told: dict[str, Any]) -> None:
    """A row a vector, on stdout."""
    from rich.table import Table

    formulas = list(dict.fromkeys(row["formula"] for row in told["correlations"]))
    table = Table(title=f"Pearson's r with the IDF of {told['idf']}, whole words", title_justify="left")
    table.add_column("vector")
    for column in ("singular value", *(f"r ({formula})" for formula in formulas), "words"):
        table.add_column(column, justify="right")
    for vector in dict.fromkeys(row["vector"] for row in told["correlations"]):
        mine = [row for row in told["correlations"] if row["vector"] == vector]
        cells = [row_text(row, "r", "+.3f") for row in mine]
        table.add_row(f"U{vector}", f"{mine[0]['singular_value']:.2f}", *cells, str(mine[0]["n"]))
    console().print(table)
