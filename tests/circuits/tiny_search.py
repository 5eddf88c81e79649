"""A small collection in the words of the tiny checkpoints, with a first stage, for tests of SemanticBM."""

from __future__ import annotations

import numpy as np

from tests.checkpoints import WORDS
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run

RARE = [word for word in WORDS if word not in ("the", "a", "on", "in", "how", "many")]


def tiny_collection(queries: int = 14, documents: int = 40, seed: int = 0) -> Collection:
    """Random texts of 3 to 12 words, queries of 2 to 4, each judged against a few documents."""
    generator = np.random.default_rng(seed)

    def text(words, least, most):
        return " ".join(generator.choice(words, size=generator.integers(least, most + 1)))

    texts = {f"d{i:03d}": text(WORDS, 3, 12) + f" {RARE[i % len(RARE)]}" for i in range(documents)}
    asked = {f"q{i:02d}": text(RARE, 2, 4) for i in range(queries)}
    judged = {qid: {f"d{d:03d}": int(generator.integers(0, 3)) for d in range(0, documents, 2)} for qid in asked}
    return Collection.from_records("tiny", texts, asked, judged)


def every_document(collection: Collection, depth: int) -> Run:
    """A first stage that takes documents in turn, `depth` a query."""
    names = [docno for docno, _ in collection.documents()]
    return {
        qid: [
            Retrieved(qid, names[(3 * number + place) % len(names)], place + 1, -float(place), "turn")
            for place in range(depth)
        ]
        for number, qid in enumerate(collection.queries)
    }
