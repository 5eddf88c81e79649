"""`whyrank get`: what can be had, and fetching it ahead of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from whyrank.cli import options
from whyrank.cli.commands import app
from whyrank.cli.console import console, print_plain, say, suggest
from whyrank.core.errors import UserError, nearest


@app.command("get")
def get(
    names: Annotated[
        list[str] | None, typer.Argument(help="Rankers, collections or wordnet; none lists what there is.")
    ] = None,
    json: options.AsJson = False,
) -> None:
    """List rankers and collections, or fetch some ahead of time; what is damaged is fetched anew."""
    if not names:
        say("rankers and collections that have a name here")
        list_all(json)
        return
    fetched = []
    for name in names:
        fetched.append(fetch(name))
        if not json:
            print(f"{name}: {fetched[-1].what}")
    if json:
        print_plain({"fetched": fetched})


def list_all(json: bool = False) -> None:
    """Rankers and collections, with where each is: two tables, or JSON."""
    from whyrank.collections.catalogue import available
    from whyrank.rankers.find import known_rankers
    from whyrank.text import wordnet

    rankers = known_rankers()
    collections = available()
    synonyms = ("wordnet", "WordNet 3.0: synonyms for pairs and audits (31 MB to fetch)", wordnet.cached().here())
    if json:
        others = [dict(zip(("name", "what", "here"), synonyms, strict=True))]
        print_plain({"rankers": rankers, "collections": [one._asdict() for one in collections], "others": others})
        return
    _table(
        "rankers (any checkpoint folder or hub id will do, too)",
        ("name", "family", "what it is", "hub id", "from", "here"),
        [(one.name, one.family, one.what, one.hub_id, one.source, one.here) for one in rankers],
    )
    columns = ("name", "what it is", "here")
    _table("collections (a BEIR or TREC folder or an ir_datasets id, too)", columns, collections)
    _table("besides", columns, [synonyms])
    suggest("whyrank get ce-minilm-l12 trec-rag-2024", "whyrank demo")


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


@dataclass(frozen=True)
class Fetched:
    """What was fetched: where it is and how exact, in words; and its folder, where it has one."""

    name: str
    what: str
    folder: str | None = None


def fetch(name: str) -> Fetched:
    """Fetches one ranker or collection, or makes it anew where it is damaged."""
    from whyrank.collections.catalogue import BUILT_IN
    from whyrank.collections.catalogue import fetch as fetch_collection
    from whyrank.rankers.catalogue import CATALOGUE, find_entry

    if name == "bm25":
        return Fetched(name, "built in; it counts words in the collection you give")
    if name == "wordnet":
        from whyrank.text import wordnet

        say("fetching WordNet")
        folder = str(wordnet.cached().get())
        return Fetched(name, folder, folder)
    if name in BUILT_IN:
        say(f"fetching collection {name}")
        collection = fetch_collection(name)
        return Fetched(name, f"{len(collection.queries)} queries, {len(collection.qrels)} of them judged")
    if find_entry(name) is None and "/" not in name:
        known = [*CATALOGUE, *BUILT_IN, "wordnet"]
        raise UserError(f"nothing here is called '{name}'", todo=nearest(name, known))
    say(f"fetching ranker {name}")
    from whyrank.rankers.find import fetch_checkpoint

    checkpoint = fetch_checkpoint(name)
    return Fetched(name, f"{checkpoint.folder} ({checkpoint.source})", str(checkpoint.folder))
