"""The regression of SemanticBM, against scikit-learn and fits made one by one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from whyrank.circuits.semantic_bm.regression import Linear
from whyrank.evaluation.bootstrap import cluster_weights


def data(n=80, p=6, seed=0):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, p)) * np.array([1e-3, 1, 10, 5, 0.1, 2])[:p] + np.arange(p)
    return x, x @ np.linspace(-3, 3, p) + generator.normal(size=n) + 7


def test_it_is_scikit_learns_linear_regression_on_standardised_columns():
    x, y = data()
    line = Linear.fit(x[:60], y[:60])
    oracle = make_pipeline(StandardScaler(), LinearRegression()).fit(x[:60], y[:60])
    assert np.allclose(line.weights, oracle[-1].coef_, atol=1e-9)
    assert line.level == pytest.approx(oracle[-1].intercept_) and line.rank == 6
    assert np.allclose(line.predict(x[60:]), oracle.predict(x[60:]), atol=1e-9)
    plain = LinearRegression().fit(x[:60], y[:60])
    assert np.allclose(line.slopes, plain.coef_) and line.intercept == pytest.approx(plain.intercept_)


def test_means_and_deviations_are_the_training_parts():
    x, y = data()
    line = Linear.fit(x[:60], y[:60])
    assert np.array_equal(line.means, x[:60].mean(axis=0)) and np.array_equal(line.deviations, x[:60].std(axis=0))


def test_columns_that_depend_on_each_other_leave_the_rank_short_and_the_predictions_as_they_are():
    x, y = data()
    wide = np.column_stack([x, x[:, 0] + x[:, 1], np.full(len(x), 0.1), np.zeros(len(x))])
    line, plain = Linear.fit(wide, y), Linear.fit(x, y)
    assert line.rank == plain.rank == 6
    assert np.allclose(line.predict(wide), plain.predict(x))
    assert np.allclose(line.weights[-2:], 0, atol=1e-9) and np.isfinite(line.slopes).all()
    oracle = make_pipeline(StandardScaler(), LinearRegression()).fit(wide, y)
    assert np.allclose(line.weights, oracle[-1].coef_, atol=1e-8), "the shortest solution"


def test_more_columns_than_samples_are_fitted_exactly():
    x, y = np.random.default_rng(1).normal(size=(5, 9)), np.arange(5.0)
    line = Linear.fit(x, y)
    assert line.rank == 4 and np.allclose(line.predict(x), y)


def test_intervals_of_coefficients_are_those_of_fits_on_copied_clusters():
    x, y = data()
    clusters = [f"q{i // 4:02}" for i in range(len(x))]
    line, drawn = Linear.fit(x, y), []
    z = (x - line.means) / line.deviations
    for times in cluster_weights(20, 40, seed=3):
        rows = [i for q, count in enumerate(times) for _ in range(count) for i in range(4 * q, 4 * q + 4)]
        drawn.append(LinearRegression().fit(z[rows], y[rows]).coef_)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    found = line.intervals(x, y, clusters, draws=40, seed=3)
    assert np.allclose([one.low for one in found], low, atol=1e-6)
    assert np.allclose([one.high for one in found], high, atol=1e-6)
    assert all(one.reason == "too few queries" for one in line.intervals(x, y, ["q"] * len(x)))
