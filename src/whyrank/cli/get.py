"""`whyrank get`: what can be had, and fetching it ahead of time."""

from __future__ import annotations

from typing import Annotated

import typer

from whyrank.cli.console import console, say, suggest
from whyrank.core.errors import UserError, nearest


def get(
    names: Annotated[
        list[str] | None, typer.Argument(help="Rankers, collections or wordnet; none lists what there is.")
    ] = None,
) -> None:
    """List rankers and collections, or fetch some ahead of time; what is damaged is fetched anew."""
    if not names:
        say("rankers and collections that have a name here")
        list_all()
        return
    for name in names:
        fetch(name)


def list_all() -> None:
    """Two tables: rankers and collections, with where each is."""
    from rich.table import Table

    from whyrank.collections.catalogue import available
    from whyrank.rankers.catalogue import CATALOGUE
    from whyrank.rankers.find import here
    from whyrank.text import wordnet

    rankers = Table(title="rankers (any checkpoint folder or hub id will do, too)", title_justify="left")
    for column in ("name", "family", "what it is", "hub id", "from", "here"):
        rankers.add_column(column, overflow="fold")
    rankers.add_row("bm25", "lexical", "counts words in your collection", "", "built in", "yes")
    for entry in CATALOGUE.values():
        source = "hub, Python index" if entry.mirror else "hub"
        rankers.add_row(entry.name, entry.kind, entry.about, entry.hub_id, source, here(entry))
    collections = Table(
        title="collections (a BEIR or TREC folder or an ir_datasets id, too)", title_justify="left"
    )
    for column in ("name", "what it is", "here"):
        collections.add_column(column, overflow="fold")
    for one in available():
        collections.add_row(one.name, one.what, one.here)
    others = Table("name", "what it is", "here", title="besides", title_justify="left")
    others.add_row(
        "wordnet", "WordNet 3.0: synonyms for pairs and audits (31 MB to fetch)", wordnet.cached().here()
    )
    for table in (rankers, collections, others):
        console().print(table)
    suggest("whyrank get ce-minilm-l12 trec-rag-2024", "whyrank demo")


def fetch(name: str) -> None:
    """Fetches one ranker or collection, or makes it anew where it is damaged; says where it is and how exact."""
    from whyrank.collections.catalogue import BUILT_IN
    from whyrank.collections.catalogue import fetch as fetch_collection
    from whyrank.rankers.catalogue import CATALOGUE, find_entry

    if name == "bm25":
        print("bm25: built in; it counts words in the collection you give")
        return
    if name == "wordnet":
        from whyrank.text import wordnet

        say("fetching WordNet")
        print(f"wordnet: {wordnet.cached().get()}")
        return
    if name in BUILT_IN:
        say(f"fetching collection {name}")
        collection = fetch_collection(name)
        print(f"{name}: {len(collection.queries)} queries, {len(collection.qrels)} of them judged")
        return
    if find_entry(name) is None and "/" not in name:
        known = [*CATALOGUE, *BUILT_IN, "wordnet"]
        raise UserError(f"nothing here is called '{name}'", todo=nearest(name, known))
    say(f"fetching ranker {name}")
    from whyrank.rankers.find import fetch_checkpoint

    checkpoint = fetch_checkpoint(name)
    print(f"{name}: {checkpoint.folder} ({checkpoint.source})")
