"""What is measured of a circuit once its heads are known, stage by stage."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

from whyrank.axioms.axiom import plain_variant
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.attention_tests import AttentionTests, idf_against_matching, texts_of
from whyrank.circuits.counting import count_not_flag, length, saturation
from whyrank.circuits.curves.completeness import NamedCircuit
from whyrank.circuits.curves.held_out import Split
from whyrank.circuits.curves.measure import CurveSizes, CurvesWork
from whyrank.circuits.curves.results import FaithfulnessCurves
from whyrank.circuits.example import short_pair, worked_example
from whyrank.circuits.faithfulness import RANDOM_CIRCUITS, faithfulness
from whyrank.circuits.head import Head
from whyrank.circuits.results import (
    MATCHING,
    SCORING,
    AttentionSummary,
    Curve,
    Example,
    Faithfulness,
    Found,
    Length,
    MatchingToScoring,
    Saturation,
    parsed_roles,
)
from whyrank.circuits.roles import Roles, RolesOfHeads, attention_summary
from whyrank.circuits.search import sample
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.senders import block_senders, matching_to_scoring, senders_by_token
from whyrank.collections.idf import TokenIdf
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.statistics import SiteSummary
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
    senders (whole, and by token) and for ablations, random circuits."""

    readings: int = 200
    counting: int = 40
    length: int = 100
    senders: int = 100
    by_token: int = 24
    ablations: int = 100
    randoms: int = RANDOM_CIRCUITS
    curves: CurveSizes = field(default_factory=CurveSizes)


@dataclass(frozen=True)
class _RolesStage:
    """The roles as a stage keeps them."""

    assigned: dict[str, tuple[str, ...]]
    tests: AttentionSummary


class Measured(TypedDict, total=False):
    """Fields of a `Circuit`."""

    faithfulness: dict[str, Faithfulness]
    example: Example
    u0_against_matching: Estimate | None
    matching_to_scoring: MatchingToScoring | None
    senders: dict[str, tuple[SiteSummary, ...]]
    counted: str | None
    saturation: Saturation | None
    count_not_flag: dict[str, Curve]
    length: Length | None
    curves: dict[str, FaithfulnessCurves]
    senders_by_token: dict[str, tuple[SiteSummary, ...]]


@dataclass(frozen=True)
class Evidence:
    """Measures a circuit of the `sets` that it was searched with; `pairs` are these and those of TFC2 and LNC1."""

    ranker: CrossEncoder
    pairs: Mapping[str, Sequence[MinimalPair]]
    sets: Mapping[str, Sequence[MinimalPair]]
    idf: TokenIdf
    formula: str
    sizes: Sizes
    seed: int
    stages: Stages
    progress: OpenProgress
    split: Split | None = None

    def roles(self, found: Found, named: Roles | None = None) -> tuple[Roles, AttentionSummary]:
        """The circuit's heads of each role, as `named` or by the tests, and the tests of all heads."""
        kept = self.stages.typed("roles", _RolesStage, lambda: self._roles(found, named))
        return parsed_roles(kept.assigned), kept.tests

    def _roles(self, found: Found, named: Roles | None) -> _RolesStage:
        texts = texts_of(self.ranker, self._some(self.sizes.readings))
        with self.progress("attention of all heads", len(texts)) as advance:
            tests = AttentionTests.on(self.ranker, texts, self.idf.of(self.formula), advance)
        passed = RolesOfHeads(found, tests)
        roles = named or passed.in_circuit(found.heads)
        names = {name: tuple(map(str, heads)) for name, heads in roles.items()}
        return _RolesStage(names, attention_summary(roles, passed, found, tests, self.seed))

    def measured(self, found: Found, roles: Roles) -> Measured:
        """All other stages; those about matching heads only where there are some."""
        typed = self.stages.typed
        values = Measured(
            faithfulness=typed("faithfulness", dict[str, Faithfulness], lambda: self._faithfulness(found, roles)),
            example=typed("example", Example, lambda: worked_example(self.ranker, roles, self._short_pair())),
        )
        if roles[MATCHING]:
            values |= Measured(
                u0_against_matching=typed("u0", Estimate, lambda: self._u0_against(roles[MATCHING])),
                senders=typed(
                    "senders", dict[str, tuple[SiteSummary, ...]], lambda: self._senders(roles[MATCHING])
                ),
            )
            values |= self._counted(roles[MATCHING]) | self._length(roles[MATCHING])
        if roles[MATCHING] and roles[SCORING]:
            values["matching_to_scoring"] = typed("independence", MatchingToScoring, lambda: self._sent(roles))
        values["senders_by_token"] = typed(
            "senders-by-token", dict[str, tuple[SiteSummary, ...]], lambda: self._by_token(roles)
        )
        if self.split is not None:
            values["curves"] = self._curves(found, roles, self.split)
        return values

    def _curves(self, found: Found, roles: Roles, split: Split) -> dict[str, FaithfulnessCurves]:
        circuits = [NamedCircuit("the circuit", tuple(found.heads), roles)]
        return CurvesWork(
            self.ranker, split, found, circuits, self.sizes.curves, self.seed, self.stages, self.progress
        ).measured()

    def _faithfulness(self, found: Found, roles: Roles) -> dict[str, Faithfulness]:
        return {
            name: faithfulness(
                self.ranker, found.heads, some, matching=roles[MATCHING], randoms=self.sizes.randoms,
                seed=self.seed, shards=self.stages.shards(f"faithfulness-{name}"), progress=self.progress,
            )
            for name, some in sample(self.sets, self.sizes.ablations, self.seed).items()
        }  # fmt: skip

    def _u0_against(self, matching: Sequence[Head]) -> Estimate:
        texts = texts_of(self.ranker, self._some(self.sizes.readings))
        return idf_against_matching(self.ranker, matching, texts, self._u0(), self.progress)

    def _senders(self, matching: Sequence[Head]) -> dict[str, tuple[SiteSummary, ...]]:
        return block_senders(
            self.ranker, matching, self._some(self.sizes.senders), seed=self.seed,
            shards=self.stages.shards("senders"), progress=self.progress,
        )  # fmt: skip

    def _by_token(self, roles: Roles) -> dict[str, tuple[SiteSummary, ...]]:
        return senders_by_token(
            self.ranker, roles, self._some(self.sizes.by_token), seed=self.seed,
            shards=self.stages.shards("senders-by-token"), progress=self.progress,
        )  # fmt: skip

    def _sent(self, roles: Roles) -> MatchingToScoring:
        return matching_to_scoring(
            self.ranker, roles[MATCHING], roles[SCORING], self._some(self.sizes.senders), seed=self.seed,
            shards=self.stages.shards("independence"), progress=self.progress,
        )  # fmt: skip

    def _counted(self, matching: Sequence[Head]) -> Measured:
        """The tests that need TFC2 pairs, where there are any."""
        some = self._of_axiom(COUNTING, self.sizes.counting)
        variants = [name for name in COUNTED if any(plain_variant(pair.variant) == name for pair in some)]
        some = [pair for pair in some if variants and plain_variant(pair.variant) == variants[0] and pair.term]
        if not some:
            return Measured()
        shards = self.stages.shards("count")
        return Measured(
            counted=variants[0],
            saturation=self.stages.typed(
                "saturation", Saturation | None, lambda: saturation(self.ranker, matching, some, self.progress)
            ),
            count_not_flag=self.stages.typed(
                "count", dict[str, Curve],
                lambda: count_not_flag(self.ranker, matching, some, shards=shards, progress=self.progress),
            ),
        )  # fmt: skip

    def _length(self, matching: Sequence[Head]) -> Measured:
        """The test that needs LNC1 pairs, where there are any."""
        some = self._of_axiom(LENGTH, self.sizes.length)
        if not some:
            return Measured()
        make = lambda: length(self.ranker, matching, some, self.progress)  # noqa: E731
        return Measured(length=self.stages.typed("length", Length | None, make))

    def _short_pair(self) -> MinimalPair:
        return short_pair(next(iter(self.sets.values())))

    def _u0(self) -> np.ndarray:
        """U_0 of every token, anti-correlated with IDF."""
        return IdfDimension.of(self.ranker, self.idf).u0

    def _some(self, count: int) -> list[MinimalPair]:
        """So many pairs of all sets together."""
        return [pair for some in sample(self.sets, count, self.seed).values() for pair in some]

    def _of_axiom(self, axiom: str, documents: int) -> list[MinimalPair]:
        """All pairs (every k) of so many documents of an axiom."""
        found = [pair for some in self.pairs.values() for pair in some if pair.axiom == axiom]
        names = sorted({(pair.qid or "", pair.docid or pair.id) for pair in found})
        chosen = set(random.Random(f"{self.seed} {axiom}").sample(names, min(documents, len(names))))
        return [pair for pair in found if (pair.qid or "", pair.docid or pair.id) in chosen]
