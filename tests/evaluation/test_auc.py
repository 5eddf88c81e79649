"""The AUC across queries and within them, against scikit-learn and by simulation."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from whyrank.evaluation.auc import auc, separation
from whyrank.evaluation.calibration import Judged


def simulated(shift, queries=30, seed=0):
    """Scores, some of them equal, that tell relevant documents apart; `shift`: how far levels of queries are."""
    generator = np.random.default_rng(seed)
    query = np.repeat(np.arange(queries), generator.integers(8, 20, size=queries))
    relevant = (generator.random(len(query)) < 0.4).astype(float)
    level = shift * generator.normal(size=queries)[query]
    return Judged((1.5 * relevant + generator.normal(size=len(query)) + level).round(1), relevant, relevant, query)


def test_both_are_scikit_learns():
    pairs = simulated(1.0)
    found = separation(pairs, 0)
    assert found.pooled == pytest.approx(roc_auc_score(pairs.relevant, pairs.scores))
    own = [pairs.part(pairs.queries == one) for one in range(30)]
    own = [one for one in own if 0 < one.relevant.mean() < 1]
    assert found.lost.queries == len(own)
    assert found.within == pytest.approx(np.mean([roc_auc_score(one.relevant, one.scores) for one in own]))
    assert found.lost.value == pytest.approx(found.within - found.pooled)


def test_levels_of_queries_that_differ_are_found_and_equal_ones_are_not():
    assert separation(simulated(3.0), 0).lost.is_above_zero
    found = [separation(simulated(0.0, seed=seed), 0).lost.is_above_zero for seed in range(20)]
    assert sum(found) <= 2


def test_a_query_without_relevant_documents_counts_across_queries_only():
    scores, relevant = np.array([3.0, 1, 2, 2]), np.array([1.0, 0, 0, 0])
    pairs = Judged(scores, relevant, relevant, np.array([0, 0, 1, 1]))
    found = separation(pairs, 0)
    assert (found.pooled, found.within, found.lost.queries) == (1.0, 1.0, 1)
    assert found.lost.low is None
    assert np.isnan(auc(pairs.scores[2:], pairs.relevant[2:]))
