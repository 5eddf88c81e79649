"""Which documents a bi-encoder has to encode again after an edit: those that it reads with a changed token."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from whyrank.collections.collection import Collection
from whyrank.core.progress import Progress
from whyrank.edits.rows import rows_are_local
from whyrank.rankers.dual import DualRanker

#: Documents tokenised at a time.
AT_A_TIME = 512


def documents_to_encode(
    ranker: DualRanker, collection: Collection, tokens: Sequence[int], progress: Progress | None = None
) -> list[str]:
    """The documents' ids, in the collection's order: all of them where a row matters beyond its own token."""
    wanted, local, found = set(tokens), rows_are_local(ranker), []
    documents = collection.documents()
    while some := list(islice(documents, AT_A_TIME)):
        read = ranker.sequences([text for _, text in some], "document")
        found += [
            docno
            for (docno, _), one in zip(some, read, strict=True)
            if wanted and (not local or not wanted.isdisjoint(one.ids))
        ]
        if progress:
            progress(len(some))
    return found
