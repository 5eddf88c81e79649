"""A collection opened for its queries: which of them are meant is said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whyrank.cli.console import say

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection


def open_for_queries(name: str) -> Collection:
    """The collection; of a folder with splits, its test queries (`NAME#train` names others), and that is said."""
    from whyrank.collections.catalogue import open_collection

    collection = open_collection(name)
    others = [split for split in collection.splits if split != collection.split]
    if others:
        more = " or ".join(f"{name}#{split}" for split in others)
        say(f"queries: {len(collection.queries)}, of the split {collection.split} or not judged; others: {more}")
    elif collection.split:
        say(f"queries: {len(collection.queries)}, of the split {collection.split}")
    return collection
