"""`make_pairs` and `audit`: the whole way from names to pairs and results."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from whyrank.axioms.audit import Audit, audit_pairs
from whyrank.axioms.axiom import Axiom, appended, parse_axioms
from whyrank.axioms.fillers import plain_filler
from whyrank.axioms.make import Choices, Made, PairMaker
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.pool import Pool
from whyrank.axioms.realise import fitted
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.errors import UserError
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Pair, Progress, Ranker
from whyrank.text.alignment import CannotAlign
from whyrank.text.synonyms import read_synonyms
from whyrank.text.wordnet import wordnet_synonyms


@dataclass(frozen=True)
class PairOptions:
    """Where pairs come from, beside the choices: a run, synonyms, and whether to use WordNet (fetched once)."""

    run: Run | None = None
    synonyms: Path | None = None
    wordnet: bool = True


def make_pairs(
    axioms: str | Sequence[Axiom],
    collection: Collection | str,
    rankers: Sequence[Ranker] = (),
    choices: Choices | None = None,
    options: PairOptions | None = None,
    *,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> Made:
    """Minimal pairs of a collection, aligned for all the rankers given.

    `axioms` are values or names (`TFC1:append,TDC`, `all`).
    """
    chosen = parse_axioms(axioms) if isinstance(axioms, str) else list(axioms)
    opened = open_collection(collection) if isinstance(collection, str) else collection
    choices, options = choices or Choices(), options or PairOptions()
    pool = pool or Pool(opened, options.run, choices.top)
    needs_synonyms = any(axiom.name.startswith("STMC") for axiom in chosen)
    maker = PairMaker(
        pool,
        rankers,
        choices,
        wordnet=wordnet_synonyms if options.wordnet and needs_synonyms else None,
        synonyms=read_synonyms(options.synonyms) if options.synonyms else None,
        query_term=_strongest(pool, rankers, choices),
    )
    made = maker.make(chosen, progress)
    if not made.pairs:
        raise UserError(
            f"no pair could be made: {_reasons(made)}", todo="try another axiom, collection or term policy"
        )
    return made


def audit(
    ranker: str | Ranker | Sequence[str | Ranker],
    collection: Collection | str,
    axioms: str | Sequence[str | Axiom] = "all",
    *,
    choices: Choices | None = None,
    options: PairOptions | None = None,
    pairs: Sequence[MinimalPair] | None = None,
    delta: float | None = None,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Whether rankers do what IR axioms say, on pairs made from a collection, or on `pairs` of your own.

    The result has `.to_pandas()` (a row a ranker and pair), `.summaries` (one a ranker and axiom) and
    `.to_json()`.
    """
    opened = open_collection(collection) if isinstance(collection, str) else collection
    given = [ranker] if isinstance(ranker, str | Ranker) else list(ranker)
    rankers = [load(one, collection=opened) if isinstance(one, str) else one for one in given]
    choices, options = choices or Choices(), options or PairOptions()
    pool = Pool(opened, options.run, choices.top)
    dropped: dict[str, dict[str, int]] = {}
    if pairs is None:
        made = make_pairs(_axioms(axioms), opened, rankers, choices, options, pool=pool)
        pairs, dropped = made.pairs, made.drop_counts()
    return audit_pairs(
        rankers,
        pairs,
        idf=pool.idf,
        delta=delta,
        seed=choices.seed,
        dropped=dropped,
        shards=shards,
        progress=progress,
    )


def _axioms(axioms: str | Sequence[str | Axiom]) -> list[Axiom]:
    if isinstance(axioms, str):
        return parse_axioms(axioms)
    given = [parse_axioms(axiom) if isinstance(axiom, str) else [axiom] for axiom in axioms]
    return list(dict.fromkeys(axiom for several in given for axiom in several))


def strongest_term(pool: Pool, ranker: Ranker, choices: Choices, qid: str) -> str:
    """The word of a query whose appending raises its documents' scores most, on average (the papers' way)."""
    query, filler = pool.queries[qid], plain_filler(pool.queries[qid])
    tried: dict[str, list[tuple[Pair, Pair]]] = {word: [] for word in pool.terms(qid)}
    for word, sides in tried.items():
        for row in (row for row in pool.run[qid] if choices.takes(row)):
            slotted = appended(pool.texts[row.docno], [filler], [word])
            try:
                pair = fitted(query, slotted, filler, True, ranker)
            except CannotAlign:
                continue
            sides.append(((query, pair.text("baseline")), (query, pair.text("perturbed"))))
    distinct = list(dict.fromkeys(one for sides in tried.values() for both in sides for one in both))
    scores = dict(zip(distinct, ranker.score(distinct).tolist(), strict=True))
    gains = {word: [scores[after] - scores[before] for before, after in sides] for word, sides in tried.items()}
    return max(gains, key=lambda word: statistics.fmean(gains[word]) if gains[word] else -math.inf)


def _strongest(pool: Pool, rankers: Sequence[Ranker], choices: Choices) -> Callable[[str], str] | None:
    """The `effect` policy: asks the first ranker, once for each query that is needed."""
    if choices.term != "effect":
        return None
    if not rankers:
        raise UserError("the term policy 'effect' asks a ranker", todo="give --ranker, or choose --term idf")
    return cache(partial(strongest_term, pool, rankers[0], choices))


def _reasons(made: Made) -> str:
    counted = [(count, reason) for reasons in made.dropped.values() for reason, count in reasons.items()]
    return (
        ", ".join(f"{reason} ({count})" for count, reason in sorted(counted, reverse=True)[:4]) or "no documents"
    )
