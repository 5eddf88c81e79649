"""Options that mean the same in every command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

COLLECTION = typer.Option("--collection", help="A folder, a built-in name or an ir_datasets id.")
CollectionName = Annotated[str, COLLECTION]
#: How a collection's files are read: see `cli/reading.py`.
IdField = Annotated[str | None, typer.Option(help="The documents' field with the id; default: guessed by name.")]
TitleField = Annotated[str | None, typer.Option(help="... with the title, put before the text.")]
TextField = Annotated[str | None, typer.Option(help="... with the text.")]
StripHtml = Annotated[bool, typer.Option("--strip-html", help="Take HTML out of the texts.")]
Language = Annotated[str, typer.Option(help="Whose stems BM25 counts: german, french, ...; none for whole words.")]
Pad = Annotated[
    bool,
    typer.Option("--pad", help="Put fillers into pairs of your own whose sides differ in token length."),
]
RunFolderPath = Annotated[Path, typer.Option("-o", "--out", help="The run folder to write.")]
#: How minimal pairs are chosen.
Axioms = Annotated[
    list[str],
    typer.Option(
        "--axiom", help="all, TFC1, TFC1:prepend, TFC2:*, module:Class; again, or with commas, for more."
    ),
]
Documents = Annotated[
    int, typer.Option("--documents", min=1, help="Documents per axiom; TFC2 makes one pair for each k.")
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed", min=0, max=2**32 - 1, help="Random seed: the same seed, the same pairs and the same intervals."
    ),
]
FromRun = Annotated[Path | None, typer.Option("--run", help="Your candidates, a TREC run; default: BM25's.")]
TermPolicy = Annotated[
    str, typer.Option("--term", help="idf, random, effect (asks the first ranker) or document.")
]
FillerPolicy = Annotated[str, typer.Option("--filler", help="a, mask, random or frequency.")]
Depth = Annotated[int, typer.Option("--depth", min=1, help="How many of each query's candidates to take.")]
Queries = Annotated[int | None, typer.Option("--queries", min=1, help="Only the first N queries.")]
MaxLength = Annotated[
    int | None, typer.Option("--max-length", min=8, help="Read at most N tokens: shorter texts, faster.")
]
Device = Annotated[str, typer.Option("--device", help="Where the model runs: cpu, cuda, cuda:1, mps.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")]
Ranks = Annotated[str | None, typer.Option("--ranks", help="Bands of ranks instead: 1-10,91-100.")]
Having = Annotated[str | None, typer.Option("--having", help="Only documents with 'term' or 'no-term'.")]
Synonyms = Annotated[Path | None, typer.Option("--synonyms", help="Your synonyms: term, tab, words with commas.")]
WordNet = Annotated[
    bool, typer.Option("--wordnet/--no-wordnet", help="Take synonyms from WordNet, too (fetched once).")
]


@dataclass(frozen=True)
class PairChoices:
    """How the pairs of a command are chosen: `axioms.api.PairArguments`."""

    documents: Documents = 100
    seed: Seed = 0
    run: FromRun = None
    term: TermPolicy = "idf"
    filler: FillerPolicy = "a"
    depth: Depth = 100
    ranks: Ranks = None
    having: Having = None
    synonyms: Synonyms = None
    wordnet: WordNet = True


@dataclass(frozen=True)
class Reading:
    """How the files of a collection are read."""

    id_field: IdField = None
    title_field: TitleField = None
    text_field: TextField = None
    strip_html: StripHtml = False
    language: Language = "english"
