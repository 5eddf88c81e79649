"""The edit against random directions, and the verdict: by plain numpy, and its error rate by simulation."""

import numpy as np
import pytest

from whyrank.edits.against_random import AgainstRandom
from whyrank.edits.experiment import DialSlope
from whyrank.evaluation.estimate import Estimate

QUERIES = [f"q{i // 2}" for i in range(40)]


def slope(edit, randoms, direction="down"):
    sign = 1 if direction == "up" else -1
    against = AgainstRandom.of(edit, randoms, QUERIES, sign)
    return DialSlope.judged(direction, Estimate.mean(edit, QUERIES), against, {})


def test_mean_ends_and_what_is_the_edits_own():
    rng = np.random.default_rng(0)
    edit, randoms = rng.normal(size=40) - 1, rng.normal(size=(40, 20))
    found = AgainstRandom.of(edit, randoms, QUERIES, -1)
    means = randoms.mean(axis=0)
    assert found.mean.value == pytest.approx(randoms.mean())
    assert (found.least, found.most) == (means.min(), means.max())
    assert [found.low, found.high] == pytest.approx(np.quantile(means, [0.05, 0.95]).tolist())
    assert found.edit_less.value == pytest.approx(edit.mean() - randoms.mean())
    assert found.as_far == (means <= edit.mean()).sum() and found.drawn == 20


@pytest.mark.parametrize(
    ("edit", "randoms", "verdict"),
    [
        (-1.0, 0.0, "yes"),
        (-1.0, -1.0, "cannot tell"),
        (-1.0, -2.0, "no"),
        (1.0, 0.0, "no"),
        (0.0, 1.0, "cannot tell"),
    ],
)
def test_the_verdict(edit, randoms, verdict):
    rng = np.random.default_rng(3)
    found = slope(edit + 0.3 * rng.normal(size=40), randoms + 0.3 * rng.normal(size=(40, 20)))
    assert found.verdict == verdict
    said = found.text("per sd")
    assert said.startswith("Turned down, ") and f"{found.randoms.drawn} random directions" in said
    assert ("cannot tell" in said) == (verdict == "cannot tell")


def test_an_edit_that_is_one_more_random_direction_is_rarely_called_a_dial():
    """The edit falls as random directions do on average; it is itself one, so its own mean varies as theirs."""
    rng, called = np.random.default_rng(4), {"yes": 0, "no": 0, "cannot tell": 0}
    for _ in range(200):
        by_query = np.repeat(rng.normal(size=(20, 1)), 2, axis=0)
        cross = np.repeat(rng.normal(size=(20, 21)), 2, axis=0)
        values = -0.8 + by_query + cross + 0.1 * rng.normal(size=(40, 21))
        called[slope(values[:, 0], values[:, 1:]).verdict] += 1
    assert called["yes"] <= 0.05 * 200 and called["no"] <= 0.05 * 200
