"""The tests against scipy's, Holm's correction against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyrank.core.errors import UserError
from whyrank.evaluation import holm, paired_t_test, randomisation_test


def samples(pairs: int, seed: int) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    a = generator.random(pairs)
    return a.tolist(), (a + generator.normal(0.05, 0.1, pairs)).tolist()


@pytest.mark.parametrize("pairs", [2, 5, 50])
def test_the_t_test_is_scipys(pairs: int) -> None:
    a, b = samples(pairs, seed=pairs)
    expected = stats.ttest_rel(a, b)
    assert paired_t_test(a, b) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_the_t_test_of_no_or_constant_differences_and_of_one_pair() -> None:
    assert paired_t_test([0.5, 1.0], [0.5, 1.0]) == (0.0, 1.0)
    assert paired_t_test([1.0, 2.0], [0.0, 1.0]) == (math.inf, 0.5), "as the signs alone"
    assert (
        paired_t_test([0.3] * 6, [0.1] * 6).p
        == pytest.approx(2 / 64)
        == randomisation_test([0.2] * 6, [0.0] * 6).p
    )
    assert math.isnan(paired_t_test([1.0], [0.0]).p)


def difference(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(a - b, axis=axis)


@pytest.mark.parametrize("pairs", [2, 6, 12])
def test_the_randomisation_test_is_exact_for_few_queries_as_scipys(pairs: int) -> None:
    a, b = samples(pairs, seed=pairs)
    expected = stats.permutation_test(
        (a, b), difference, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert randomisation_test(a, b) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_the_drawn_randomisation_test_is_near_scipys_and_repeats_with_its_seed() -> None:
    a, b = samples(30, seed=1)
    b = [x + 0.6 * (y - x) for x, y in zip(a, b, strict=True)]
    expected = stats.permutation_test(
        (a, b), difference, permutation_type="samples", vectorized=True, n_resamples=20_000, rng=7
    )
    found = randomisation_test(a, b, seed=3)
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)
    assert found == randomisation_test(a, b, seed=3)


def test_a_drawn_p_value_is_never_0() -> None:
    assert randomisation_test([1.0] * 40, [0.0] * 40, n=99).p == pytest.approx(1 / 100)


def test_equal_sums_count_as_equal_despite_rounding() -> None:
    assert randomisation_test([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]).p == pytest.approx(2 / 8)
    assert randomisation_test([0.1, 0.2, -0.3], [0.0, 0.0, 0.0]).p == 1.0


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9))
def test_the_randomisation_test_is_symmetric_and_a_probability(pairs: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    p = randomisation_test(a, b).p
    assert 0 < p <= 1
    assert p == randomisation_test(b, a).p


def test_holm_by_hand() -> None:
    # sorted .005, .01, .03, .04 times 4, 3, 2, 1 = .02, .03, .06, .04, and monotone: the last becomes .06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


def test_holm_leaves_what_is_not_defined_out() -> None:
    first, second = holm([math.nan, 0.02])
    assert math.isnan(first)
    assert second == 0.02


@given(st.lists(st.floats(0, 1), max_size=9))
def test_holm_only_raises_p_values_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    assert [q for _, q in sorted(zip(p_values, adjusted, strict=True))] == sorted(adjusted)


@pytest.mark.parametrize("test", [paired_t_test, randomisation_test])
def test_values_that_are_not_pairs_are_refused(test: object) -> None:
    for a, b in (([1.0], [1.0, 2.0]), ([], [])):
        with pytest.raises(UserError, match="a paired test of"):
            test(a, b)  # type: ignore[operator]
    with pytest.raises(UserError, match="0 permutations"):
        randomisation_test([1.0], [1.0], n=0)
