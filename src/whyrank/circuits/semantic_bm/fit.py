"""From samples to SemanticBM: the model, both protocols, what each of their choices does, and an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
import pandas as pd

from whyrank.circuits.head import Head, all_heads
from whyrank.circuits.semantic_bm.bilinear import Bilinear
from whyrank.circuits.semantic_bm.features import Columns
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.models import Bench, draw_heads
from whyrank.circuits.semantic_bm.outcome import Outcome, held_out, on_part, regression, run_protocol
from whyrank.circuits.semantic_bm.pool import Pool
from whyrank.circuits.semantic_bm.protocol import (
    LEAST_SAMPLES,
    Protocol,
    by_length_protocol,
    default_protocol,
    paper_protocol,
)
from whyrank.circuits.semantic_bm.ranker import Model, SemanticBMRanker, base_ranker
from whyrank.circuits.semantic_bm.results import (
    SEMANTIC_BM,
    Choice,
    CollectionAgreement,
    Example,
    OfCollection,
    Regression,
    SemanticBM,
    SharedAlpha,
)
from whyrank.circuits.semantic_bm.rivals import Rivals, lexical
from whyrank.circuits.semantic_bm.samples import Samples
from whyrank.collections.collection import Collection
from whyrank.evaluation.estimate import Estimate
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True)
class Choices:
    """The matching heads; `taken` are all heads of the circuit, which random heads are drawn outside of; query
    lengths of more than `least` samples have regressions of their own. The rest is said in the result."""

    heads: tuple[Head, ...]
    taken: tuple[Head, ...] = ()
    sep: bool = False
    least: int = LEAST_SAMPLES
    seed: int = 0
    first_stage: str = ""
    depth: int = 0
    circuit: str | None = None


def fit(
    ranker: CrossEncoder, collection: Collection | Pool, samples: Samples, u0: IdfDimension, choices: Choices
) -> SemanticBM:
    """Both protocols on the same samples; of several collections a third one, and each by itself. The model that
    ranks is fitted to the default one's training part."""
    pool = Pool.of(collection) if isinstance(collection, Collection) else collection
    work = _Work(ranker, pool, samples, u0, choices)
    default, paper = work.run(default_protocol(choices.sep)), work.run(paper_protocol(choices.least))
    by_length = work.run(by_length_protocol(choices.least)) if pool.is_several else None
    every = [one for one in (default, paper, by_length) if one is not None]
    model, fitted = work.model(default)
    frames = [frame for one in every if len(frame := one.frame())]
    return SemanticBM(
        ranker=base_ranker(ranker),
        collection=pool.name,
        first_stage=choices.first_stage,
        depth=choices.depth,
        circuit=choices.circuit,
        queries=len(set(samples.qids.tolist())),
        samples=len(samples),
        cut=samples.cut,
        seed=choices.seed,
        sep=choices.sep,
        heads=tuple(map(str, choices.heads)),
        u0=u0.described(),
        model=model,
        protocols=(default.result, paper.result),
        paper_models=_by_length(paper, choices.heads),
        choices=tuple(work.choice(*one) for one in product((False, True), ("query", "pair"), (False, True))),
        example=_example(fitted, samples, default.groups[0].tested),
        shared_alpha=work.shared_alpha(default),
        by_collection=work.by_collection(every) if pool.is_several else (),
        by_length=by_length.result if by_length else None,
        predictions=pd.concat(frames, ignore_index=True),
    )


@dataclass(frozen=True, eq=False)
class _Work:
    ranker: CrossEncoder
    pool: Pool
    samples: Samples
    u0: IdfDimension
    choices: Choices

    @cached_property
    def words(self) -> Rivals:
        return lexical(self.pool.counts(self.samples.pairs))

    @cached_property
    def strata(self) -> np.ndarray | None:
        return self.pool.strata(self.samples.pairs)

    def run(self, protocol: Protocol) -> Outcome:
        return run_protocol(self.bench(protocol), self.pool.qrels, self.random_heads)

    @cached_property
    def random_heads(self) -> list[list[Head]]:
        taken = {*self.choices.heads, *self.choices.taken}
        every = all_heads(self.ranker.encoder)
        return draw_heads(every, sorted(taken), len(self.choices.heads), self.choices.seed)

    def bench(self, protocol: Protocol) -> Bench:
        f = self.u0.rarity(self.samples.ids)
        columns = Columns(self.samples, f, self.ranker.encoder.heads, protocol.sep)
        return Bench(protocol, columns, list(self.choices.heads), self.words, self.choices.seed, self.strata)

    def model(self, default: Outcome) -> tuple[Regression, SemanticBMRanker]:
        """The shared coefficients with their intervals, and the ranker that they make."""
        choices, line, (group,) = self.choices, default.models[SEMANTIC_BM].fits[0], default.groups
        x, y = default.bench.columns.shared(choices.heads)[group.trained], self.samples.scores[group.trained]
        qids = self.samples.qids[group.trained].tolist()
        ends = line.intervals(x, y, qids, seed=choices.seed)
        weights = [
            Estimate.of(float(weight), end, len(qids), len(set(qids)))
            for weight, end in zip(line.weights, ends, strict=True)
        ]
        model = Model(choices.heads, line.intercept, line.slopes, choices.sep)
        fitted = SemanticBMRanker("semantic-bm", self.ranker, model, self.u0)
        return regression(line, choices.heads, estimates=weights), fitted

    def by_collection(self, outcomes: Sequence[Outcome]) -> tuple[OfCollection, ...]:
        """Each collection's part of the test samples, by the models of all."""
        found = []
        for number, part in enumerate(self.pool.parts):
            rows = np.asarray(self.strata == number)
            protocols = tuple(
                CollectionAgreement(one.result.name, *on_part(one, self.pool.qrels, rows)) for one in outcomes
            )
            queries = len(set(self.samples.qids[rows].tolist()))
            found.append(OfCollection(part.label, part.first_stage, queries, int(rows.sum()), protocols))
        return tuple(found)

    def shared_alpha(self, default: Outcome) -> SharedAlpha:
        """Eq. 2 on the default protocol's training part."""
        heads, (group,) = self.choices.heads, default.groups
        found = Bilinear.fit(
            default.bench.columns.shared(heads)[group.trained], self.samples.scores[group.trained]
        )
        alphas = {str(head): float(alpha) for head, alpha in zip(heads, found.alphas, strict=True)}
        return SharedAlpha(
            found.intercept, found.u0, found.match, found.interaction, alphas, found.losses[-1], found.free
        )

    def choice(self, by_position: bool, split: str, sep: bool) -> Choice:
        """SemanticBM's Pearson under one combination of what the two protocols do differently."""
        bench = self.bench(Protocol("choice", by_position, split, sep, self.choices.least if by_position else 0))
        groups, pearson = bench.groups(), None
        if groups:
            part, rows = held_out(bench, groups, self.pool.qrels)
            predictions = bench.fit(bench.of_heads(bench.heads), groups).predictions[rows]
            pearson, _ = part.pearson({SEMANTIC_BM: predictions}, SEMANTIC_BM)[SEMANTIC_BM]
        return Choice(by_position, split, sep, pearson)


def _by_length(paper: Outcome, heads: Sequence[Head]) -> tuple[Regression, ...]:
    """The regressions of the paper's protocol, a coefficient for each position."""
    fits = paper.models[SEMANTIC_BM].fits if paper.groups else []
    return tuple(regression(line, heads, group.length) for group, line in zip(paper.groups, fits, strict=True))


def _example(fitted: SemanticBMRanker, samples: Samples, test: np.ndarray) -> Example:
    """The best document of the test part's first query, explained."""
    mine = test[samples.qids[test] == samples.qids[test[0]]]
    best = int(mine[np.argmax(samples.scores[mine])])
    pair = samples.pairs[best]
    return Example(pair.qid, pair.docno, float(samples.scores[best]), fitted.explain(pair.query, pair.text))
