"""From samples to SemanticBM: the model, both protocols, what each of their choices does, and an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from whyrank.circuits.head import Head, all_heads
from whyrank.circuits.semantic_bm import results
from whyrank.circuits.semantic_bm.features import Columns
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.models import SEMANTIC_BM, Bench, draw_heads
from whyrank.circuits.semantic_bm.protocol import LEAST_SAMPLES, Protocol, default_protocol, paper_protocol
from whyrank.circuits.semantic_bm.ranker import Model, SemanticBM, how_to_load
from whyrank.circuits.semantic_bm.rivals import Counts, Rivals, lexical
from whyrank.circuits.semantic_bm.samples import Samples
from whyrank.collections.collection import Collection
from whyrank.rankers.cross_encoder import CrossEncoder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Choices:
    """The matching heads; `taken` are all heads of the circuit, which random heads are drawn outside of."""

    heads: tuple[Head, ...]
    taken: tuple[Head, ...] = ()
    sep: bool = False
    least: int = LEAST_SAMPLES
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fit:
    """The ranker that was fitted, the summary that semantic_bm.json holds, and a row for each sample."""

    ranker: SemanticBM
    summary: dict[str, Any]
    predictions: pd.DataFrame


def fit(ranker: CrossEncoder, collection: Collection, samples: Samples, u0: IdfDimension, choices: Choices) -> Fit:
    """Both protocols on the same samples. The model that ranks is fitted to the default one's training part."""
    import pandas as pd

    work = _Work(ranker, collection, samples, u0, choices)
    benches = [work.bench(default_protocol(choices.sep)), work.bench(paper_protocol(choices.least))]
    default, paper = (results.run(bench, collection.qrels, work.random_heads) for bench in benches)
    model, fitted = work.model(default, benches[0])
    summary = {
        **work.told(),
        "model": model,
        "protocols": [default.summary, paper.summary],
        "paper_models": _by_length(paper, choices.heads),
        "choices": [work.choice(*one) for one in product((False, True), ("query", "pair"), (False, True))],
        "example": _example(fitted, samples, default.groups[0].tested),
    }
    frames = [pd.DataFrame(one.frame(bench)) for one, bench in zip((default, paper), benches, strict=True)]
    return Fit(fitted, summary, pd.concat([frame for frame in frames if len(frame)], ignore_index=True))


@dataclass(frozen=True, eq=False)
class _Work:
    ranker: CrossEncoder
    collection: Collection
    samples: Samples
    u0: IdfDimension
    choices: Choices

    @cached_property
    def words(self) -> Rivals:
        return lexical(Counts.of(self.samples.pairs, self.collection.documents()))

    @cached_property
    def random_heads(self) -> list[list[Head]]:
        taken = {*self.choices.heads, *self.choices.taken}
        every = all_heads(self.ranker.encoder)
        return draw_heads(every, sorted(taken), len(self.choices.heads), self.choices.seed)

    def bench(self, protocol: Protocol) -> Bench:
        f = self.u0.rarity(self.samples.ids)
        columns = Columns(self.samples, f, self.ranker.encoder.heads, protocol.sep)
        return Bench(protocol, columns, list(self.choices.heads), self.words, self.choices.seed)

    def told(self) -> dict[str, Any]:
        samples, choices = self.samples, self.choices
        return {
            "ranker": how_to_load(self.ranker),
            "collection": self.collection.name,
            "queries": len(set(samples.qids.tolist())),
            "samples": len(samples),
            "cut": samples.cut,
            "seed": choices.seed,
            "sep": choices.sep,
            "heads": list(map(str, choices.heads)),
            "u0": self.u0.told,
        }

    def model(self, default: results.Outcome, bench: Bench) -> tuple[dict[str, Any], SemanticBM]:
        """The shared coefficients with their intervals, and the ranker that they make."""
        choices, line, (group,) = self.choices, default.models[SEMANTIC_BM].fits[0], default.groups
        x, y = bench.columns.shared(choices.heads)[group.trained], self.samples.scores[group.trained]
        ends = line.intervals(x, y, self.samples.qids[group.trained].tolist(), seed=choices.seed)
        model = Model(choices.heads, line.intercept, line.slopes, choices.sep)
        fitted = SemanticBM("semantic-bm", self.ranker, model, self.u0)
        return results.coefficients(line, choices.heads, intervals=ends), fitted

    def choice(self, by_position: bool, split: str, sep: bool) -> dict[str, Any]:
        """SemanticBM's Pearson under one combination of what the two protocols do differently."""
        bench = self.bench(Protocol("choice", by_position, split, sep, self.choices.least if by_position else 0))
        groups, pearson = bench.groups(), None
        if groups:
            part, rows = results.held_out(bench, groups, self.collection.qrels)
            predictions = bench.fit(bench.of_heads(bench.heads), groups).predictions[rows]
            pearson = part.pearson({SEMANTIC_BM: predictions}, SEMANTIC_BM)[SEMANTIC_BM]
        return {"by_position": by_position, "split": split, "sep": sep, "pearson": pearson}


def _by_length(paper: results.Outcome, heads: Sequence[Head]) -> list[dict[str, Any]]:
    """The regressions of the paper's protocol, a coefficient for each position."""
    fits = paper.models[SEMANTIC_BM].fits if paper.groups else []
    return [
        {"query_tokens": group.length, **results.coefficients(line, heads, group.length)}
        for group, line in zip(paper.groups, fits, strict=True)
    ]


def _example(fitted: SemanticBM, samples: Samples, test: np.ndarray) -> dict[str, Any]:
    """The best document of the test part's first query, explained."""
    mine = test[samples.qids[test] == samples.qids[test[0]]]
    best = int(mine[np.argmax(samples.scores[mine])])
    pair = samples.pairs[best]
    told = fitted.explain(pair.query, pair.text).to_json()
    return {"qid": pair.qid, "docno": pair.docno, "cross_encoder": float(samples.scores[best]), **told}
