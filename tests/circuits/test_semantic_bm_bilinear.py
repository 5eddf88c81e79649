"""Eq. 2 with shared alphas, against planted numbers and scipy's least squares."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from whyrank.circuits.semantic_bm.bilinear import Bilinear, fit_bilinear
from whyrank.circuits.semantic_bm.regression import Linear

ALPHAS, MATCH, INTERACTION, U0, LEVEL = np.array([1.5, -0.7, 0.2, 3.0]), 0.8, -0.6, 2.0, -4.0


def columns(n=300, k=4, seed=0):
    """Sums over a query's tokens of f, of MS and of their products."""
    generator = np.random.default_rng(seed)
    f = generator.normal(0.02, 0.05, size=(n, 3))
    matching = generator.gamma(2.0, 0.2, size=(n, 3, k)) * np.array([0.1, 1, 1, 3])
    return np.column_stack([f.sum(1), matching.sum(1), (f[:, :, None] * matching).sum(1)])


def slopes_of(a, alphas, match, interaction):
    return np.concatenate([[a], match * alphas, interaction * alphas])


PLANTED = slopes_of(U0, ALPHAS, MATCH, INTERACTION)


def test_planted_numbers_are_found_again():
    x = columns()
    found = Bilinear.fit(x, LEVEL + x @ PLANTED)
    assert (found.intercept, found.u0, found.match, found.interaction) == pytest.approx(
        (LEVEL, U0, MATCH, INTERACTION), abs=1e-5
    )
    assert found.alphas == pytest.approx(ALPHAS, abs=1e-5)
    assert found.losses[-1] == pytest.approx(0.0, abs=1e-9) and found.match >= 0


@pytest.mark.parametrize("seed", range(5))
def test_the_loss_never_rises_and_is_that_of_scipys_best(seed):
    x = columns(seed=seed)
    y = np.random.default_rng(seed + 100).normal(size=len(x)) + x @ PLANTED + 3 * x[:, 6]
    found = Bilinear.fit(x, y)
    assert all(b <= a + 1e-12 for a, b in zip(found.losses, found.losses[1:], strict=False))
    scale = x.std(axis=0)

    def left(p):
        alphas = p[2:6] / scale[1:5]
        return p[0] + x @ slopes_of(p[1] / scale[0], alphas, p[6], p[7] / 0.05) - y

    draws = np.random.default_rng(1).normal(size=(20, 8))
    best = min(2 * least_squares(left, start, method="lm", max_nfev=20000).cost / len(x) for start in draws)
    assert found.losses[-1] == pytest.approx(best, rel=1e-6)
    assert found.losses[-1] == pytest.approx(np.mean((found.intercept + x @ found.slopes - y) ** 2), rel=1e-9)
    assert found.free == pytest.approx(np.mean((Linear.fit(x, y).predict(x) - y) ** 2), rel=1e-9)
    assert found.free <= found.losses[-1]


def test_as_a_linear_model_it_predicts_the_same():
    x = columns()
    y = np.random.default_rng(7).normal(size=len(x)) + x @ PLANTED
    found, line = Bilinear.fit(x, y), fit_bilinear(x, y)
    assert line.predict(x) == pytest.approx(found.intercept + x @ found.slopes)
    assert line.slopes == pytest.approx(found.slopes) and line.rank == 6


def test_one_head_has_nothing_to_share():
    x = columns(k=1)
    y = np.random.default_rng(7).normal(size=len(x))
    found = Bilinear.fit(x, y)
    assert found.losses[-1] == pytest.approx(found.free, rel=1e-9)


def test_heads_that_read_nothing_and_fewer_rows_than_columns():
    x = columns()
    x[:, [1, 5]] = 0.0
    found = Bilinear.fit(x, x @ PLANTED)
    assert np.isfinite(found.slopes).all() and found.losses[-1] == pytest.approx(0.0, abs=1e-9)
    few = columns(5)
    assert np.isfinite(Bilinear.fit(few, np.arange(5.0)).slopes).all()
    assert Bilinear.fit(x, np.full(len(x), 2.0)).intercept == pytest.approx(2.0)
