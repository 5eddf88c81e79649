"""One rule for when there is an interval and a p-value, and one way to write them."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyrank.core.results import plain
from whyrank.evaluation.bootstrap import clustered_intervals, resample, resampled_ratio
from whyrank.evaluation.cliffs_delta import cliffs_delta, delta_interval
from whyrank.evaluation.correlation import ClusteredMoments, independent_pearson
from whyrank.evaluation.curves import fit_curves
from whyrank.evaluation.estimate import (
    Estimate,
    estimate_text,
    is_significant,
    p_over_queries,
    p_text,
    percent,
)
from whyrank.evaluation.interval import NO_SPREAD, NOT_DEFINED, TOO_FEW, Interval
from whyrank.evaluation.map_correlation import map_correlation
from whyrank.evaluation.significance import randomisation_test


def queries(count, each=1):
    return [f"q{i:03}" for i in range(count) for _ in range(each)]


def normal(count, seed=0):
    return np.random.default_rng(seed).normal(1, 1, size=count)


@pytest.mark.parametrize("count", [1, 2, 4, 5])
def test_below_six_queries_there_is_a_value_and_no_interval(count):
    found = Estimate.mean(normal(20 * count), queries(count, 20))
    assert math.isfinite(found.value) and (found.pairs, found.queries) == (20 * count, count)
    assert found.no_interval == TOO_FEW and found.low is None and found.high is None
    assert found.text() == f"{found.value:.3f} (too few queries)"
    encoded = json.loads(json.dumps(plain(found), allow_nan=False))
    assert encoded["low"] is None and encoded["high"] is None and encoded["no_interval"] == "too few queries"
    assert Estimate(**encoded) == found and Estimate(**encoded).text() == found.text()


def test_from_six_queries_on_there_is_one():
    found = Estimate.mean(normal(6), queries(6))
    assert found.no_interval is None and found.low < found.value < found.high
    assert plain(found)["no_interval"] is None
    t = stats.ttest_1samp(normal(6), 0).confidence_interval()
    assert found.low <= t.low and found.high >= t.high, "at least as wide as Student's"


def test_from_sixteen_queries_on_it_is_the_plain_bootstraps():
    values = normal(48)
    (found,) = clustered_intervals(values[:, None], queries(16, 3), seed=1)
    sums = values.reshape(16, 3).sum(axis=1)
    weights = np.random.default_rng(1).multinomial(16, np.full(16, 1 / 16), size=2000)
    low, high = np.quantile(weights @ sums / 48, [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)


def test_a_value_that_never_varies_has_no_interval():
    assert Estimate.mean([0.7] * 20, queries(20)).text(".1f") == "0.7 (no spread)"
    assert Estimate.mean([0.1 + 0.2] * 8 + [0.3] * 8, queries(16)).no_interval == NO_SPREAD, (
        "rounding is no spread"
    )
    assert plain(Estimate.mean([], [])) == {
        "value": None, "low": None, "high": None, "no_interval": NOT_DEFINED, "pairs": 0, "queries": 0,
    }  # fmt: skip


def test_a_sign_is_sure_where_the_interval_is_on_one_side_of_zero():
    above, below, around = Estimate(2, 1, 3, 9, 9), Estimate(-2, -3, -1, 9, 9), Estimate(0, -1, 1, 9, 9)
    at_zero, unknown = Estimate(1, 0.0, 2, 9, 9), Estimate(2, None, None, 9, 2, TOO_FEW)
    assert [one.is_sure for one in (above, below, around, at_zero, unknown)] == [True, True, False, False, False]
    assert above.is_above_zero and above.has_sign(1) and not above.is_below_zero and not above.has_sign(-1)
    assert below.is_below_zero and below.has_sign(-1) and not below.is_above_zero and not below.has_sign(1)
    for one in (around, at_zero, unknown):
        assert not one.has_sign(1) and not one.has_sign(-1)


def test_a_share_that_never_varies_has_an_interval_with_width():
    """An audit of ten pairs of ten queries is not 100% [100%, 100%]."""
    for value, count in ((1.0, 10), (0.0, 10), (1.0, 100)):
        found = Estimate.mean([value] * count, queries(count), share=True)
        assert found.no_interval is None and found.high - found.low > 0.03
    assert Estimate.mean([1.0] * 10, queries(10), share=True).text(".0%") == "100% [72%, 100%]"


def test_a_ratio_that_is_not_defined_has_no_interval():
    found = resampled_ratio(np.ones((8, 1)), np.zeros((8, 1)))
    assert found.interval().reason == NOT_DEFINED and estimate_text(float(found.value[0]), found.interval()) == "–"


def test_a_statistic_of_few_of_the_queries_goes_by_those():
    """20 queries, of which 5 and 8 have the statistic."""
    count = np.array([[1.0, float(i < 5), float(i < 8)] for i in range(20)])
    values = normal(60).reshape(20, 3) * count

    def means(weights):
        return (weights @ values) / (weights @ count)

    every, five, eight = resample(means, 20, present=(count > 0).sum(axis=0)).intervals()
    assert every and five.reason == TOO_FEW
    alone = stats.ttest_1samp(values[:8, 2], 0).confidence_interval()
    assert eight.low <= alone.low and eight.high >= alone.high


def test_a_function_of_statistics_is_drawn_with_them():
    sums = normal(40).reshape(20, 2)
    both = resampled_ratio(sums, np.ones((20, 1)), seed=3)
    less = both.map(lambda rows: rows[:, :1] - rows[:, 1:])
    (expected,) = clustered_intervals((sums[:, 0] - sums[:, 1])[:, None], [f"{i:02}" for i in range(20)], seed=3)
    assert (less.interval().low, less.interval().high) == pytest.approx((expected.low, expected.high))
    few = resampled_ratio(sums[:4], np.ones((4, 1))).map(lambda rows: rows[:, :1] / rows[:, 1:])
    assert few.interval().reason == TOO_FEW


@given(st.lists(st.tuples(st.integers(0, 12), st.floats(-5, 5)), min_size=1, max_size=60), st.booleans())
def test_an_interval_holds_its_own_estimate(pairs, share):
    values = [float(value > 0) if share else value for _, value in pairs]
    found = Estimate.mean(values, [str(query) for query, _ in pairs], share=share)
    if found.no_interval is None:
        assert found.low <= found.value <= found.high
    else:
        assert found.no_interval in (TOO_FEW, NO_SPREAD)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.booleans()), min_size=2, max_size=60))
def test_cliffs_delta_lies_in_its_interval(rows):
    sides = [[float(value) for _, value, side in rows if side == first] for first in (True, False)]
    if all(sides):
        found = delta_interval([r[1] for r in rows], [r[2] for r in rows], [str(r[0]) for r in rows])
        if found:
            assert (
                -1 <= found.low <= cliffs_delta(*sides) + 1e-9 and cliffs_delta(*sides) - 1e-9 <= found.high <= 1
            )


def test_cliffs_delta_of_pairs_of_one_document_has_no_interval():
    """Five violating pairs of one document against many others: nothing is known of other documents."""
    values = [9.0, 8.0, 7.5, 9.5, 8.5, *np.linspace(0, 8, 40).tolist()]
    found = delta_interval(values, [True] * 5 + [False] * 40, ["q0"] * 5 + queries(20, 2))
    assert found.reason == TOO_FEW


def test_cliffs_delta_of_groups_wholly_apart_is_not_sure_to_be_1():
    found = delta_interval([*range(20, 28), *range(8)], [True] * 8 + [False] * 8, queries(8) * 2)
    assert found.high == pytest.approx(1) and 0 < found.low < 0.5


def test_there_is_no_p_below_six_queries():
    assert math.isnan(p_over_queries([0.5] * 5)) and math.isnan(p_over_queries([0.5] * 5, randomisation_test))
    six = normal(6).tolist()
    assert p_over_queries(six) == pytest.approx(stats.ttest_1samp(six, 0).pvalue)
    assert p_text(p_over_queries([1.0] * 3), 3) == p_text(None, 3) == "too few queries"
    assert (p_text(None), p_text(None, 8), p_text(0.5), p_text(1e-9, 30)) == ("–", "–", "0.5000", "<0.0001")
    assert is_significant(0.049) and not any(map(is_significant, (None, math.nan, 0.05)))


def test_how_it_is_written():
    assert estimate_text(0.5, Interval(0.25, 0.75), "+.2f") == "+0.50 [0.25, 0.75]"
    assert estimate_text(0.5, Interval.none(TOO_FEW), ".0%") == "50% (too few queries)"
    assert estimate_text(None, Interval.none(TOO_FEW)) == estimate_text(math.nan, Interval(0, 1)) == "–"
    assert Estimate(-0.1, -0.2, 0.0, 9, 9).text("+.1f") == "-0.1 [-0.2, 0.0]"


def test_percentages_are_written_in_one_way():
    """Nothing that happened is 0%, and nothing that failed once is 100%."""
    shown = {0.0: "0%", 0.004: "<1%", 0.005: "<1%", 0.0051: "1%", 0.25: "25%", 0.5: "50%", 0.994: "99%",
             0.9951: ">99%", 1.0: "100%", 1.2: "120%", -0.09: "-9%", -0.001: ">-1%", None: "–", math.nan: "–",
             }  # fmt: skip
    assert {value: percent(value) for value in shown} == shown
    assert percent(0.0004, 1) == "<0.1%" and percent(0.0734, 1) == "7.3%" and percent(0.2, sign="+") == "+20%"
    assert percent(1 - 1e-13) == "100%", "rounding is no failure"
    found = Estimate.mean([1.0] * 59 + [0.0], queries(60), share=True)
    assert found.percent() == found.text(".0%") and found.percent().startswith("98% [9")
    assert Estimate(0.1, -0.002, 0.9999, 9, 9).text("+.0%") == "+10% [>-1%, >99%]"


@pytest.mark.parametrize("queries_", [1, 8, 20])
@pytest.mark.parametrize("share", [False, True])
def test_nan_among_the_values_is_not_defined(queries_, share):
    with warnings.catch_warnings(action="error"):
        found = Estimate.mean([math.nan, *[1.0] * (2 * queries_ - 1)], queries(queries_, 2), share=share)
    assert found.text() == "–" and plain(found)["value"] is None and not found.interval
    json.dumps(plain(found), allow_nan=False)


def test_nan_among_the_values_has_no_p_and_no_fit():
    values = [math.nan, *normal(7)]
    with warnings.catch_warnings(action="error"):
        assert math.isnan(p_over_queries(values)) and math.isnan(p_over_queries(values, randomisation_test))
        assert all(fit.r2 is None and fit.aicc is None for fit in fit_curves(range(1, 9), values))
        assert not delta_interval(values * 2, [True, False] * 8, queries(8, 2))


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_constants_have_neither_a_correlation_nor_a_warning(value):
    with warnings.catch_warnings(action="error"):
        constant, varied = np.full(20, value), normal(20)
        assert independent_pearson(constant, varied).interval.reason == NOT_DEFINED
        assert math.isnan(map_correlation(constant, varied))
        moments = ClusteredMoments(1)
        for i in range(8):
            moments.add(str(i), normal(3, i), np.full((1, 3), value))
        (found,) = moments.correlations()
        assert math.isnan(found.r) and found.interval.reason == NOT_DEFINED
        assert fit_curves(range(1, 7), [value] * 6)[0].r2 is None
