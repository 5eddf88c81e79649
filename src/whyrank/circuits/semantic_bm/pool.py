"""What is fitted: the candidates of one collection, or of several together.

Of several, a query and a document carry their collection's name (`nfcorpus/PLAIN-2`); words are counted in each
collection by itself; queries are split within each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from whyrank.circuits.semantic_bm.protocol import require_queries
from whyrank.circuits.semantic_bm.rivals import Counts, Lexical
from whyrank.circuits.semantic_bm.samples import Candidate, candidates
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of, first_stage_of
from whyrank.collections.records import Qrels, fingerprint_of
from whyrank.collections.records import Run as FirstStage
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError

#: A collection or its name; a run or its file.
GivenCollection = str | Collection
GivenRun = FirstStage | Path | str


@dataclass(frozen=True, eq=False)
class Part:
    """One collection: `label` is its name, told apart from others of that name; `own` are its candidates."""

    label: str
    collection: Collection
    first_stage: str
    own: tuple[Candidate, ...] = ()
    fingerprint: str = ""

    @classmethod
    def of(cls, label: str, collection: Collection, run: GivenRun | None, depth: int, queries: int | None) -> Part:
        """The best `depth` documents of the first queries; UserError where there are too few."""
        stage, origin = first_stage_of(collection, run, depth)
        stage = dict(list(stage.items())[:queries])
        require_queries(sum(bool(rows) for rows in stage.values()), where=label)
        return cls(label, collection, origin, tuple(candidates(collection, stage, depth)), fingerprint_of(stage))

    def inputs(self) -> list[object]:
        """All that decides what it adds."""
        one = self.collection
        return [one.fingerprint(), one.judgements, one.split, self.first_stage, self.fingerprint]


@dataclass(frozen=True, eq=False)
class Pool:
    """The parts, and what a fit reads of them."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, collection: Collection) -> Pool:
        """Of one collection; the candidates are known elsewhere."""
        return cls((Part(collection.name, collection, ""),))

    @property
    def name(self) -> str:
        return " + ".join(part.label for part in self.parts)

    @property
    def first_stage(self) -> str:
        """How the candidates were found: said once where all were found alike."""
        return "; ".join(dict.fromkeys(part.first_stage for part in self.parts))

    @property
    def split(self) -> str:
        """Whose queries are taken: said once where all collections' are of the same split."""
        return "; ".join(dict.fromkeys(part.collection.split or "all" for part in self.parts))

    @property
    def judgements(self) -> str | list[str]:
        """The judgements that are read, of one collection as every manifest has them."""
        found = [part.collection.judgements for part in self.parts]
        return found if self.is_several else found[0]

    @property
    def is_several(self) -> bool:
        return len(self.parts) > 1

    @cached_property
    def pairs(self) -> list[Candidate]:
        return [self._named(part, pair) for part in self.parts for pair in part.own]

    @cached_property
    def qrels(self) -> Qrels:
        if not self.is_several:
            return self.parts[0].collection.qrels
        return {
            f"{part.label}/{qid}": {f"{part.label}/{docno}": grade for docno, grade in grades.items()}
            for part in self.parts
            for qid, grades in part.collection.qrels.items()
        }

    def strata(self, pairs: Sequence[Candidate]) -> np.ndarray | None:
        """Which part each candidate is of [n]; None where there is one part only."""
        if not self.is_several:
            return None
        labels = [part.label for part in self.parts]
        return np.array([labels.index(pair.qid.split("/", 1)[0]) for pair in pairs])

    def counts(self, pairs: Sequence[Candidate]) -> Lexical:
        """BM25 and its kin, each pair's words counted in its own collection."""
        strata = self.strata(pairs)
        if strata is None:
            return Counts.of(pairs, self.parts[0].collection.documents())
        found = []
        for number, part in enumerate(self.parts):
            rows = np.flatnonzero(strata == number)
            own = Counts.of([pairs[i] for i in rows.tolist()], part.collection.documents())
            found.append((rows, own))
        return _Together(found, len(pairs))

    def texts(self) -> Iterator[str]:
        """All documents."""
        return (text for part in self.parts for _, text in part.collection.documents())

    def inputs(self) -> list[object]:
        return [part.inputs() for part in self.parts]

    def _named(self, part: Part, pair: Candidate) -> Candidate:
        if not self.is_several:
            return pair
        return replace(pair, qid=f"{part.label}/{pair.qid}", docno=f"{part.label}/{pair.docno}")


def open_pool(
    collection: GivenCollection | Sequence[GivenCollection],
    run: GivenRun | Sequence[GivenRun] | None,
    depth: int,
    queries: int | None,
    caller: Caller,
) -> Pool:
    """All collections with their first stages; UserError for one that is given twice, or has no candidates."""
    several = [collection] if isinstance(collection, str | Collection) else list(collection)
    if not several:
        raise UserError("no collection", todo="name at least one")
    runs = _runs(run, len(several))
    opened = [collection_of(one, caller) for one in several]
    _check_different(opened)
    labels = _labels(one.name for one in opened)
    return Pool(
        tuple(
            Part.of(label, one, own, depth, queries) for label, one, own in zip(labels, opened, runs, strict=True)
        )
    )


def _runs(run: GivenRun | Sequence[GivenRun] | None, count: int) -> Sequence[GivenRun | None]:
    """One for each collection, or none for all."""
    if run is None:
        return [None] * count
    runs: list[GivenRun] = list(run) if isinstance(run, list | tuple) else [run]  # type: ignore[list-item]
    if len(runs) != count:
        raise UserError(
            f"run: {len(runs)} given for {count} collections",
            todo="give one for each collection, in their order, or none: BM25's best are taken",
        )
    return runs


def _check_different(collections: Sequence[Collection]) -> None:
    if len(collections) == 1:
        return
    seen: dict[str, str] = {}
    for one in collections:
        content = f"{one.fingerprint()} {one.split}"
        if content in seen:
            same = f" (as {seen[content]})" if seen[content] != one.name else ""
            raise UserError(f"the collection {one.name} is given twice{same}", todo="name each once")
        seen[content] = one.name


def _labels(names: Iterable[str]) -> list[str]:
    """Of several, short names without slashes; a number tells those of one name apart."""
    count: Counter[str] = Counter()
    found, several = [], list(names)
    if len(several) == 1:
        return several
    for name in several:
        short = name.rstrip("/").rsplit("/", 1)[-1] or name
        count[short] += 1
        found.append(short if count[short] == 1 else f"{short}-{count[short]}")
    return found


@dataclass(frozen=True, eq=False)
class _Together:
    """Counts of several collections, each for its rows of n."""

    parts: Sequence[tuple[np.ndarray, Lexical]]
    n: int

    def bm25(self, k1: float, b: float) -> np.ndarray:
        return self._joined([one.bm25(k1, b) for _, one in self.parts])

    def tf_idf(self) -> np.ndarray:
        return self._joined([one.tf_idf() for _, one in self.parts])

    def query_likelihood(self, mu: float) -> np.ndarray:
        return self._joined([one.query_likelihood(mu) for _, one in self.parts])

    def _joined(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        found = np.empty(self.n)
        for (rows, _), column in zip(self.parts, columns, strict=True):
            found[rows] = column
        return found
