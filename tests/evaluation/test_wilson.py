"""Wilson's interval against scipy's."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from whyrank.evaluation.interval import TOO_FEW, Interval
from whyrank.evaluation.wilson import share_interval, wilson


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (0, 12), (12, 12), (3, 10), (50, 101)])
def test_equals_scipy(hits, of):
    theirs = binomtest(hits, of).proportion_ci(0.95, method="wilson")
    ours = wilson(hits, of)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_of_nothing_there_is_no_interval():
    nothing = wilson(0, 0)
    assert math.isnan(nothing.low) and math.isnan(nothing.high) and nothing.reason


def test_at_0_and_100_percent_the_interval_is_that_of_as_many_queries_as_hold_pairs():
    of_the_bootstrap = Interval.none("no spread")
    for queries in (6, 10, 40):
        sizes = np.full(queries, 10.0)
        theirs = binomtest(queries, queries).proportion_ci(0.95, method="wilson")
        for hits in (sizes, 0 * sizes):
            ours = share_interval(hits, sizes, of_the_bootstrap)
            low, high = (ours.low, ours.high) if hits.any() else (1 - ours.high, 1 - ours.low)
            assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    uneven = np.array([91.0, *[1.0] * 9])
    assert share_interval(uneven, uneven, of_the_bootstrap).low < 0.3, "nearly all pairs are of one query"


def test_a_share_of_five_queries_has_no_interval():
    sizes = np.full(5, 20.0)
    assert share_interval(sizes, sizes, Interval(1.0, 1.0)).reason == TOO_FEW


def test_a_share_of_many_queries_has_the_bootstraps_interval_unless_exceptions_are_few():
    sizes, bootstrap = np.full(30, 5.0), Interval(0.1, 0.2)
    many, few = (np.array([4.0] * exceptions + [5.0] * (30 - exceptions)) for exceptions in (6, 5))
    assert share_interval(many, sizes, bootstrap) == bootstrap
    alike = 150 * (norm.ppf(0.975) / student.ppf(0.975, 29)) ** 2  # exceptions are spread evenly: 150 pairs
    found, expected = share_interval(few, sizes, bootstrap), wilson(145 / 150 * alike, alike)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
