"""What one protocol finds: every model with its agreement, the random heads' spread, and all predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.agreement import HeldOut, correlation, deviation, median
from whyrank.circuits.semantic_bm.features import features
from whyrank.circuits.semantic_bm.models import Bench, Fitted
from whyrank.circuits.semantic_bm.protocol import Group
from whyrank.circuits.semantic_bm.regression import Linear
from whyrank.circuits.semantic_bm.results import (
    SEMANTIC_BM,
    Agreement,
    ByGroup,
    Coefficient,
    Draw,
    GroupSizes,
    OverQueries,
    ProtocolResult,
    RandomHeads,
    Regression,
    Spread,
)
from whyrank.collections.records import Qrels
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.evaluation.interval import NOT_DEFINED, Interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Outcome:
    """A protocol's groups, all its models fitted (random heads apart), and how well they agree."""

    bench: Bench
    groups: list[Group]
    models: dict[str, Fitted]
    random_heads: list[tuple[list[Head], Fitted]]
    result: ProtocolResult

    def frame(self) -> pd.DataFrame:
        """One row for each sample that is in a group."""
        import pandas as pd

        samples, split = self.bench.columns.samples, np.full(len(self.bench.columns.samples), "", dtype=object)
        for group in self.groups:
            split[group.rows] = np.where(group.test, "test", "train")
        used = np.flatnonzero(split != "")
        drawn = {f"random_heads_{i}": fitted for i, (_, fitted) in enumerate(self.random_heads)}
        columns = {
            "protocol": [self.bench.protocol.name] * len(used),
            "qid": samples.qids[used].tolist(),
            "docno": [samples.pairs[i].docno for i in used],
            "query_tokens": samples.lengths[used],
            "split": split[used].tolist(),
            "cross_encoder": samples.scores[used],
        }
        return pd.DataFrame(
            columns | {name: fitted.predictions[used] for name, fitted in {**self.models, **drawn}.items()}
        )


def run_protocol(bench: Bench, qrels: Qrels, random_heads: Sequence[list[Head]]) -> Outcome:
    """Fits and measures everything under one protocol; without a group that is large enough there is no model."""
    samples, groups = bench.columns.samples, bench.groups()
    models = {name: bench.fit(maker, groups) for name, maker in bench.makers().items()} if groups else {}
    drawn = [(heads, bench.fit(bench.of_heads(heads), groups)) for heads in random_heads] if groups else []
    used = sum(len(group.rows) for group in groups)
    result = ProtocolResult(
        **asdict(bench.protocol),
        samples=used,
        dropped=len(samples) - used,
        groups=tuple(_sizes(group, samples.qids) for group in groups),
    )
    if groups:
        measuring = _Measuring(bench, groups, *held_out(bench, groups, qrels))
        result = replace(result, **measuring.all(models, drawn))
    return Outcome(bench, groups, models, drawn, result)


def on_part(outcome: Outcome, qrels: Qrels, rows: np.ndarray) -> tuple[tuple[Agreement, ...], OverQueries | None]:
    """How the models of an outcome agree on some samples alone, `rows` [n] marks which; none where no group has
    any of them in its test part."""
    groups = [Group(one.length, one.rows[rows[one.rows]], one.test[rows[one.rows]]) for one in outcome.groups]
    groups = [one for one in groups if one.test.any()]
    if not groups:
        return (), None
    found = _Measuring(outcome.bench, groups, *held_out(outcome.bench, groups, qrels)).all(outcome.models, [])
    return found["models"], found["cross_encoder_ndcg"]


def held_out(bench: Bench, groups: Sequence[Group], qrels: Qrels) -> tuple[HeldOut, np.ndarray]:
    """The test pairs of all groups together, and which samples they are."""
    samples = bench.columns.samples
    rows = np.concatenate([group.tested for group in groups])
    docnos = np.array([samples.pairs[i].docno for i in rows])
    return HeldOut(samples.qids[rows], docnos, samples.scores[rows], qrels, bench.seed), rows


class _Measured(TypedDict):
    """Fields of a `ProtocolResult`."""

    models: tuple[Agreement, ...]
    random_heads: RandomHeads | None
    cross_encoder_ndcg: OverQueries | None


class _Measuring:
    """Measures models on the test part, `rows` of all samples."""

    def __init__(self, bench: Bench, groups: Sequence[Group], part: HeldOut, rows: np.ndarray) -> None:
        self.scores, self.groups, self.part, self.rows = bench.columns.samples.scores, groups, part, rows
        self.ceiling = part.ndcg(part.scores)

    def all(self, models: Mapping[str, Fitted], drawn: Sequence[tuple[list[Head], Fitted]]) -> _Measured:
        pearson = self.part.pearson(
            {n: fitted.predictions[self.rows] for n, fitted in models.items()}, SEMANTIC_BM
        )
        own = pearson[SEMANTIC_BM][0].value
        return _Measured(
            models=tuple(self._agreement(name, fitted, *pearson[name]) for name, fitted in models.items()),
            random_heads=self._random(drawn, own) if drawn else None,
            cross_encoder_ndcg=self.ceiling,
        )

    def _agreement(self, name: str, fitted: Fitted, pearson: Estimate, less: Estimate | None) -> Agreement:
        predictions = fitted.predictions[self.rows]
        ndcg = self.part.ndcg(predictions)
        return Agreement(
            name=name,
            columns=tuple(len(line.weights) for line in fitted.fits),
            rank=tuple(line.rank for line in fitted.fits),
            chosen=tuple(fitted.settings),
            pearson=pearson,
            less=less,
            by_group=self._by_group(fitted),
            spearman=self.part.spearman(predictions),
            ndcg=ndcg,
            ndcg_share=_share(ndcg, self.ceiling),
            within=self.part.within(predictions),
        )

    def _by_group(self, fitted: Fitted) -> ByGroup:
        values = [
            correlation(fitted.predictions[group.tested], self.scores[group.tested]) for group in self.groups
        ]
        known = [value for value in values if np.isfinite(value)]
        mean = float(np.mean(known)) if known else None
        return ByGroup(mean, median(known), deviation(known), tuple(map(finite, values)))

    def _random(self, drawn: Sequence[tuple[list[Head], Fitted]], own: float | None) -> RandomHeads:
        """Each draw of other heads, their spread, and how many do as well as SemanticBM's `own` Pearson."""
        draws = tuple(self._draw(heads, fitted.predictions[self.rows]) for heads, fitted in drawn)
        as_good = sum(one.pearson is not None and own is not None and one.pearson >= own for one in draws)
        spreads = [_spread([getattr(one, name) for one in draws]) for name in ("pearson", "spearman", "ndcg")]
        return RandomHeads(draws, as_good, *spreads)

    def _draw(self, heads: Sequence[Head], predictions: np.ndarray) -> Draw:
        ndcg = self.part.ndcg(predictions)
        r = finite(correlation(predictions, self.part.scores))
        rho = self.part.spearman(predictions).mean.value
        return Draw(tuple(map(str, heads)), r, rho, ndcg.mean.value if ndcg else None)


def _share(ndcg: OverQueries | None, ceiling: OverQueries | None) -> float | None:
    """Of the cross-encoder's own nDCG."""
    if ndcg is None or ceiling is None or ndcg.mean.value is None or not ceiling.mean.value:
        return None
    return ndcg.mean.value / ceiling.mean.value


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return Spread(float(np.mean(known)), median(known), deviation(known), min(known), max(known))


def _sizes(group: Group, qids: np.ndarray) -> GroupSizes:
    train, test = group.trained, group.tested
    return GroupSizes(group.length, len(train), len(test), len(set(qids[train])), len(set(qids[test])))


def regression(
    line: Linear, heads: Sequence[Head], length: int | None = None, estimates: Sequence[Estimate] | None = None
) -> Regression:
    """A fit, every column with its name; without `estimates` of the weights there are no intervals."""
    weights = estimates or [Estimate.of(float(one), Interval.none(NOT_DEFINED), 0, 0) for one in line.weights]
    rows = zip(features(heads, length=length), line.means, line.deviations, weights, line.slopes, strict=True)
    coefficients = tuple(
        Coefficient(
            str(one), one.part, str(one.head) if one.head else None, one.position, float(mean), float(deviation),
            weight, float(slope),
        )
        for one, mean, deviation, weight, slope in rows
    )  # fmt: skip
    return Regression(line.intercept, line.level, line.rank, coefficients, length)
