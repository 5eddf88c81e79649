"""`circuit`: the whole way from pairs to a circuit, its roles, and what speaks for it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from whyrank.axioms.pair import MinimalPair, read_pairs
from whyrank.axioms.scored_pair import TextCounts
from whyrank.circuits.brought import BroughtHeads
from whyrank.circuits.criterion import Criterion
from whyrank.circuits.curves.held_out import split_queries
from whyrank.circuits.curves.measure import CurveSizes
from whyrank.circuits.evidence import COUNTING, LENGTH, Evidence, Sizes
from whyrank.circuits.hops import NO_SEARCH, hops, selective_search
from whyrank.circuits.reading import cross_encoder
from whyrank.circuits.results import SEARCHED, TESTS, Circuit, CircuitHead, Found, IdfSource
from whyrank.circuits.search import GAP, HALVES, Search, backward_search
from whyrank.circuits.threshold import DECIDERS, Threshold
from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf, token_idf
from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import SHORTEST_TEXT, check_counts, check_seed
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.core.stages import Stages
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.interventions.aligned import AlignedPairs, aligned_pairs, fitting_pairs, pair_table
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

#: What decides whether a head belongs: the other half of the queries; nothing, where there are too few of them.
CONFIRMATION, NOTHING_DECIDES = "confirmation on the other half", "nothing (too few queries)"
#: The threshold of select 'gap'.
GAP_THRESHOLD = "relative=0.3,share=0.01"
FORMULA = "bm25"
#: Pairs by the name of their set.
Sets = Mapping[str, Sequence[MinimalPair]]
#: A pairs file, or pairs.
GivenPairs = Path | str | Sequence[MinimalPair]


@dataclass(frozen=True)
class CircuitRequest:
    """All that decides the result, except the ranker, the pairs and the IDF."""

    search: Search = field(default_factory=Search)
    sizes: Sizes = field(default_factory=Sizes)
    seed: int = 0
    searches: bool = True


@dataclass(frozen=True)
class _Given:
    """The pairs as they were given: by file, or as one list."""

    parts: tuple[tuple[Path | None, tuple[MinimalPair, ...]], ...]

    @classmethod
    def of(cls, pairs: GivenPairs | Sequence[Path | str]) -> _Given:
        several = [pairs] if isinstance(pairs, Path | str) else list(pairs)
        if several and isinstance(several[0], MinimalPair):
            return cls(((None, tuple(several)),))  # type: ignore[arg-type]
        return cls(tuple((Path(path), tuple(_read(Path(path)))) for path in several))  # type: ignore[arg-type]

    def fingerprint(self) -> list[str]:
        """A hash of each file's pairs."""
        lines = ["\n".join(pair.to_json() for pair in some) for _, some in self.parts]
        return [hashlib.sha256(text.encode()).hexdigest() for text in lines]

    def sets(self, ranker: CrossEncoder, skip: bool, pad: bool, caller: Caller) -> tuple[Sets, AlignedPairs]:
        """The pairs by axiom (or the file's name), and all of them with their texts as given; those to be patched
        must align, those about length must fit."""
        found: dict[str, list[MinimalPair]] = {}
        every = AlignedPairs(())
        for path, some in self.parts:
            if any(pair.axiom != LENGTH for pair in some):
                ready = aligned_pairs(ranker, path or some, "document", skip=skip, pad=pad)
            else:
                ready = fitting_pairs(ranker, some)
            for reason, count in ready.dropped.items():
                caller.say(f"dropped {count} pairs{f' of {path.name}' if path else ''} ({reason})")
            for pair in ready.scored:
                found.setdefault(pair.axiom or (path.stem if path else "own"), []).append(pair)
            every = every.together(ready)
        return found, every


def _read(path: Path) -> list[MinimalPair]:
    if not path.is_file():
        raise UserError("no such file", where=path, todo="make one: whyrank pairs --axiom TFC1 ...")
    return read_pairs(path)


def circuit(
    ranker: str | Ranker,
    pairs: GivenPairs | Sequence[Path | str],
    *,
    select: str = HALVES,
    threshold: str | None = None,
    decide: str | None = None,
    heads: str | Path | Mapping[str, object] | Circuit | None = None,
    search: bool = True,
    pairs_to_select: int = 400,
    pairs_to_logits: int = 500,
    pairs_to_heads: int = 100,
    search_steps: int = 6,
    freeze_mlp: bool = False,
    idf: str | None = None,
    collection: str | Collection | None = None,
    randoms: int = 10,
    skip: bool = False,
    pad: bool = False,
    max_length: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Circuit:
    """Which heads of a cross-encoder make its score, how they are connected, and what each is for.

    `pairs`: files or pairs; TFC1 and STMC1 to search with, TFC2 and LNC1 to test counting and length. `select`:
    `halves` (heads are chosen by their total effect on one half of the queries and confirmed on the other; every
    set must support them) or `gap` (senders are kept hop by hop, by their share of the whole gap). `threshold`:
    for halves `share` (of the gap, for a head), `edge` (of what the receivers carry) and `deviations` (of the
    usual head's effect); for gap `relative` (to the largest), a `quantile`, a `share`; `decide`, for gap only:
    `interval` (must exclude 0), `sure` (above the cut-off in 97.5% of draws) or `point`. `heads`: heads of your
    own ('matching=0.8,1.7;scoring=10.1'), a file or run that has them, or `paper`: they are measured beside those
    found, or alone (`search=False`). `pairs_to_select`, `pairs_to_logits` and `pairs_to_heads` count pairs of all
    sets and halves together; `search_steps`: steps down from the logits, at most. `idf`: `collection`, `wordfreq`
    or a file; by default it is counted in the pairs' documents. Pairs that do not align are refused, or dropped
    (`skip`), or padded (`pad`). With `out` the result is also written as a run folder, and work that was killed
    goes on."""
    check_counts(
        2, pairs_to_select=pairs_to_select, pairs_to_logits=pairs_to_logits, pairs_to_heads=pairs_to_heads
    )
    check_counts(1, search_steps=search_steps)
    check_counts(0, randoms=randoms)
    check_counts(SHORTEST_TEXT, max_length=max_length)
    check_seed(seed)
    if heads is None and not search:
        raise UserError("no search and no heads: nothing to measure", todo="give heads, or let it search")
    how = replace(
        _search_of(select, threshold, decide), pairs_to_select=pairs_to_select, pairs_to_logits=pairs_to_logits,
        pairs_to_heads=pairs_to_heads, most_steps=search_steps, freeze_mlp=freeze_mlp, seed=seed,
    )  # fmt: skip
    sizes = Sizes(
        readings=2 * pairs_to_heads, senders=pairs_to_heads, ablations=pairs_to_heads, randoms=randoms,
        by_token=-(-pairs_to_heads // 4), curves=CurveSizes.of(pairs_to_heads),
    )  # fmt: skip
    request = CircuitRequest(how, sizes, seed, search)
    opened = open_cross_encoder(ranker, max_length, device, caller)
    brought = None if heads is None else BroughtHeads.of(heads, opened)
    given, rarity = _Given.of(pairs), _asked_idf(opened, idf, collection, caller)
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()], "pairs": given.fingerprint(), "request": repr(request),
        "idf": [rarity.source, rarity.fingerprint()] if rarity else "the documents of the pairs", "skip": skip,
        "pad": pad, "heads": repr(brought),
    }  # fmt: skip
    with Run.open(out, Circuit.COMMAND, inputs, caller) as run:
        known = run.finished(Circuit)
        if known is not None:
            return known
        sets, aligned = given.sets(opened, skip, pad, caller)
        for sentence in aligned.counts().sentences(opened.name):
            run.say(f"{sentence}; both texts and their scores are in pairs.parquet")
        result = find_circuit(
            opened, sets, rarity or _counted_idf(opened, sets), request, run.stages(), run.progress, brought
        )
        result = replace(result, texts=aligned.counts(), pair_frame=pair_table(opened, aligned, "document"))
        sizes_of_sets = {name: len(some) for name, some in sets.items()}
        run.save(result, pairs=sizes_of_sets, texts=plain(result.changed_texts))
        return result


def _search_of(select: str, threshold: str | None, decide: str | None) -> Search:
    """How to search; what belongs to the other way of selecting is refused."""
    if select == GAP:
        return Search(Threshold.parse(threshold or GAP_THRESHOLD, decide or DECIDERS[0]), select=GAP)
    if decide is not None and select == HALVES:
        raise UserError(f"decide '{decide}' belongs to select 'gap'", todo="drop it: the other half decides")
    return Search(select=select, criterion=Criterion.parse(threshold) if threshold else Criterion())


def open_cross_encoder(ranker: str | Ranker, max_length: int | None, device: str, caller: Caller) -> CrossEncoder:
    """The cross-encoder, reading at most `max_length` tokens; what it is, is said."""
    opened = cross_encoder(neural_ranker(ranker, max_length, device))
    caller.say(f"{opened.name}: {opened.source}; {opened.encoder}")
    return opened


def find_circuit(
    ranker: CrossEncoder,
    pairs: Sets,
    idf: TokenIdf,
    request: CircuitRequest | None = None,
    stages: Stages | None = None,
    progress: OpenProgress = no_progress,
    brought: BroughtHeads | None = None,
) -> Circuit:
    """The circuit of pairs that align; those of TFC2 and LNC1 serve the tests of counting and of length, all
    others the search. Heads that were brought stand beside those found, or alone if there is no search."""
    request, stages = request or CircuitRequest(), stages or Stages()
    sets = {name: some for name, some in pairs.items() if some[0].axiom not in (COUNTING, LENGTH)}
    if not sets and brought and not request.searches:  # what needs no search can be measured on TFC2
        sets = {name: some for name, some in pairs.items() if some[0].axiom != LENGTH}
    if not sets:
        raise UserError("no pairs to search with", todo="give TFC1 and STMC1 pairs: whyrank pairs --axiom ...")
    split = split_queries(sets, seed=request.seed)
    work = Evidence(ranker, pairs, sets, idf, FORMULA, request.sizes, request.seed, stages, progress, split)
    search, shards = replace(request.search, seed=request.seed), stages.shards("search")
    found = None
    if request.searches:
        how = selective_search if search.select == HALVES else backward_search
        found = how(ranker, split.searched, search, shards=shards, progress=progress)
        if brought is None or found.heads:
            _check_found(found, search)
    if brought is None:
        assert found is not None
        return _measured(work, found, search)
    first = _first_step(found) if found else hops(ranker, split.searched, search, shards=shards, progress=progress)
    first = replace(first, brought=tuple(map(str, brought.heads)))
    beside = replace(work, stages=stages.within("brought"))
    given = _measured(beside, first, search, brought)
    return replace(_measured(work, found, search), brought=given) if found and found.heads else given


def _first_step(found: Found) -> Found:
    """The direct paths to the logits alone, which do not depend on what was found."""
    return Found(found.steps[:1], tuple(edge for edge in found.edges if edge.step == 0), NO_SEARCH)


def _measured(work: Evidence, found: Found, search: Search, brought: BroughtHeads | None = None) -> Circuit:
    """The circuit with its roles and all evidence."""
    roles, tests = work.roles(found, brought.by_role() if brought else None)
    count = sum(map(len, work.pairs.values()))
    decide = search.threshold.decide if found.queries >= FEWEST_QUERIES else "point"
    if search.select == HALVES:
        decide = CONFIRMATION if found.selection and found.selection.tested else NOTHING_DECIDES
    return Circuit(
        ranker=work.ranker.name,
        ended=found.ended,
        threshold=str(search.criterion if search.select == HALVES else search.threshold),
        decide=decide,
        idf=IdfSource(work.idf.source, FORMULA),
        heads=tuple(
            CircuitHead(str(head), tuple(name for name in TESTS if head in roles.get(name, ())))
            for head in found.heads
        ),
        roles={name: tuple(map(str, heads)) for name, heads in roles.items()},
        edges=found.edges,
        steps=found.steps,
        tests=tests,
        texts=TextCounts(count, count, 0, 0, 0),
        name=brought.name if brought else SEARCHED,
        selection=found.selection,
        **work.measured(found, roles),
    )


def _check_found(found: Found, search: Search) -> None:
    """Raises where there is no circuit."""
    if found.heads:
        return
    if found.selection is not None:
        what, todo = found.selection.nothing()
        raise UserError(what, todo=todo)
    if all(share is None for share in found.steps[0].shares.values()):
        raise UserError(
            "both sides of the pairs score the same: there is no gap that a circuit could carry",
            todo="give pairs whose sides differ",
        )
    raise UserError(f"no head passes the threshold {search.threshold}", todo="lower it, or give more pairs")


def _asked_idf(
    ranker: CrossEncoder, idf: str | None, collection: str | Collection | None, caller: Caller
) -> TokenIdf | None:
    """The IDF that was asked for, if any was."""
    if idf is None and collection is None:
        return None
    opened = None if collection is None else collection_of(collection, caller)
    return token_idf(ranker.pieces.tokenizer, idf or "collection", opened)


def _counted_idf(ranker: CrossEncoder, sets: Sets) -> TokenIdf:
    """Counted in the pairs' documents, each once and without what was put into it."""
    kept = {pair.docid or pair.id: " ".join(pair.slotted.segments) for some in sets.values() for pair in some}
    texts = [kept[name] for name in sorted(kept)]
    return TokenIdf.counted(ranker.pieces.tokenizer, texts, f"the {len(texts)} documents of the pairs")
