"""Samples: the first stage's pairs with the cross-encoder's score and all matching scores, read in shards."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from whyrank.circuits.semantic_bm.matching import Matched, read_matching
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.errors import UserError
from whyrank.core.kept import content_key, keep, kept
from whyrank.core.progress import Progress
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.ranker import finite
from whyrank.rankers.rerank import check_run

#: Pairs per shard: what a kill can cost, some seconds; enough to sort by length.
PAIRS_PER_SHARD = 128
ARRAYS = ("ids", "lengths", "document", "separator", "scores", "cut")


@dataclass(frozen=True)
class Candidate:
    """A document that the first stage found for a query."""

    qid: str
    docno: str
    query: str
    text: str


@dataclass(frozen=True, eq=False)
class Samples:
    """n pairs with `scores` [n]; the `lengths` [n] query tokens of each lie end to end, T in all.

    `ids` [T]; `document` and `separator` [T, L * H], as in `Matched`, of every head: the model takes the columns
    of its heads, controls take others.
    """

    pairs: list[Candidate]
    scores: np.ndarray
    lengths: np.ndarray
    ids: np.ndarray
    document: np.ndarray
    separator: np.ndarray
    cut: int

    def __len__(self) -> int:
        return len(self.pairs)

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the tokens of each pair begin."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]]).astype(int)

    @cached_property
    def qids(self) -> np.ndarray:
        return np.array([pair.qid for pair in self.pairs])

    def matching(self, sep: bool) -> np.ndarray:
        """MS [T, L * H], with what goes to the final [SEP] (as the authors' code has it) or without."""
        return self.document + self.separator if sep else self.document


def candidates(collection: Collection, stage: Run, depth: int) -> list[Candidate]:
    """The first `depth` documents of each query, with their texts."""
    check_run(collection, stage)
    rows = [row for found in stage.values() for row in found[:depth]]
    texts = collection.texts(dict.fromkeys(row.docno for row in rows))
    return [Candidate(row.qid, row.docno, collection.queries[row.qid], texts[row.docno]) for row in rows]


def check_queries(ranker: CrossEncoder, pairs: Sequence[Candidate]) -> None:
    """Raises for a query that the ranker's tokenizer leaves nothing of."""
    for qid, query in dict.fromkeys((pair.qid, pair.query) for pair in pairs):
        if not ranker.pieces.tokenizer.encode(query, add_special_tokens=False).ids:
            raise UserError(f"the query {qid!r} has no token", todo="leave it out of the run")


def read_samples(
    ranker: CrossEncoder,
    pairs: Sequence[Candidate],
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Samples:
    """One pass over all pairs; with `shards`, a folder for this work, what a kill left is taken up again."""
    check_queries(ranker, pairs)
    fingerprint, parts = ranker.fingerprint() if shards else "", []
    for number, start in enumerate(range(0, len(pairs), PAIRS_PER_SHARD)):
        some = [(pair.query, pair.text) for pair in pairs[start : start + PAIRS_PER_SHARD]]
        path, key = (shards / f"{number:05d}.shard" if shards else None), content_key(fingerprint, some)
        content = kept(path, key) if path else None
        if content is None:
            parts.append(_stacked(read_matching(ranker, some, scored=True, progress=progress)))
            finite(parts[-1]["scores"], some, ranker.name)
            if path:
                keep(path, key, _packed(parts[-1]))
        else:
            parts.append(_unpacked(content))
            if progress:
                progress(len(some))
    return _joined(pairs, parts)


def _joined(pairs: Sequence[Candidate], parts: Sequence[dict[str, np.ndarray]]) -> Samples:
    found = {name: np.concatenate([part[name] for part in parts]) for name in ARRAYS}
    assert found["lengths"].min() > 0, "a query without a token"
    return Samples(
        list(pairs), found["scores"], found["lengths"], found["ids"], found["document"], found["separator"],
        int(found["cut"].sum()),
    )  # fmt: skip


def _stacked(some: Iterable[Matched]) -> dict[str, np.ndarray]:
    rows = list(some)
    return {
        "ids": np.concatenate([one.ids for one in rows]).astype(np.int64),
        "lengths": np.array([len(one.ids) for one in rows]),
        "document": np.concatenate([one.document for one in rows]),
        "separator": np.concatenate([one.separator for one in rows]),
        "scores": np.array([one.score for one in rows]),
        "cut": np.array([one.cut for one in rows]),
    }


def _packed(arrays: dict[str, np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, *[arrays[name] for name in ARRAYS])
    return buffer.getvalue()


def _unpacked(content: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(content)) as arrays:
        return {name: arrays[f"arr_{i}"] for i, name in enumerate(ARRAYS)}
