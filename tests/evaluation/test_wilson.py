"""Wilson's interval against scipy's."""

import math

import pytest
from scipy.stats import binomtest

from whyrank.evaluation.wilson import wilson


@pytest.mark.parametrize(("hits", "of"), [(0, 1), (1, 1), (0, 12), (12, 12), (3, 10), (50, 101)])
def test_equals_scipy(hits, of):
    theirs = binomtest(hits, of).proportion_ci(0.95, method="wilson")
    assert wilson(hits, of) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_of_nothing_there_is_no_interval():
    assert all(math.isnan(end) for end in wilson(0, 0))
