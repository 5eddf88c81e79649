"""`circuit`: the whole way from pairs to a circuit, its roles, and what speaks for it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from whyrank.axioms.axiom import plain_variant
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.attention_tests import AttentionTests, texts_of
from whyrank.circuits.circuit import Circuit, heads_of
from whyrank.circuits.counting import count_not_flag, length, saturation
from whyrank.circuits.example import short_pair, worked_example
from whyrank.circuits.faithfulness import RANDOM_CIRCUITS, faithfulness
from whyrank.circuits.head import Head
from whyrank.circuits.independence import idf_against_matching, matching_to_scoring
from whyrank.circuits.roles import assign_roles, roles_json
from whyrank.circuits.search import Search, backward_search, sample
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.senders import block_senders
from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.rankers.cross_encoder import CrossEncoder

if TYPE_CHECKING:
    import numpy as np

#: Pairs of these axioms are for tests of attention, not for the search.
COUNTING, LENGTH = "TFC2", "LNC1"
#: Variants of TFC2 whose k counts occurrences against none; the first of them that there is, is used.
COUNTED = ("cumulative", "restore")


@dataclass(frozen=True)
class Sizes:
    """How many of each: texts read for the tests of attention, documents for TFC2 and LNC1, pairs for blocks as
    senders and for ablations, random circuits."""

    readings: int = 200
    counting: int = 40
    length: int = 100
    senders: int = 100
    ablations: int = 100
    randoms: int = RANDOM_CIRCUITS


@dataclass(frozen=True)
class CircuitRequest:
    """All that decides the result, beside the ranker, the pairs and the IDF."""

    search: Search = field(default_factory=Search)
    sizes: Sizes = field(default_factory=Sizes)
    formula: str = "bm25"
    seed: int = 0


def find_circuit(
    ranker: CrossEncoder,
    pairs: Mapping[str, Sequence[MinimalPair]],
    idf: TokenIdf,
    request: CircuitRequest | None = None,
    *,
    stages: Stages | None = None,
    watch: OpenProgress | None = None,
) -> dict[str, Any]:
    """What circuit.json holds. `pairs` by the name of their set; those of TFC2 and LNC1 serve the tests of
    counting and of length, all others the search."""
    request, stages, watch = request or CircuitRequest(), stages or Stages(), watch or no_progress
    sets = {name: some for name, some in pairs.items() if some[0].axiom not in (COUNTING, LENGTH)}
    if not sets:
        raise UserError("no pairs to search with", todo="give TFC1 and STMC1 pairs: whyrank pairs --axiom ...")
    circuit = backward_search(
        ranker, sets, replace(request.search, seed=request.seed), shards=stages.shards("search"), watch=watch
    )
    if not circuit.heads and all(share is None for share in circuit.steps[0].shares.values()):
        raise UserError(
            "both sides of the pairs score the same: there is no gap that a circuit could carry",
            todo="give pairs whose sides differ",
        )
    if not circuit.heads:
        raise UserError(
            f"no head passes the threshold {request.search.threshold}", todo="lower it, or give more pairs"
        )
    work = _Evidence(ranker, pairs, sets, idf, request, stages, watch)
    roles = stages.get("roles", lambda: work.roles(circuit))
    circuit = replace(circuit, roles={name: heads_of(heads) for name, heads in roles["assigned"].items()})
    return {
        **circuit.to_json(),
        "idf": {"source": idf.source, "formula": request.formula},
        "threshold": str(request.search.threshold),
        "decide": request.search.threshold.decide if circuit.queries >= FEWEST_QUERIES else "point",
        "tests": roles["tests"],
        **work.evidence(circuit),
    }


@dataclass(frozen=True)
class _Evidence:
    """What is measured of a circuit once its heads are known, stage by stage."""

    ranker: CrossEncoder
    pairs: Mapping[str, Sequence[MinimalPair]]
    sets: Mapping[str, Sequence[MinimalPair]]
    idf: TokenIdf
    request: CircuitRequest
    stages: Stages
    watch: OpenProgress

    def roles(self, circuit: Circuit) -> dict[str, Any]:
        texts = texts_of(self.ranker, self.some(self.sizes.readings))
        with self.watch("attention of all heads", len(texts)) as tell:
            tests = AttentionTests.on(self.ranker, texts, self.rarity, tell)
        found = assign_roles(circuit, tests, self.request.seed)
        assigned = {name: [str(head) for head in heads] for name, heads in found.items()}
        return {"assigned": assigned, "tests": roles_json(replace(circuit, roles=found), tests, self.request.seed)}

    def evidence(self, circuit: Circuit) -> dict[str, Any]:
        """All other stages; those about matching heads are left out where there are none."""
        get, sizes, seed, matching = self.stages.get, self.sizes, self.request.seed, circuit.role("matching")
        told: dict[str, Any] = {
            "faithfulness": get("faithfulness", lambda: self.faithfulness(circuit)),
            "example": get("example", lambda: worked_example(self.ranker, circuit, short_pair(self.first))),
        }
        if not matching:
            return told
        texts = texts_of(self.ranker, self.some(sizes.readings))
        told["u0_against_matching"] = get(
            "u0", lambda: idf_against_matching(self.ranker, matching, texts, self.u0, self.watch)
        )
        told["senders"] = get(
            "senders",
            lambda: block_senders(
                self.ranker, matching, self.some(sizes.senders), seed=seed, shards=self.stages.shards("senders"),
                watch=self.watch,
            ),
        )  # fmt: skip
        if circuit.role("scoring"):
            told["matching_to_scoring"] = get("independence", lambda: self.matching_to_scoring(circuit))
        return told | self.counted(matching)

    def faithfulness(self, circuit: Circuit) -> dict[str, Any]:
        return {
            name: faithfulness(
                self.ranker, circuit.heads, some, matching=circuit.role("matching"), randoms=self.sizes.randoms,
                seed=self.request.seed, shards=self.stages.shards(f"faithfulness-{name}"), watch=self.watch,
            )
            for name, some in sample(self.sets, self.sizes.ablations, self.request.seed).items()
        }  # fmt: skip

    def matching_to_scoring(self, circuit: Circuit) -> dict[str, Any]:
        return matching_to_scoring(
            self.ranker, circuit.role("matching"), circuit.role("scoring"), self.some(self.sizes.senders),
            seed=self.request.seed, shards=self.stages.shards("independence"), watch=self.watch,
        )  # fmt: skip

    def counted(self, matching: Sequence[Head]) -> dict[str, Any]:
        """The tests that need TFC2 and LNC1 pairs, where there are any."""
        told: dict[str, Any] = {}
        counting, lengths = self.of_axiom(COUNTING, self.sizes.counting), self.of_axiom(LENGTH, self.sizes.length)
        variants = [name for name in COUNTED if any(plain_variant(pair.variant) == name for pair in counting)]
        counting = [
            pair for pair in counting if variants and plain_variant(pair.variant) == variants[0] and pair.term
        ]
        if counting:
            told["counted"] = variants[0]
            read = self.stages.get("saturation", lambda: saturation(self.ranker, matching, counting, self.watch))
            if all(read.values()):
                told["saturation"] = read
            told["count_not_flag"] = self.stages.get(
                "count",
                lambda: count_not_flag(
                    self.ranker, matching, counting, shards=self.stages.shards("count"), watch=self.watch
                ),
            )
        if lengths:
            read = self.stages.get("length", lambda: length(self.ranker, matching, lengths, self.watch))
            if all(read.values()):  # none where no pair fits into the length that is read
                told["length"] = read
        return told

    @property
    def sizes(self) -> Sizes:
        return self.request.sizes

    @property
    def first(self) -> Sequence[MinimalPair]:
        return next(iter(self.sets.values()))

    @property
    def rarity(self) -> np.ndarray:
        return self.idf.of(self.request.formula)

    @property
    def u0(self) -> np.ndarray:
        """U_0 of every token, anti-correlated with IDF."""
        return IdfDimension.of(self.ranker, self.idf).u0

    def some(self, count: int) -> list[MinimalPair]:
        """So many pairs of all sets together."""
        drawn = sample(self.sets, count, self.request.seed)
        return [pair for some in drawn.values() for pair in some]

    def of_axiom(self, axiom: str, documents: int) -> list[MinimalPair]:
        """All pairs (every k) of so many documents of an axiom."""
        found = [pair for some in self.pairs.values() for pair in some if pair.axiom == axiom]
        names = sorted({(pair.qid or "", pair.docid or pair.id) for pair in found})
        names = random.Random(f"{self.request.seed} {axiom}").sample(names, min(documents, len(names)))
        return [pair for pair in found if (pair.qid or "", pair.docid or pair.id) in set(names)]
