"""Pearson over clusters, against scipy and a bootstrap that copies rows."""

import math

import numpy as np
import pytest
from scipy import stats

from whyrank.evaluation.bootstrap import cluster_weights
from whyrank.evaluation.correlation import ClusteredMoments, independent_pearson
from whyrank.evaluation.interval import NO_SPREAD, TOO_FEW
from whyrank.evaluation.map_correlation import map_interval

#: Clusters of 3 to 12 observations; enough of them for the plain bootstrap.
SIZES = {f"q{i}": 3 + 7 * i % 10 for i in range(18)}


def observations(series=3, seed=0):
    """x and y of each cluster; the series go with x to a different degree, and clusters differ in level."""
    generator = np.random.default_rng(seed)
    found = {}
    for number, (name, size) in enumerate(SIZES.items()):
        x = generator.normal(size=size) + number / 4
        strength = np.array([1.0, -0.4, 0.0])[:series, None]
        found[name] = (x, strength * x + generator.normal(size=(series, size)) + 0.1 * number)
    return found


def moments_of(found, series=3):
    moments = ClusteredMoments(series)
    for name, (x, y) in found.items():
        moments.add(name, x, y)
    return moments


def ends(result):
    return result.interval.low, result.interval.high


def test_r_is_scipys():
    found = observations()
    x, y = (np.concatenate([pair[i] for pair in found.values()], axis=-1) for i in (0, 1))
    for i, result in enumerate(moments_of(found).correlations()):
        assert result.r == pytest.approx(stats.pearsonr(x, y[i]).statistic, abs=1e-12)
        assert result.n == sum(SIZES.values()) and result.clusters == len(SIZES)


def test_the_interval_is_that_of_a_bootstrap_that_copies_whole_clusters():
    found, draws, seed = observations(), 300, 5
    clusters = list(found.values())
    drawn = []
    for times in cluster_weights(len(clusters), draws, seed):
        chosen = [clusters[i] for i, count in enumerate(times) for _ in range(count)]
        x, y = (np.concatenate([pair[i] for pair in chosen], axis=-1) for i in (0, 1))
        drawn.append([np.corrcoef(x, one)[0, 1] for one in y])
    expected = np.quantile(np.array(drawn), [0.025, 0.975], axis=0)
    for i, result in enumerate(moments_of(found).correlations(draws=draws, seed=seed)):
        assert result.interval.low == pytest.approx(expected[0, i], abs=1e-9)
        assert result.interval.high == pytest.approx(expected[1, i], abs=1e-9)
        assert result.interval.low < result.r < result.interval.high
    assert np.allclose(moments_of(found).resampled(draws=draws, seed=seed).drawn, drawn)


def test_another_seed_gives_another_interval_and_the_same_r():
    moments = moments_of(observations())
    one, other = (moments.correlations(draws=200, seed=seed) for seed in (0, 1))
    assert [result.r for result in one] == [result.r for result in other]
    assert one[0].interval != other[0].interval


def test_a_cluster_may_come_in_pieces_and_nan_is_left_out():
    found = observations()
    pieces = ClusteredMoments(3)
    for name, (x, y) in found.items():
        pieces.add(name, x[:2], y[:, :2])
        gap = np.append(x[2:], math.nan)
        pieces.add(name, gap, np.column_stack([y[:, 2:], np.full(3, 1e9)]))
    for one, other in zip(pieces.correlations(draws=50), moments_of(found).correlations(draws=50), strict=True):
        assert one.r == pytest.approx(other.r, abs=1e-12) and one.n == other.n
        assert ends(one) == pytest.approx(ends(other), abs=1e-9)


def test_what_is_not_defined_is_nan():
    nothing = ClusteredMoments(2).correlations()
    assert len(nothing) == 2 and all(math.isnan(result.r) and result.n == 0 for result in nothing)
    x = np.arange(5.0)
    constant = moments_of({"a": (x, np.ones((1, 5))), "b": (x, np.ones((1, 5)))}, series=1).correlations()[0]
    assert math.isnan(constant.r) and math.isnan(constant.interval.low)
    (alone,) = moments_of({"a": (x, x[None] * 2)}, series=1).correlations()
    assert alone.r == pytest.approx(1) and math.isnan(alone.interval.low) and alone.clusters == 1
    assert alone.interval.reason == TOO_FEW


def test_fewer_than_six_clusters_have_r_and_no_interval():
    some = dict(list(observations().items())[:5])
    for result in moments_of(some).correlations():
        assert math.isfinite(result.r) and result.interval.reason == TOO_FEW
    exact = moments_of({name: (x, x[None] * 2) for name, (x, _) in observations().items()}, series=1)
    assert exact.correlations()[0].interval.reason == NO_SPREAD


def test_independent_observations_have_fishers_interval():
    generator = np.random.default_rng(3)
    x = generator.normal(size=40)
    y = 0.5 * x + generator.normal(size=40)
    result, expected = independent_pearson(x, y), stats.pearsonr(x, y)
    assert result.r == pytest.approx(expected.statistic, abs=1e-12) and result.n == result.clusters == 40
    fisher = expected.confidence_interval(0.95)
    assert ends(result) == pytest.approx((fisher.low, fisher.high), abs=1e-9)
    x[[0, 5]], y[7] = math.nan, math.nan
    both = np.isfinite(x) & np.isfinite(y)
    assert independent_pearson(x, y).r == pytest.approx(stats.pearsonr(x[both], y[both]).statistic, abs=1e-12)
    assert independent_pearson(x, y).n == 37


@pytest.mark.parametrize("x", [np.ones(10), np.full(10, math.nan), np.array([1.0, 2, *[math.nan] * 8])])
def test_independent_observations_that_say_nothing_are_nan(x):
    result = independent_pearson(x, np.arange(10.0))
    assert math.isnan(result.r) and math.isnan(result.interval.low)


def test_five_independent_observations_have_r_and_no_interval():
    result = independent_pearson(np.array([1.0, 2, 3, 4, 6]), np.arange(5.0))
    assert result.r > 0.9 and result.interval.reason == "too few words"


def test_a_constant_series_has_no_r_whatever_its_value():
    moments = ClusteredMoments(2)
    for cluster in "abc":
        moments.add(cluster, np.array([0.1, 0.2, 0.7]), np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 4.0]]))
    constant, other = moments.correlations(draws=50)
    assert math.isnan(constant.r) and math.isnan(constant.interval.low)
    assert other.r > 0.9


def test_an_interval_from_draws_covers_the_r_of_noisy_maps():
    """Two maps of means of noisy rows, which are redrawn, as queries are. The middle of the draws lies below r,
    but the interval holds r and covers the r of the maps without noise about as often as it says."""
    generator = np.random.default_rng(0)
    truth = generator.normal(size=40)
    other = truth + 0.7 * generator.normal(size=40)
    known, covered, below = np.corrcoef(truth, other)[0, 1], 0, 0
    for _ in range(100):
        rows = [values + 2 * generator.normal(size=(30, 40)) for values in (truth, other)]
        maps = [some.mean(0) for some in rows]
        r = np.corrcoef(*maps)[0, 1]
        picks = generator.integers(0, 30, size=(200, 30))
        drawn = [np.stack([some[pick].mean(0) for pick in picks]) for some in rows]
        found = map_interval(maps, drawn, 30)
        assert found.low < r < found.high
        covered += found.low <= known <= found.high
        below += np.median([np.corrcoef(a, b)[0, 1] for a, b in zip(*drawn, strict=True)]) < r
    assert below > 90
    assert covered >= 80
    assert map_interval(maps, drawn, 5).reason == TOO_FEW
    assert not map_interval(maps, [one[:1] for one in drawn], 30)
    assert not map_interval([np.ones(40), maps[1]], drawn, 30)
