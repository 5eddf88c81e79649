"""Aggregation by hand: estimators, curves over k, contrasts; missing categories, zero gaps, one query."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from whyrank.core.results import plain
from whyrank.evaluation.estimate import Estimate
from whyrank.papers.term_frequency.contrasts import against, paired_difference, violating_against_adhering
from whyrank.papers.term_frequency.estimators import side_by_side
from whyrank.papers.term_frequency.over_k import adhering_documents, effects_over_k, violations_over_k
from whyrank.papers.term_frequency.parts import SiteEffect
from whyrank.papers.term_frequency.summaries import adherence, leading_heads


def frame(rows):
    """(qid, site, base, perturbed, effect[, k]) as rows of effects."""
    made = []
    for i, (qid, site, base, perturbed, effect, *k) in enumerate(rows):
        made.append({"pair": f"p{i}", "qid": qid, "docid": f"d{i}", "site": site, "category": None, "base": base,
                     "perturbed": perturbed, "patched": base + effect, "effect": effect,
                     "k": k[0] if k else None, "layer": 0, "head": 1, "direction": "denoise",
                     "method": "activation"})  # fmt: skip
    return pd.DataFrame(made)


def test_three_estimators_by_hand():
    rows = [("q1", "x", 0.0, 2.0, 1.0), ("q1", "x", 0.0, 0.01, 0.5), ("q2", "x", 1.0, 2.0, 0.5),
            ("q2", "x", 1.0, 1.0, 0.3)]  # fmt: skip
    (found,) = side_by_side(frame(rows), threshold=0.1)
    assert found.ratio_of_sums.estimate.value == pytest.approx(2.3 / 3.01)
    thresholded, of_ratios = found.thresholded_mean.estimate, found.mean_of_ratios.estimate
    assert thresholded.value == pytest.approx((0.5 + 0.5) / 2) and thresholded.pairs == 2
    assert of_ratios.value == pytest.approx((0.5 + 50 + 0.5) / 3), "a small gap explodes"
    assert of_ratios.pairs == 3, "a pair without a gap has no ratio, and is not 0"
    assert found.pairs == 4


def test_a_head_survives_where_its_interval_leaves_out_0():
    draw = np.random.default_rng(0)
    rows = [(f"q{i}", "steady", 0.0, 1.0, 0.5 + 0.1 * draw.normal()) for i in range(30)]
    rows += [(f"q{i}", "noise", 0.0, 1.0, draw.normal()) for i in range(30)]
    steady, noise = side_by_side(frame(rows))
    assert steady.ratio_of_sums.survives and steady.mean_of_ratios.survives
    assert not noise.ratio_of_sums.survives


def test_few_of_many_heads_survive_by_chance():
    """72 heads of pure noise: an interval each would let about four through."""
    studies = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        rows = [(f"q{i}", f"h{h}", 0.0, 1.0, draw.normal()) for i in range(30) for h in range(72)]
        studies += any(row.ratio_of_sums.survives for row in side_by_side(frame(rows), draws=500))
    assert studies <= 5


def is_few(estimate):
    return (estimate.low, estimate.high, estimate.no_interval) == (None, None, "too few queries")


def test_few_queries_have_no_interval():
    (found,) = side_by_side(frame([("q", "x", 0.0, 1.0, 0.5), ("q", "x", 0.0, 1.0, 0.4)]))
    one = found.ratio_of_sums
    assert one.estimate == Estimate(0.45, None, None, 2, 1, "too few queries") and one.survives is None
    some = curve(lambda k: 0.3 * k, queries=5)
    over_k = effects_over_k(some)["x"]
    assert is_few(over_k.points[0].mean) and over_k.shape == "undecided", "not 'none'"
    assert all(is_few(fit.r2) and fit.best_in is None for fit in over_k.fits)
    assert is_few(violations_over_k(some).points[0].mean)
    (difference,) = paired_difference(some[some["k"] == 1], some[some["k"] == 1])
    assert is_few(difference.difference) and difference.p_holm is None
    (contrast,) = violating_against_adhering(some)
    assert is_few(contrast.adhering) and contrast.p_holm is None
    assert adherence(some) == Estimate(1.0, None, None, 50, 5, "too few queries")


def test_constant_scores_have_no_shares():
    """Both sides score the same, but for rounding; every number is null, and JSON has no NaN."""
    rows = frame([(f"q{i}", "x", 5.0, 5.0 + 1e-9 * (-1) ** i, 1e-9, 1) for i in range(8)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (found,) = side_by_side(rows)
        assert [one.estimate.value for one in found.all.values()] == [None] * 3
        assert found.ratio_of_sums.estimate.no_interval == "not defined"
        assert against(rows, rows) == ()
        contrast = violating_against_adhering(rows)
        assert contrast[0].share_difference.value is None and contrast[0].p_holm is None
        every = [found, contrast, effects_over_k(rows), violations_over_k(rows)]
        json.dumps(plain(every), allow_nan=False)


def test_a_perfect_fit_is_written():
    """No pair of the first five k violates: every curve fits, and AICc would be minus infinity."""
    found = violations_over_k(frame([(f"q{q}", "x", 0.0, 1.0, 0.1, k) for q in range(8) for k in range(1, 7)]))
    assert [fit.aicc for fit in found.fits] == [None] * 3 and found.points[0].mean.value == 0


def test_shares_of_0_and_100_percent_have_an_interval_with_width():
    rows = frame([(f"q{i}", "x", 0.0, 1.0, 0.5, 1) for i in range(10)])
    (point,) = violations_over_k(rows).points
    assert point.mean.low == point.mean.value == 0 and point.mean.high > 0.25
    assert adherence(rows).low < 0.75 and adherence(rows).high == 1


def curve(shape, noise=0.02, ks=range(1, 11), queries=20):
    draw = np.random.default_rng(1)
    return frame(
        [(f"q{q}", "x", 0.0, 1.0, shape(k) + noise * draw.normal(), k) for q in range(queries) for k in ks]
    )


@pytest.mark.parametrize(
    ("shape", "name", "best"),
    [
        (lambda k: math.log(k) + 0.2, "sublinear", "log"),
        (lambda k: 0.3 * k, "linear", "linear"),
        (lambda k: -0.3 * k, "linear", "linear"),
        (lambda k: 0.03 * k**2, "superlinear", None),
        (lambda k: min(k, 3) * 0.3, "flattens", None),
        (lambda k: min(k, 5) * 0.3, "flattens", None),
        (lambda k: 0.5, "flattens", None),
        (lambda k: 0.0, "none", None),
    ],
)
def test_the_shape_of_a_curve(shape, name, best):
    found = effects_over_k(curve(shape))["x"]
    assert found.shape == name
    assert [point.k for point in found.points] == list(range(1, 11)) and found.points[0].mean.pairs == 20
    if best:
        assert found.fits[0].curve == best and found.fits[0].best_in > 0.5
        assert found.log_fit.curve == "log"


@pytest.mark.parametrize(
    ("shape", "name"),
    [(lambda k: 0.3 / k, "falls"), (lambda k: 0.1, "constant"), (lambda k: 0.02 * k, "rises"),
     (lambda k: 0.0, "none")],
)  # fmt: skip
def test_the_gain_of_one_more(shape, name):
    assert effects_over_k(curve(shape, noise=0.01), marginal=True)["x"].shape == name


def test_noise_does_not_make_a_line_flat():
    """What an absence of evidence would say."""
    shapes = set()
    for seed in range(10):
        draw = np.random.default_rng(seed)
        rows = [
            (f"q{q}", "x", 0.0, 1.0, 0.03 * k + 0.05 * draw.normal(), k) for q in range(12) for k in range(1, 11)
        ]
        shapes.add(effects_over_k(frame(rows))["x"].shape)
    assert "linear" in shapes and not shapes & {"flattens", "none"}
    assert effects_over_k(curve(lambda k: 0.03 * k, noise=0.2))["x"].shape == "undecided"


def test_the_ratio_of_slopes_by_hand():
    """k = 1..6, thirds of 2 steps: 0, 1, 2 has slope 1; 4, 4.5, 5 has slope .5."""
    values = {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 4.5, 6: 5.0}
    rows = [(f"q{q}", "x", 0.0, 1.0, value, k) for q in range(6) for k, value in values.items()]
    rows = [
        (*row[:4], row[4] * (1 + 0.1 * int(row[0][1:])), row[5]) for row in rows
    ]  # queries differ in size only
    found = effects_over_k(frame(rows))["x"]
    assert found.ratio.value == pytest.approx(0.5) and found.shape == "undecided", "no spread, no shape"
    rows = [(*row[:4], row[4] + 0.01 * int(row[0][1:]) * (row[5] == 6), row[5]) for row in rows]
    found = effects_over_k(frame(rows))["x"]
    assert found.ratio.value == pytest.approx(0.5, abs=0.03) and found.shape == "sublinear"


def test_a_curve_that_only_moves_late_has_no_ratio():
    """Slopes by a slope of nothing can be any number."""
    found = effects_over_k(curve(lambda k: 0.5 * (k == 10)))["x"]
    ratio = found.ratio
    assert (ratio.value, ratio.low, ratio.high, ratio.no_interval) == (None, None, None, "not defined")
    assert found.shape == "undecided"


def test_adhering_documents_are_the_same_for_all_k():
    rows = frame([("q", "x", 0.0, 1.0, 0.1, 1), ("q", "x", 0.0, -1.0, 0.1, 2), ("q", "x", 0.0, 1.0, 0.1, 1),
                  ("q", "x", 0.0, 1.0, 0.1, 2)])  # fmt: skip
    rows["docid"] = ["a", "a", "b", "b"]
    assert adhering_documents(rows)["docid"].tolist() == ["b", "b"]


def test_points_are_means_over_pairs_not_over_queries():
    rows = [("q1", "x", 0.0, 1.0, 1.0, 1), ("q1", "x", 0.0, 1.0, 1.0, 1), ("q2", "x", 0.0, 1.0, 4.0, 1)]
    assert effects_over_k(frame(rows))["x"].points[0].mean.value == pytest.approx(2.0)


def test_violations_are_counted_once_a_pair():
    rows = frame([("q1", "x", 0.0, 1.0, 0.1, 1), ("q1", "y", 0.0, 1.0, 0.1, 1), ("q2", "x", 1.0, 1.0, 0.1, 1),
                  ("q2", "y", 1.0, 1.0, 0.1, 1), ("q1", "x", 1.0, 0.5, 0.1, 2)])  # fmt: skip
    rows["pair"] = ["a", "a", "b", "b", "c"]
    found = violations_over_k(rows)
    assert [point.mean.value for point in found.points] == [0.5, 1.0], "a tie does not score higher"
    assert [point.mean.pairs for point in found.points] == [2, 1]
    assert not hasattr(found, "shape")


def test_paired_differences_need_both():
    append = frame(
        [("q1", "x", 0, 1, 0.5), ("q1", "x", 0, 1, 0.7), ("q2", "x", 0, 1, 0.9), ("q2", "y", 0, 1, 0.1)]
    )
    prepend = frame([("q1", "x", 0, 1, 0.1), ("q1", "x", 0, 1, 0.1), ("q2", "x", 0, 1, 0.2)])
    for one in (append, prepend):
        one["docid"] = ["a", "b", "c", "d"][: len(one)]
    (found,) = paired_difference(append, prepend)
    assert found.site == "x" and found.difference.pairs == 3 and found.difference.queries == 2
    assert found.difference.value == pytest.approx((0.4 + 0.6 + 0.7) / 3)


def test_a_null_is_scaled_by_the_gap_of_what_it_is_the_null_of():
    append = frame([("q1", "x", 0.0, 2.0, 1.0), ("q2", "x", 0.0, 4.0, 2.0), ("q3", "x", 0.0, 9.0, 9.0)])
    null = frame([("q1", "x", 0.0, 0.1, 0.1), ("q2", "x", 0.0, -0.1, 0.2)])
    (found,) = against(append, null)
    assert found.one == pytest.approx(1.5 / 3) and found.other == pytest.approx(0.15 / 3)
    assert found.difference.value == pytest.approx(0.45) and is_few(found.difference)
    assert (found.layer, found.head, found.difference.pairs) == (0, 1, 2), "only documents that both have"


def test_violating_against_adhering():
    rows = frame([("q1", "x", 0.0, 1.0, 0.6), ("q1", "x", 0.0, -1.0, -0.2), ("q2", "x", 0.0, 1.0, 0.4),
                  ("q2", "x", 0.0, 0.0, 0.0)])  # fmt: skip
    (found,) = violating_against_adhering(rows)
    assert found.violating.value == pytest.approx(-0.1) and found.violating.pairs == 2
    assert found.adhering.value == pytest.approx(0.5) and found.difference.value == pytest.approx(-0.6)
    assert found.share_violating.value == pytest.approx(0.2), "-0.2 of a gap of -1"
    assert found.share_adhering.value == pytest.approx(0.5)
    assert found.share_difference.value == pytest.approx(-0.3) and found.p_holm is None, "two queries"
    more = pd.concat([rows.assign(qid=rows["qid"] + str(i), pair=rows["pair"] + str(i)) for i in range(4)])
    more["effect"] += np.random.default_rng(0).normal(0, 0.01, len(more))
    (sure,) = violating_against_adhering(more)
    assert 0 < sure.p_holm < 0.05 and sure.share_difference.high < 0
    (none,) = violating_against_adhering(frame([("q1", "x", 0.0, 1.0, 0.6), ("q2", "x", 0.0, 1.0, 0.4)]))
    assert none.violating.value is None and none.violating.pairs == 0


def test_heads_that_stand_out():
    def site(layer, head, share, p, category=None):
        of_gap = Estimate.undefined() if share is None else Estimate(share, None, None, 9, 3)
        estimates = of_gap, of_gap, of_gap, of_gap
        return SiteEffect(f"L{layer}.H{head}.z", layer, head, category, 9, 3, *estimates, share, 0.0, p, p, p)

    sites = [site(0, 9, 0.5, 0.001), site(1, 6, -0.8, 0.01), site(2, 3, 0.9, 0.4), site(3, 1, 0.1, 0.04),
             site(0, 9, 0.7, 0.001, "inj")]  # fmt: skip
    assert leading_heads(sites) == ("1.6", "0.9", "3.1")
    assert leading_heads(sites, most=1) == ("1.6",)
    assert leading_heads([site(2, 3, 0.9, 0.4), site(0, 1, None, None)]) == ("2.3", "0.1"), "else the largest"
