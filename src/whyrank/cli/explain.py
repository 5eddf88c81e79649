"""`whyrank explain`: why this document, why above that one, why not on top?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, print_plain, say, suggest
from whyrank.cli.reading import opened
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from whyrank.explain.account import Mechanism
    from whyrank.explain.explanation import Explanation

#: Words in the list of bars, and the width of the longest bar.
SHOWN, WIDTH = 12, 30
#: A word is coloured where its effect is this share of the strongest.
COLOURED = 0.1


@app.command("explain")
def explain(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    query: Annotated[str | None, typer.Option(help="The query, or the id of one of the collection's.")] = None,
    doc: Annotated[
        str | None,
        typer.Option(help="A text, a text file, or an id in the hits, run or collection; default: the first."),
    ] = None,
    versus: Annotated[str | None, typer.Option(help="Another document: why is one above the other?")] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Why is --doc not among the first N candidates?")] = None,
    hits: Annotated[
        Path | None,
        typer.Option(help="Candidates: a search engine's answer or a list as JSON, or a CSV, TSV or JSON lines."),
    ] = None,
    id_field: Annotated[
        str | None,
        typer.Option(help="The field with the id, of the hits, else of the collection; default: guessed by name."),
    ] = None,
    title_field: options.TitleField = None,
    text_field: options.TextField = None,
    collection: Annotated[str | None, options.COLLECTION] = None,
    run: Annotated[Path | None, typer.Option(help="Candidates: a TREC run; needs --collection.")] = None,
    remove: Annotated[
        str, typer.Option(help="Take words away by fillers (replace), or delete them (delete).")
    ] = "replace",
    budget: Annotated[int, typer.Option(min=20, help="Texts to score for each document, at most.")] = 400,
    heads: Annotated[bool, typer.Option("--heads", help="The heads that carry the leading word, too.")] = False,
    matching: Annotated[
        str | None,
        typer.Option(help="A cross-encoder's matching heads: 0.8,1.7; default: those known of the model."),
    ] = None,
    semantic_bm: Annotated[
        Path | None, typer.Option(help="A run of semantic-bm: how far its account follows the score.")
    ] = None,
    strip_html: options.StripHtml = False,
    language: options.Language = "english",
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A run folder to write.")] = None,
    device: options.Device = "cpu",
    tree: Annotated[
        bool, typer.Option("--tree", help="Print value, description, details, as search engines do.")
    ] = False,
    json: options.AsJson = False,
) -> None:
    """Say why a document scores as it does: its words, what they do together, how the ranker computes it."""
    say(f"explaining a score of {ranker}")
    from whyrank.collections.fields import Fields
    from whyrank.explain.api import explain as run_explain

    if collection is None and language != "english":
        raise UserError("a language is for a collection, whose words BM25 counts", todo="give --collection")
    named = (id_field, title_field, text_field)
    of_collection = named if hits is None else (None, None, None)
    texts = None if collection is None else opened(collection, *of_collection, strip_html, language)
    result = run_explain(
        ranker, query, doc, versus=versus, top=top, hits=hits, fields=Fields(*named), collection=texts, run=run,
        remove=remove, budget=budget, heads=heads, matching=matching, semantic_bm=semantic_bm,
        strip_html=strip_html, device=device, out=out, caller=terminal(),
    )  # fmt: skip
    if json or tree:
        print_json(result) if json else print_plain(result.tree())
    else:
        show(result)
    suggest(*_next(result, ranker, out))


def show(found: Explanation) -> None:
    """The verdict, the coloured text, and a bar per word."""
    from whyrank.explain.sentences import in_full

    screen = console()
    for sentence in in_full(found):
        screen.print(sentence)
    screen.print()
    screen.print(coloured(found))
    screen.print()
    strongest = sorted(found.terms, key=lambda one: -abs(one.effect))[:SHOWN]
    longest = max((abs(one.effect) for one in strongest), default=0.0) or 1.0
    name = max((len(one.word) for one in strongest), default=0)
    for one in sorted(strongest, key=lambda one: -one.effect):
        bar = "█" * max(1, round(WIDTH * abs(one.effect) / longest))
        screen.print(f"{one.word:{name}} {one.effect:+7.3f} ", end="")
        screen.print(bar, style="green" if one.effect > 0 else "red")
    for title, how in (("How it is computed", found.mechanism), ("Beside it", found.bm25)):
        if how is not None:
            screen.print(_mechanism(title, how))


def _mechanism(title: str, how: Mechanism) -> Table:
    """One row per word or piece of the query, those that add most first."""
    from rich.table import Table

    from whyrank.explain.mechanism_report import columns_of, written

    names = [name for name in (how.weight, how.match) if name]
    table = Table(
        "query", "document", *names, "adds", title=f"{title}: {how.family}", title_justify="left",
        caption=how.note, caption_justify="left",
    )  # fmt: skip
    for one in sorted(how.parts, key=lambda part: -abs(part.contribution))[:SHOWN]:
        values = [written(name, value) or "" for name, value in columns_of(how, one)]
        table.add_row(one.query, one.document or "", *values, f"{one.contribution:+.2f}")
    return table


def coloured(found: Explanation) -> Text:
    """What is read of the document: green raises the score, red lowers it."""
    from rich.text import Text

    chunks = found.chunks()
    strongest = max((abs(value) for _, value in chunks), default=0.0)
    text = Text()
    for chunk, value in chunks:
        strong = abs(value) > COLOURED * strongest
        text.append(chunk, style=("bold green" if value > 0 else "bold red") if strong else "")
        text.append(" ")
    return text


def _next(found: Explanation, ranker: str, out: Path | None) -> list[str]:
    """The page; and the dial that swaps two documents, else that of the word that matters most."""
    steps = [f"open {out / 'report.html'} in a browser"] if out is not None else []
    turn = found.versus.turn if found.versus is not None else None
    held = max(found.query_terms, key=lambda one: one.effect, default=None)
    way, dial = "--down", f"{held.word}=1sd" if held is not None and held.effect > 0 else None
    if turn is not None:
        way, dial = f"--{turn.direction}", f"{turn.term}={turn.scale:g}sd"
    if dial is not None and found.why_not is None and ranker != "bm25":
        steps.append(command("edit", "--ranker", ranker, way, dial, "--preview", "--collection", "demo"))
    return steps or [command("explain", "--help")]
