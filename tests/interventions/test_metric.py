"""A metric in place of the score: the same numbers as when it is applied to the scores by hand."""

import numpy as np
import pytest

from tests.checkpoints import save
from tests.interventions.small import pairs
from whyrank.core.errors import UserError
from whyrank.interventions.api import patch
from whyrank.interventions.summary import summarise
from whyrank.rankers.load import load

SIDES = ["base", "perturbed", "patched"]


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("ce"), head="AutoModelForSequenceClassification")))


def probability(scores, pair):
    return 1 / (1 + np.exp(-scores))


@pytest.mark.parametrize("how", [{}, {"method": "path"}, {"method": "ablation"}, {"by": "category"}], ids=str)
def test_a_metric_of_each_score(ranker, how):
    plain, found = patch(ranker, pairs(), **how), patch(ranker, pairs(), metric=probability, **how)
    expected = plain.frame[SIDES].astype(float).apply(lambda scores: 1 / (1 + np.exp(-scores)))
    np.testing.assert_array_equal(found.frame[SIDES].astype(float), expected)
    np.testing.assert_array_equal(found.frame["effect"].astype(float), expected["patched"] - expected["base"])
    others = [name for name in plain.frame if name not in (*SIDES, "effect")]
    assert found.frame[others].equals(plain.frame[others]) and list(found.frame) == list(plain.frame)
    assert found.metric == "probability" and plain.metric is None
    by_hand = summarise(found.frame, by=how.get("by"))
    assert (found.sites, found.gap) == (by_hand.sites, by_hand.gap)


def test_a_difference_to_a_reference_documents_score(ranker):
    """A constant per query moves no effect and no gap; base and perturbed move by it."""
    reference = {pair.qid: score for pair, score in zip(pairs(), np.linspace(-3, 3, 8), strict=True)}
    plain = patch(ranker, pairs())
    found = patch(ranker, pairs(), metric=lambda scores, pair: scores - reference[pair.qid])
    moved = plain.frame["base"] - plain.frame["qid"].map(reference)
    np.testing.assert_allclose(found.frame["base"].astype(float), moved.astype(float), atol=1e-12)
    for site, other in zip(plain.sites, found.sites, strict=True):
        assert other.share.value == pytest.approx(site.share.value, abs=1e-6)
        assert other.mean_effect.value == pytest.approx(site.mean_effect.value, abs=1e-9)
    assert found.gap.mean == pytest.approx(plain.gap.mean, abs=1e-9)


def test_it_is_called_once_per_pair_with_all_its_runs(ranker):
    seen = {}

    def counted(scores, pair):
        seen.setdefault(pair.id, []).append(scores.copy())
        return scores

    plain, found = (
        patch(ranker, pairs(3), sites="0.1,1.2"),
        patch(ranker, pairs(3), sites="0.1,1.2", metric=counted),
    )
    assert found.frame.equals(plain.frame)
    for pair, rows in plain.frame.groupby("pair"):
        *_, scores = seen[pair]
        assert scores.tolist() == [rows["base"].iloc[0], rows["perturbed"].iloc[0], *rows["patched"]]


def test_texts_keep_their_scores(ranker):
    found = patch(ranker, pairs(3), metric=probability)
    scores = ranker.score([(pair.query, pair.baseline) for pair in pairs(3)])
    np.testing.assert_allclose(found.pair_frame["base"].astype(float), scores, atol=1e-5)


def test_another_metric_is_other_work_also_by_its_data(ranker, tmp_path):
    def lead(by):
        return lambda scores, pair: scores - by

    first = patch(ranker, pairs(3), metric=lead(1), out=tmp_path)
    assert patch(ranker, pairs(3), metric=lead(1), out=tmp_path) == first
    with pytest.raises(UserError, match="other inputs"):
        patch(ranker, pairs(3), metric=lead(2), out=tmp_path)


@pytest.mark.parametrize("how", [{"method": "attribution"}, {"screen": 2}], ids=str)
def test_it_does_not_go_with_what_is_linear_in_the_score(ranker, how):
    with pytest.raises(UserError, match="a metric does not go with attribution or screen"):
        patch(ranker, pairs(3), metric=probability, **how)


@pytest.mark.parametrize(
    ("metric", "complaint"),
    [
        ("sigmoid", "metric must be a function"),
        (lambda scores, pair: scores.mean(), r"returned shape \(\) for 8 scores of pair 'p0'"),
        (lambda scores, pair: pair.nothing, "failed on pair 'p0': AttributeError"),
        (lambda scores, pair: scores / 0, "is not finite on pair 'p0'"),
    ],
    ids=["name", "one number", "raises", "infinite"],
)
def test_a_metric_that_cannot_be_used_is_refused(ranker, tmp_path, metric, complaint):
    with pytest.raises(UserError, match=complaint):
        patch(ranker, pairs(3), metric=metric, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
