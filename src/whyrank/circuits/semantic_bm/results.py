"""What one protocol gives, as plain JSON: every model with its agreement, and the random heads' spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.agreement import HeldOut, correlation, spread
from whyrank.circuits.semantic_bm.features import features
from whyrank.circuits.semantic_bm.models import SEMANTIC_BM, Bench, Fitted
from whyrank.circuits.semantic_bm.protocol import Group
from whyrank.circuits.semantic_bm.regression import Linear
from whyrank.collections.records import Qrels
from whyrank.evaluation.interval import NOT_DEFINED, Interval
from whyrank.interventions.statistics import finite


@dataclass(frozen=True, eq=False)
class Outcome:
    """A protocol's groups, all its models fitted (random heads apart), and the summary of all."""

    groups: list[Group]
    models: dict[str, Fitted]
    random_heads: list[tuple[list[Head], Fitted]]
    summary: dict[str, Any]

    def frame(self, bench: Bench) -> dict[str, Any]:
        """Columns of predictions.parquet: the samples that are in a group."""
        samples, split = bench.columns.samples, np.full(len(bench.columns.samples), "", dtype=object)
        for group in self.groups:
            split[group.rows] = np.where(group.test, "test", "train")
        used = np.flatnonzero(split != "")
        drawn = {f"random_heads_{i}": fitted for i, (_, fitted) in enumerate(self.random_heads)}
        return {
            "protocol": [bench.protocol.name] * len(used),
            "qid": samples.qids[used].tolist(),
            "docno": [samples.pairs[i].docno for i in used],
            "query_tokens": samples.lengths[used],
            "split": split[used].tolist(),
            "cross_encoder": samples.scores[used],
            **{name: fitted.predictions[used] for name, fitted in {**self.models, **drawn}.items()},
        }


def run(bench: Bench, qrels: Qrels, random_heads: Sequence[list[Head]]) -> Outcome:
    """Fits and measures everything under one protocol; with no group large enough there is nothing to tell."""
    samples, protocol = bench.columns.samples, bench.protocol
    groups = bench.groups()
    models = {name: bench.fit(maker, groups) for name, maker in bench.makers().items()} if groups else {}
    drawn = [(heads, bench.fit(bench.of_heads(heads), groups)) for heads in random_heads] if groups else []
    summary = {
        **vars(protocol),
        "samples": int(sum(len(group.rows) for group in groups)),
        "left_out": len(samples) - int(sum(len(group.rows) for group in groups)),
        "groups": [_group_json(group, samples.qids) for group in groups],
        **_measured(held_out(bench, groups, qrels), groups, samples.scores, models, drawn),
    }
    return Outcome(groups, models, drawn, summary)


def held_out(bench: Bench, groups: Sequence[Group], qrels: Qrels) -> tuple[HeldOut, np.ndarray]:
    """The test pairs of all groups together, and which samples they are."""
    samples = bench.columns.samples
    rows = np.concatenate([group.tested for group in groups]) if groups else np.arange(0)
    docnos = np.array([samples.pairs[i].docno for i in rows])
    return HeldOut(samples.qids[rows], docnos, samples.scores[rows], qrels, bench.seed), rows


def _measured(
    test: tuple[HeldOut, np.ndarray],
    groups: Sequence[Group],
    scores: np.ndarray,
    models: Mapping[str, Fitted],
    drawn: Sequence[tuple[list[Head], Fitted]],
) -> dict[str, Any]:
    part, rows = test
    if not groups:
        return {"models": [], "random_heads": None, "cross_encoder": None}
    pearson = part.pearson({name: fitted.predictions[rows] for name, fitted in models.items()}, SEMANTIC_BM)
    ceiling = part.ndcg(part.scores)
    told = [
        {
            "name": name,
            "columns": [len(line.weights) for line in fitted.fits],
            "rank": [line.rank for line in fitted.fits],
            "chosen": fitted.told,
            "pearson": pearson[name],
            "by_group": _by_group(groups, scores, fitted),
            **_ranking(part, fitted.predictions[rows], ceiling),
        }
        for name, fitted in models.items()
    ]
    return {
        "models": told,
        "random_heads": _random_json(part, rows, drawn, ceiling, pearson[SEMANTIC_BM]["r"]) if drawn else None,
        "cross_encoder": {"ndcg": ceiling},
    }


def _ranking(part: HeldOut, predictions: np.ndarray, ceiling: dict[str, Any] | None) -> dict[str, Any]:
    """Spearman, nDCG@10, and that as a share of the cross-encoder's own."""
    ndcg = part.ndcg(predictions)
    share = ndcg["mean"] / ceiling["mean"] if ndcg and ceiling and ceiling["mean"] else None
    return {"spearman": part.spearman(predictions), "ndcg": ndcg, "ndcg_share": share}


def _by_group(groups: Sequence[Group], scores: np.ndarray, fitted: Fitted) -> dict[str, Any]:
    """Pearson in each group's test part, as the paper's table sums it up: over query lengths."""
    values = [correlation(fitted.predictions[group.tested], scores[group.tested]) for group in groups]
    known = [value for value in values if np.isfinite(value)]
    return {"mean": float(np.mean(known)) if known else None, **spread(known), "values": list(map(finite, values))}


def _random_json(
    part: HeldOut,
    rows: np.ndarray,
    drawn: Sequence[tuple[list[Head], Fitted]],
    ceiling: dict[str, Any] | None,
    own: float | None,
) -> dict[str, Any]:
    """Each draw of other heads, their spread, and how many of them do as well as SemanticBM's `own` Pearson."""
    found = []
    for heads, fitted in drawn:
        told, r = (
            _ranking(part, fitted.predictions[rows], ceiling),
            correlation(fitted.predictions[rows], part.scores),
        )
        ndcg = told["ndcg"]["mean"] if told["ndcg"] else None
        found.append(
            {
                "heads": list(map(str, heads)),
                "pearson": finite(r),
                "spearman": told["spearman"]["mean"],
                "ndcg": ndcg,
            }
        )
    as_good = sum(one["pearson"] is not None and own is not None and one["pearson"] >= own for one in found)
    spreads = {name: _spread_of(found, name) for name in ("pearson", "spearman", "ndcg")}
    return {"draws": found, "as_good": as_good, **spreads}


def _spread_of(found: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any] | None:
    values = [one[name] for one in found if one[name] is not None]
    if not values:
        return None
    return {"mean": float(np.mean(values)), **spread(values), "least": min(values), "most": max(values)}


def _group_json(group: Group, qids: np.ndarray) -> dict[str, Any]:
    train, test = group.trained, group.tested
    return {
        "query_tokens": group.length, "train": len(train), "test": len(test),
        "train_queries": len(set(qids[train])), "test_queries": len(set(qids[test])),
    }  # fmt: skip


def coefficients(
    line: Linear, heads: Sequence[Head], length: int | None = None, intervals: Sequence[Interval] | None = None
) -> dict[str, Any]:
    """A fit as JSON: every column with its name, how it was standardised, its weight and its slope."""
    ends = intervals or [Interval.none(NOT_DEFINED)] * len(line.weights)
    rows = zip(
        features(heads, length=length), line.means, line.deviations, line.weights, line.slopes, ends, strict=True
    )
    return {
        "intercept": line.intercept,
        "level": line.level,
        "rank": line.rank,
        "coefficients": [
            {
                "feature": str(one), "part": one.part, "head": str(one.head) if one.head else None,
                "position": one.position, "mean": float(mean), "deviation": float(deviation),
                "standardised": float(weight), **end.to_json(),
                "slope": float(slope),
            }
            for one, mean, deviation, weight, slope, end in rows
        ],
    }  # fmt: skip
