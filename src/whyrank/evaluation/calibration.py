"""Scores to probabilities by isotonic regression, cross-fitted over queries, and a cut-off for a wanted precision.

    p(s) = the non-decreasing function with the least sum of (relevant - p(score))^2   (Barlow et al. 1972)

What is said of a query's pairs comes from a fit on other queries (GroupKFold), and so does the cut-off that they
are held against: one that is chosen and measured on the same pairs looks better than it is. The cut-off is the
lowest score t for which the mean of p over all pairs at t or above reaches the wanted precision. Between the steps
of p this is smoother than the raw precision: no lucky pair far down decides it. At the steps both are equal.

The interval of the cut-off's precision is `of_final_cut_off`'s; its coverage is simulated in
tests/evaluation/test_calibration.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np

#: Folds of queries, at most.
FOLDS = 10
#: A mean this close below the wanted precision reaches it.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged pairs: score, grade and whether it is relevant [n] each, and the query of each by number [n]."""

    scores: np.ndarray
    grades: np.ndarray
    relevant: np.ndarray
    queries: np.ndarray

    @property
    def names(self) -> list[str]:
        """The queries, as estimates take them."""
        return [str(one) for one in self.queries.tolist()]

    def part(self, some: np.ndarray) -> Judged:
        return Judged(self.scores[some], self.grades[some], self.relevant[some], self.queries[some])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """For each pair what the fit on other queries says [n]: the probability that it is relevant and the expected
    grade; the share of relevant pairs and the mean grade without the score; and the cut-off (inf: none)."""

    probability: np.ndarray
    grade: np.ndarray
    base: np.ndarray
    base_grade: np.ndarray
    cut_off: np.ndarray

    @property
    def passes_none(self) -> bool:
        """Whether in some fold no cut-off reached the wanted precision."""
        return not all(map(math.isfinite, self.cut_off.tolist()))


def isotonic(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The knots of the regression of values on scores [2, knots]; between them it is linear, outside constant."""
    import numpy as np

    model = import_module("sklearn.isotonic").IsotonicRegression(out_of_bounds="clip").fit(scores, values)
    return np.array([model.X_thresholds_, model.y_thresholds_], dtype=float)


def cut_off(pairs: Judged, wanted: float) -> float:
    """The lowest score for which the pairs at or above it reach the wanted precision; inf where none does."""
    import numpy as np

    order = np.argsort(-pairs.scores, kind="stable")
    scores = pairs.scores[order]
    fitted = np.interp(scores, *isotonic(pairs.scores, pairs.relevant))
    precision = np.cumsum(fitted) / np.arange(1, len(scores) + 1)
    last_of_ties = np.append(scores[1:] != scores[:-1], True)
    reach = scores[last_of_ties & (precision >= wanted - ROUNDING)]
    return float(reach[-1]) if len(reach) else math.inf


def cross_fitted(pairs: Judged, wanted: float | None = None) -> HeldOut:
    """Each query's pairs by a fit on the queries of the other folds; there is no cut-off unless one is wanted."""
    import numpy as np

    folds = min(FOLDS, len(np.unique(pairs.queries)))
    splits = import_module("sklearn.model_selection").GroupKFold(folds)
    found = np.empty((5, len(pairs.scores)))
    for fitted, held in splits.split(pairs.scores, groups=pairs.queries):
        known, scores = pairs.part(fitted), pairs.scores[held]
        found[0, held] = np.interp(scores, *isotonic(known.scores, known.relevant))
        found[1, held] = np.interp(scores, *isotonic(known.scores, known.grades))
        lowest = math.inf if wanted is None else cut_off(known, wanted)
        found[2:, held] = np.array([[known.relevant.mean()], [known.grades.mean()], [lowest]])
    return HeldOut(*found)


def share_of(values: np.ndarray, among: np.ndarray, pairs: Judged, seed: int) -> Estimate:
    """The mean of 0s and 1s over some of the pairs, as a mask."""
    return Estimate.mean(values[among], pairs.part(among).names, seed, share=True)


def of_final_cut_off(held_out: Estimate, same_data: Estimate) -> Estimate:
    """Precision or recall of the final cut-off, from those of the cut-offs of other queries and those of itself on
    the pairs that it was chosen on.

    The former is a little too low (cut-offs of fewer queries vary, and the lowest let the most pairs pass), the
    latter a little too high. The value is the held-out one; the interval reaches from the lower of both low ends
    to the higher of both high ends. Simulated coverage of precision and recall, 12 to 100 queries: .91 to .98
    (tests/evaluation/test_calibration.py); of precision by the held-out interval alone down to .85.
    """
    if held_out.low is None or held_out.high is None or same_data.low is None or same_data.high is None:
        return held_out
    return replace(held_out, low=min(held_out.low, same_data.low), high=max(held_out.high, same_data.high))


def explained(
    values: np.ndarray, fitted: np.ndarray, base: np.ndarray, queries: np.ndarray, seed: int
) -> Estimate:
    """1 - sum (value - fitted)^2 / sum (value - base)^2: R2; of 0 and 1 it is Brier's skill."""
    import numpy as np

    clusters, numbers = np.unique(queries, return_inverse=True)
    errors, spread = (np.bincount(numbers, weights=(values - one) ** 2) for one in (fitted, base))
    found = resample(lambda w: 1 - (w @ errors[:, None]) / (w @ spread[:, None]), len(clusters), seed=seed)
    return Estimate.of(float(found.value[0]), found.interval(), len(values), len(clusters))


@dataclass(frozen=True)
class Bin:
    """Pairs of about the same probability (or score): their mean, and the share of them that is relevant."""

    mean: float
    share: Estimate


def binned(values: np.ndarray, pairs: Judged, bins: int, seed: int) -> tuple[Bin, ...]:
    """The pairs in bins of about as many each, by quantiles of `values`; equal values are in one bin."""
    import numpy as np

    edges = np.unique(np.quantile(values, np.arange(1, bins) / bins))
    place = np.searchsorted(edges, values, side="left")
    found = []
    for one in np.unique(place):
        part = pairs.part(place == one)
        share = Estimate.mean(part.relevant, part.names, seed, share=True)
        found.append(Bin(float(values[place == one].mean()), share))
    return tuple(found)


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """sum over bins of n_b / n |mean probability - share relevant| (ECE; Naeini et al. 2015)."""
    total = sum(one.share.pairs for one in bins)
    return sum(one.share.pairs * abs(one.mean - (one.share.value or 0.0)) for one in bins) / total


def error_by_chance(bins: tuple[Bin, ...]) -> float:
    """The calibration error that is expected of right probabilities, for pairs that are independent:
    E |N(0, v)| = sqrt(2 v / pi) with v = p (1 - p) / n_b in each bin."""
    total = sum(one.share.pairs for one in bins)
    spread = [math.sqrt(2 / math.pi * one.mean * (1 - one.mean) * one.share.pairs) for one in bins]
    return sum(spread) / total
