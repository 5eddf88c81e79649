"""Isotonic calibration and cut-offs: against the min-max formula, scikit-learn, hands, and data of known truth."""

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, r2_score
from sklearn.model_selection import GroupKFold

from whyrank.evaluation.calibration import (
    Bin,
    Judged,
    binned,
    calibration_error,
    cross_fitted,
    cut_off,
    error_by_chance,
    explained,
    isotonic,
    of_final_cut_off,
    share_of,
)
from whyrank.evaluation.estimate import Estimate


def judged(scores, relevant, queries=None, grades=None):
    names = queries if queries is not None else range(len(scores))
    columns = [np.array(one, dtype=float) for one in (scores, relevant if grades is None else grades, relevant)]
    return Judged(*columns, np.array(list(names)))


def simulated(generator, queries, shift=0.7, slope=1.5, base=0.0, sizes=(10, 40)):
    """Pairs whose chance of being relevant is the logistic function of slope score + base + the query's own; with
    the chance without the query's own."""
    query = np.repeat(np.arange(queries), generator.integers(*sizes, size=queries))
    scores = generator.normal(size=len(query))
    own = shift * generator.normal(size=queries)[query]
    relevant = generator.random(len(query)) < 1 / (1 + np.exp(-(slope * scores + base + own)))
    return judged(scores, relevant, query), 1 / (1 + np.exp(-(slope * scores + base)))


def test_the_fit_is_the_min_max_formula():
    """p_i = max over a <= i of min over b >= i of the mean of values a to b (Barlow et al. 1972)."""
    pairs, _ = simulated(np.random.default_rng(0), 2)
    order = np.argsort(pairs.scores)
    scores, values = pairs.scores[order], pairs.relevant[order]
    count = range(len(values))
    formula = [max(min(values[a : b + 1].mean() for b in count[i:]) for a in count[: i + 1]) for i in count]
    assert np.interp(scores, *isotonic(scores, values)) == pytest.approx(formula)


def test_each_query_is_fitted_by_the_other_folds():
    pairs, _ = simulated(np.random.default_rng(1), 23)
    held = cross_fitted(pairs, 0.7)
    for fitted, out in GroupKFold(10).split(pairs.scores, groups=pairs.queries):
        model = IsotonicRegression(out_of_bounds="clip").fit(pairs.scores[fitted], pairs.relevant[fitted])
        assert held.probability[out] == pytest.approx(model.predict(pairs.scores[out]), abs=1e-6)
        assert held.base[out] == pytest.approx(pairs.relevant[fitted].mean())
        assert set(held.cut_off[out]) == {cut_off(pairs.part(fitted), 0.7)}


def test_a_querys_own_judgements_do_not_change_what_is_said_of_it():
    pairs, _ = simulated(np.random.default_rng(2), 8)
    own = pairs.queries == 3
    turned = np.where(own, 1 - pairs.relevant, pairs.relevant)
    other = Judged(pairs.scores, turned, turned, pairs.queries)
    for name in ("probability", "grade", "base", "cut_off"):
        first, second = (getattr(cross_fitted(one, 0.7), name) for one in (pairs, other))
        assert np.array_equal(first[own], second[own]) and not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("wanted", "score"),
    [(0.99, 6.0), (0.9, 6.0), (0.8, 3.0), (0.75, 3.0), (0.65, 2.0), (0.5, 1.0), (0.4, 1.0)],
)
def test_the_cut_off_by_hand(wanted, score):
    """p is 1 (scores 6 and 7), 2/3 (3 to 5), 0 (1 and 2); its mean 1, 1, .89, .83, .8, .67, .57 from the top."""
    pairs = judged([7, 6, 5, 4, 3, 2, 1], [1, 1, 0, 1, 1, 0, 0])
    assert np.interp([7, 5, 4, 3, 2], *isotonic(pairs.scores, pairs.relevant)) == pytest.approx(
        [1, 2 / 3, 2 / 3, 2 / 3, 0]
    )
    assert cut_off(pairs, wanted) == score
    step = cut_off(pairs, 0.8)
    assert pairs.relevant[pairs.scores >= step].mean() == 0.8, "at a step it is the raw precision"


def test_equal_scores_pass_together_or_not_at_all():
    pairs = judged([3, 2, 2, 2, 1], [1, 1, 0, 0, 0])
    assert cut_off(pairs, 0.8) == 3 and cut_off(pairs, 0.5) == 2


def test_a_precision_that_no_score_reaches():
    assert math.isinf(cut_off(judged([2, 2, 1, 1], [1, 0, 1, 0]), 0.9))


def test_what_is_explained_is_skill_and_r2():
    pairs, _ = simulated(np.random.default_rng(3), 12)
    held = cross_fitted(pairs)
    found = explained(pairs.relevant, held.probability, held.base, pairs.queries, 0)
    brier = [brier_score_loss(pairs.relevant, one) for one in (held.probability, held.base)]
    assert found.value == pytest.approx(1 - brier[0] / brier[1]) and found.is_above_zero
    mean = np.full(len(pairs.scores), pairs.relevant.mean())
    found = explained(pairs.relevant, held.probability, mean, pairs.queries, 0)
    assert found.value == pytest.approx(r2_score(pairs.relevant, held.probability))


def test_the_calibration_error_by_hand():
    share = [Estimate(value, None, None, pairs, 3) for value, pairs in ((0.5, 10), (0.2, 30))]
    bins = (Bin(0.4, share[0]), Bin(0.3, share[1]))
    assert calibration_error(bins) == pytest.approx((10 * 0.1 + 30 * 0.1) / 40)
    drawn = np.random.default_rng(0).binomial([10, 30], [0.4, 0.3], size=(20000, 2)) / [10, 30]
    by_chance = np.abs(drawn - [0.4, 0.3]) @ [10, 30] / 40
    assert error_by_chance(bins) == pytest.approx(by_chance.mean(), rel=0.03)


def test_equal_values_are_in_one_bin_and_every_pair_in_some():
    pairs = judged(range(40), [0, 1] * 20)
    bins = binned(np.repeat([0.0, 0.1, 0.7], [25, 10, 5]), pairs, 10, 0)
    assert [one.share.pairs for one in bins] == [25, 10, 5]
    assert [one.mean for one in bins] == pytest.approx([0.0, 0.1, 0.7])


def test_an_interval_of_the_final_cut_off_holds_both():
    first, second = Estimate(0.8, 0.7, 0.9, 30, 9), Estimate(0.9, 0.75, 0.95, 31, 9)
    assert of_final_cut_off(first, second) == Estimate(0.8, 0.7, 0.95, 30, 9)
    few = Estimate(0.8, None, None, 30, 4, "too few queries")
    assert of_final_cut_off(few, second) == few


def test_probabilities_are_as_near_the_truth_as_theory_has_it():
    """n^(1/3) (p - truth) is like (4 truth' v / density)^(1/3) Z, v = truth (1 - truth), with Chernoff's Z, of
    which E |Z| = 0.413 (Brunk 1970; Groeneboom and Wellner 2001); truth' = 1.5 v, on nine tenths of the pairs."""
    pairs, truth = simulated(np.random.default_rng(4), 400, shift=0.0)
    held, variance = cross_fitted(pairs), truth * (1 - truth)
    density = 0.9 * len(truth) * norm.pdf(pairs.scores)
    expected = (0.413 * np.cbrt(4 * 1.5 * variance**2 / density)).mean()
    assert np.abs(held.probability - truth).mean() == pytest.approx(expected, rel=0.25)
    bins = binned(held.probability, pairs, 10, 0)
    assert calibration_error(bins) < 2 * error_by_chance(bins)


@pytest.mark.parametrize(
    ("queries", "wanted", "base", "times"),
    [
        (12, 0.7, 0.0, 120),
        (26, 0.8, -1.5, 120),
        *(pytest.param(*one, 300, marks=pytest.mark.slow)
          for one in [(20, 0.8, 0.0), (26, 0.8, -1.5), (26, 0.9, 0.0), (40, 0.9, 0.0), (100, 0.9, -1.0)]),
    ],
)  # fmt: skip
def test_intervals_hold_precision_and_recall_of_the_cut_off_on_new_queries(queries, wanted, base, times):
    """True precision and recall of a score, from 20,000 queries of the same kind."""
    generator = np.random.default_rng(queries)
    many, _ = simulated(generator, 20000, base=base)
    order = np.argsort(-many.scores)
    hits, descending = np.cumsum(many.relevant[order]), -many.scores[order]
    held_truth = []
    for _ in range(times):
        pairs, _ = simulated(generator, queries, base=base)
        held, final = cross_fitted(pairs, wanted).cut_off, cut_off(pairs, wanted)
        passing, relevant = [pairs.scores >= one for one in (held, final)], pairs.relevant > 0
        precision = of_final_cut_off(*(share_of(pairs.relevant, one, pairs, 0) for one in passing))
        recall = of_final_cut_off(*(share_of(one.astype(float), relevant, pairs, 0) for one in passing))
        place = np.searchsorted(descending, -final, side="right")
        if precision.low is not None and place:
            true = hits[place - 1] / place, hits[place - 1] / hits[-1]
            held_truth.append([e.low <= one <= e.high for e, one in zip((precision, recall), true, strict=True)])
    assert len(held_truth) > 0.9 * times and min(np.mean(held_truth, axis=0)) >= 0.90
