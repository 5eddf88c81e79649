"""The interval of a mean over queries and directions: its coverage by simulation, and that of queries alone."""

import numpy as np
import pytest

from whyrank.evaluation.crossed import TOO_FEW_DRAWN, crossed_mean, widened
from whyrank.evaluation.estimate import Estimate

TRIALS = 300


def drawn(rng, queries, directions, by_query, by_direction, both):
    """Two pairs per query; the true mean is 0."""
    q = by_query * rng.normal(size=(queries, 1)).repeat(2, axis=0)
    d = by_direction * rng.normal(size=(1, directions))
    cross = both * rng.normal(size=(queries, directions)).repeat(2, axis=0)
    return q + d + cross + 0.2 * rng.normal(size=(2 * queries, directions))


@pytest.mark.parametrize(
    ("queries", "directions", "by_query", "by_direction", "both"),
    [(30, 20, 1.0, 0.3, 0.5), (30, 20, 0.2, 1.0, 0.3), (12, 10, 1.0, 1.0, 1.0), (40, 20, 0.0, 0.0, 1.0)],
)
def test_about_95_of_100_intervals_hold_the_mean(queries, directions, by_query, by_direction, both):
    rng = np.random.default_rng(1)
    names = [f"q{i // 2}" for i in range(2 * queries)]
    held = 0
    for _ in range(TRIALS):
        found = crossed_mean(drawn(rng, queries, directions, by_query, by_direction, both), names)
        held += found.low <= 0 <= found.high
    assert held / TRIALS >= 0.92


def test_queries_alone_would_be_too_sure_where_directions_differ():
    rng = np.random.default_rng(2)
    names, held = [f"q{i // 2}" for i in range(60)], 0
    for _ in range(TRIALS):
        rows = drawn(rng, 30, 20, 0.2, 1.0, 0.3).mean(axis=1)
        one = Estimate.mean(rows, names)
        held += one.low <= 0 <= one.high
    assert held / TRIALS < 0.6


def test_one_direction_and_few_queries_have_no_interval():
    assert crossed_mean(np.arange(8.0)[:, None], list("abcdefgh")).no_interval == TOO_FEW_DRAWN
    few = crossed_mean(np.arange(6.0).reshape(3, 2), list("abc"))
    assert few.value == 2.5 and few.low is None
    assert widened(few, 3.0) == few
    assert widened(Estimate(1.0, 0.6, 1.3, 9, 9), 0.4).low == pytest.approx(1 - np.hypot(0.4, 0.4))
