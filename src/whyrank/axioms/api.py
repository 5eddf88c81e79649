"""`pairs`: minimal pairs of a collection, from names to the file."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TypedDict, Unpack

from whyrank.axioms.axiom import Axiom, appended
from whyrank.axioms.fillers import plain_filler
from whyrank.axioms.make import Choices, PairMaker
from whyrank.axioms.pool import Pool
from whyrank.axioms.realise import fitted
from whyrank.axioms.registry import parse_axioms
from whyrank.axioms.results import MinimalPairs, pairs_file
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of, run_of
from whyrank.collections.records import Run, fingerprint_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, nearest
from whyrank.core.packages import sha256
from whyrank.core.parameters import check_counts
from whyrank.core.progress import Progress
from whyrank.rankers.opening import rankers_of
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.text.alignment import CannotAlign
from whyrank.text.synonyms import read_synonyms
from whyrank.text.wordnet import wordnet_synonyms


@dataclass(frozen=True)
class PairOptions:
    """Where pairs come from, beside the choices: a run, synonyms, and whether to use WordNet (fetched once)."""

    run: Run | None = None
    synonyms: Path | None = None
    wordnet: bool = True


class PairArguments(TypedDict, total=False):
    """How the verbs choose pairs.

    `documents` per axiom (100), `depth`: of how many documents of each query to choose (100), `ranks`: bands
    instead (`1-10,91-100`), `run`: where the documents come from (BM25's), `term`: `idf`, `random`, `effect` or
    `document`, `filler`: `a`, `mask`, `random` or `frequency`, `having`: only documents with `term` or `no-term`,
    `synonyms`: a file, `wordnet`: take synonyms from WordNet, too (fetched once), `seed`.
    """

    documents: int
    depth: int
    ranks: str | None
    run: Run | Path | str | None
    term: str
    filler: str
    having: str | None
    synonyms: Path | None
    wordnet: bool
    seed: int


@dataclass(frozen=True)
class PairSettings:
    """The arguments, read."""

    choices: Choices
    options: PairOptions

    @classmethod
    def of(cls, arguments: PairArguments) -> PairSettings:
        for name in arguments.keys() - PairArguments.__annotations__.keys():
            raise UserError(f"there is no option '{name}'", todo=nearest(name, PairArguments.__annotations__))
        bands = parse_ranks(arguments.get("ranks"))
        depth = arguments.get("depth", 100)
        check_counts(1, depth=depth)
        choices = Choices(
            documents=arguments.get("documents", 100), seed=arguments.get("seed", 0),
            term=arguments.get("term", "idf"), filler=arguments.get("filler", "a"),
            depth=max([depth, *(last for _, last in bands)]), ranks=bands, having=arguments.get("having"),
        )  # fmt: skip
        run, synonyms = arguments.get("run"), arguments.get("synonyms")
        options = PairOptions(None if run is None else run_of(run), synonyms, arguments.get("wordnet", True))
        return cls(choices, options)

    def inputs(self) -> dict[str, object]:
        """What the pairs depend on."""
        run, synonyms = self.options.run, self.options.synonyms
        return {
            "choices": vars(self.choices),
            "run": fingerprint_of(run) if run else None,
            "synonyms": sha256(synonyms) if synonyms else None,
            "wordnet": self.options.wordnet,
        }


def parse_ranks(text: str | None) -> tuple[tuple[int, int], ...]:
    """`1-10,91-100` -> ((1, 10), (91, 100))."""
    bands = []
    for part in text.split(",") if text else ():
        first, dash, last = part.strip().partition("-")
        numbers = first.isdigit() and (last.isdigit() or not dash)
        if not numbers or int(first) < 1 or int(last or first) < int(first):
            raise UserError(f"'{part}' is not a band of ranks", todo="write for example 1-10,91-100")
        bands.append((int(first), int(last or first)))
    return tuple(bands)


def axioms_of(given: str | Axiom | Sequence[str | Axiom]) -> list[Axiom]:
    """Axioms by value or name, each once."""
    if isinstance(given, str | Axiom):
        given = [given]
    several = [parse_axioms(one) if isinstance(one, str) else [one] for one in given]
    return list(dict.fromkeys(axiom for some in several for axiom in some))


def pairs(
    axiom: str | Axiom | Sequence[str | Axiom],
    collection: str | Collection,
    ranker: str | Ranker | Sequence[str | Ranker] = (),
    *,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
    **arguments: Unpack[PairArguments],
) -> MinimalPairs:
    """Minimal pairs for IR axioms, token-aligned for the rankers that will read them.

    With `out` they are also written, as JSON lines, and what was dropped and why beside them.
    """
    chosen, settings = axioms_of(axiom), PairSettings.of(arguments)
    with pairs_file(None if out is None else Path(out), caller) as write:
        opened = collection_of(collection, caller)
        rankers = rankers_of(ranker, opened, device=device)
        with caller.progress("documents", settings.choices.documents * len(chosen), "documents") as advance:
            made = make_pairs(chosen, opened, rankers, settings.choices, settings.options, progress=advance)
        write(made)
    return made


def make_pairs(
    axioms: str | Sequence[Axiom],
    collection: Collection | str,
    rankers: Sequence[Ranker] = (),
    choices: Choices | None = None,
    options: PairOptions | None = None,
    *,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> MinimalPairs:
    """Minimal pairs of a collection, aligned for all the rankers given.

    `axioms` are values or names (`TFC1:append,TDC`, `all`).
    """
    chosen = parse_axioms(axioms) if isinstance(axioms, str) else list(axioms)
    opened = open_collection(collection) if isinstance(collection, str) else collection
    choices, options = choices or Choices(), options or PairOptions()
    pool = pool or Pool(opened, options.run, choices.depth)
    needs_synonyms = any(axiom.name.startswith("STMC") for axiom in chosen)
    maker = PairMaker(
        pool, rankers, choices, wordnet=wordnet_synonyms if options.wordnet and needs_synonyms else None,
        synonyms=read_synonyms(options.synonyms) if options.synonyms else None,
        query_term=_strongest(pool, rankers, choices),
    )  # fmt: skip
    made = replace(maker.make(chosen, progress), split=opened.split)
    if not made.pairs:
        why = made.reasons() or "no documents"
        raise UserError(f"no pair could be made: {why}", todo="try another axiom, collection or term policy")
    return made


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
        raise UserError("the term policy 'effect' asks a ranker", todo="give a ranker, or the term policy 'idf'")
    return cache(partial(strongest_term, pool, rankers[0], choices))
