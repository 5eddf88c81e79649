"""Aggregation by hand: estimators, curves over k, contrasts; missing categories, zero gaps, one query."""

import json
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from whyrank.papers.term_frequency.contrasts import against, paired_difference, violating_against_adhering
from whyrank.papers.term_frequency.estimators import ESTIMATORS, side_by_side
from whyrank.papers.term_frequency.gaps import adherence
from whyrank.papers.term_frequency.leading import leading_heads
from whyrank.papers.term_frequency.over_k import adhering_documents, effects_over_k, violations_over_k


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
    (told,) = side_by_side(frame(rows), threshold=0.1)
    assert told["ratio_of_sums"]["value"] == pytest.approx(2.3 / 3.01)
    assert (
        told["thresholded_mean"]["value"] == pytest.approx((0.5 + 0.5) / 2) and told["thresholded_mean"]["n"] == 2
    )
    assert told["mean_of_ratios"]["value"] == pytest.approx((0.5 + 50 + 0.5) / 3), "a small gap explodes"
    assert told["mean_of_ratios"]["n"] == 3, "a pair without a gap has no ratio, and is not 0"
    assert told["n"] == 4


def test_a_head_survives_where_its_interval_leaves_out_0():
    draw = np.random.default_rng(0)
    rows = [(f"q{i}", "steady", 0.0, 1.0, 0.5 + 0.1 * draw.normal()) for i in range(30)]
    rows += [(f"q{i}", "noise", 0.0, 1.0, draw.normal()) for i in range(30)]
    steady, noise = side_by_side(frame(rows))
    assert steady["ratio_of_sums"]["survives"] and steady["mean_of_ratios"]["survives"]
    assert not noise["ratio_of_sums"]["survives"]


def test_few_of_many_heads_survive_by_chance():
    """72 heads of pure noise: an interval each would let about four through."""
    studies = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        rows = [(f"q{i}", f"h{h}", 0.0, 1.0, draw.normal()) for i in range(30) for h in range(72)]
        studies += any(row["ratio_of_sums"]["survives"] for row in side_by_side(frame(rows), draws=500))
    assert studies <= 5


FEW = {"low": None, "high": None, "no_interval": "too few queries"}


def test_few_queries_have_no_interval():
    (told,) = side_by_side(frame([("q", "x", 0.0, 1.0, 0.5), ("q", "x", 0.0, 1.0, 0.4)]))
    assert told["ratio_of_sums"] == {"value": 0.45, **FEW, "survives": None, "n": 2}
    some = curve(lambda k: 0.3 * k, queries=5)
    told = effects_over_k(some)["x"]
    assert FEW.items() <= told["points"][0].items() and told["verdict"] == "undecided", "not 'none'"
    assert all(fit["r2_interval"] == FEW and fit["best_in"] is None for fit in told["fits"])
    assert FEW.items() <= violations_over_k(some)["points"][0].items()
    (told,) = paired_difference(some[some["k"] == 1], some[some["k"] == 1])
    assert FEW.items() <= told.items() and told["p_holm"] is None
    (told,) = violating_against_adhering(some)
    assert FEW.items() <= told["adhering"].items() and told["p_holm"] is None
    assert adherence(some) == {"adherent": 50, "pairs": 50, "interval": FEW}


def test_constant_scores_have_no_shares():
    """Both sides score the same, but for rounding; every number is null, and JSON has no NaN."""
    rows = frame([(f"q{i}", "x", 5.0, 5.0 + 1e-9 * (-1) ** i, 1e-9, 1) for i in range(8)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (told,) = side_by_side(rows)
        assert [told[name]["value"] for name in ESTIMATORS] == [None] * 3
        assert told["ratio_of_sums"]["no_interval"] == "not defined"
        assert against(rows, rows) == []
        contrast = violating_against_adhering(rows)
        assert contrast[0]["share_difference"]["value"] is None and contrast[0]["p_holm"] is None
        json.dumps([told, contrast, effects_over_k(rows), violations_over_k(rows)], allow_nan=False)


def test_shares_of_0_and_100_percent_have_an_interval_with_width():
    rows = frame([(f"q{i}", "x", 0.0, 1.0, 0.5, 1) for i in range(10)])
    (point,) = violations_over_k(rows)["points"]
    assert point["low"] == point["mean"] == 0 and point["high"] > 0.25
    assert adherence(rows)["interval"]["low"] < 0.75 and adherence(rows)["interval"]["high"] == 1


def curve(shape, noise=0.02, ks=range(1, 11), queries=20):
    draw = np.random.default_rng(1)
    return frame(
        [(f"q{q}", "x", 0.0, 1.0, shape(k) + noise * draw.normal(), k) for q in range(queries) for k in ks]
    )


@pytest.mark.parametrize(
    ("shape", "verdict", "best"),
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
def test_the_shape_of_a_curve(shape, verdict, best):
    told = effects_over_k(curve(shape))["x"]
    assert told["verdict"] == verdict
    assert [point["k"] for point in told["points"]] == list(range(1, 11)) and told["points"][0]["n"] == 20
    if best:
        assert told["fits"][0]["curve"] == best and told["fits"][0]["best_in"] > 0.5
        assert told["good_fit"] == (next(fit for fit in told["fits"] if fit["curve"] == "log")["r2"] > 0.9)


@pytest.mark.parametrize(
    ("shape", "verdict"),
    [(lambda k: 0.3 / k, "falls"), (lambda k: 0.1, "constant"), (lambda k: 0.02 * k, "rises"),
     (lambda k: 0.0, "none")],
)  # fmt: skip
def test_the_gain_of_one_more(shape, verdict):
    assert effects_over_k(curve(shape, noise=0.01), marginal=True)["x"]["verdict"] == verdict


def test_noise_does_not_make_a_line_flat():
    """What an absence of evidence would say."""
    verdicts = set()
    for seed in range(10):
        draw = np.random.default_rng(seed)
        rows = [
            (f"q{q}", "x", 0.0, 1.0, 0.03 * k + 0.05 * draw.normal(), k) for q in range(12) for k in range(1, 11)
        ]
        verdicts.add(effects_over_k(frame(rows))["x"]["verdict"])
    assert "linear" in verdicts and not verdicts & {"flattens", "none"}
    assert effects_over_k(curve(lambda k: 0.03 * k, noise=0.2))["x"]["verdict"] == "undecided"


def test_the_ratio_of_slopes_by_hand():
    """k = 1..6, thirds of 2 steps: 0, 1, 2 has slope 1; 4, 4.5, 5 has slope .5."""
    values = {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0, 5: 4.5, 6: 5.0}
    rows = [(f"q{q}", "x", 0.0, 1.0, value, k) for q in range(6) for k, value in values.items()]
    rows = [
        (*row[:4], row[4] * (1 + 0.1 * int(row[0][1:])), row[5]) for row in rows
    ]  # queries differ in size only
    told = effects_over_k(frame(rows))["x"]
    assert told["ratio"]["value"] == pytest.approx(0.5) and told["verdict"] == "undecided", "no spread, no verdict"
    rows = [(*row[:4], row[4] + 0.01 * int(row[0][1:]) * (row[5] == 6), row[5]) for row in rows]
    told = effects_over_k(frame(rows))["x"]
    assert told["ratio"]["value"] == pytest.approx(0.5, abs=0.03) and told["verdict"] == "sublinear"


def test_a_curve_that_only_moves_late_has_no_ratio():
    """Slopes by a slope of nothing can be any number."""
    told = effects_over_k(curve(lambda k: 0.5 * (k == 10)))["x"]
    assert told["ratio"] == {"value": None, "low": None, "high": None, "no_interval": "not defined"}
    assert told["verdict"] == "undecided"


def test_adhering_documents_are_the_same_for_all_k():
    rows = frame([("q", "x", 0.0, 1.0, 0.1, 1), ("q", "x", 0.0, -1.0, 0.1, 2), ("q", "x", 0.0, 1.0, 0.1, 1),
                  ("q", "x", 0.0, 1.0, 0.1, 2)])  # fmt: skip
    rows["docid"] = ["a", "a", "b", "b"]
    assert adhering_documents(rows)["docid"].tolist() == ["b", "b"]


def test_points_are_means_over_pairs_not_over_queries():
    rows = [("q1", "x", 0.0, 1.0, 1.0, 1), ("q1", "x", 0.0, 1.0, 1.0, 1), ("q2", "x", 0.0, 1.0, 4.0, 1)]
    assert effects_over_k(frame(rows))["x"]["points"][0]["mean"] == pytest.approx(2.0)


def test_violations_are_counted_once_a_pair():
    rows = frame([("q1", "x", 0.0, 1.0, 0.1, 1), ("q1", "y", 0.0, 1.0, 0.1, 1), ("q2", "x", 1.0, 1.0, 0.1, 1),
                  ("q2", "y", 1.0, 1.0, 0.1, 1), ("q1", "x", 1.0, 0.5, 0.1, 2)])  # fmt: skip
    rows["pair"] = ["a", "a", "b", "b", "c"]
    told = violations_over_k(rows)
    assert [point["mean"] for point in told["points"]] == [0.5, 1.0], "a tie does not score higher"
    assert [point["n"] for point in told["points"]] == [2, 1]
    assert "verdict" not in told


def test_paired_differences_need_both():
    append = frame(
        [("q1", "x", 0, 1, 0.5), ("q1", "x", 0, 1, 0.7), ("q2", "x", 0, 1, 0.9), ("q2", "y", 0, 1, 0.1)]
    )
    prepend = frame([("q1", "x", 0, 1, 0.1), ("q1", "x", 0, 1, 0.1), ("q2", "x", 0, 1, 0.2)])
    for one in (append, prepend):
        one["docid"] = ["a", "b", "c", "d"][: len(one)]
    (told,) = paired_difference(append, prepend)
    assert told["site"] == "x" and told["n"] == 3 and told["queries"] == 2
    assert told["difference"] == pytest.approx((0.4 + 0.6 + 0.7) / 3)


def test_a_null_is_told_by_the_gap_of_what_it_is_the_null_of():
    append = frame([("q1", "x", 0.0, 2.0, 1.0), ("q2", "x", 0.0, 4.0, 2.0), ("q3", "x", 0.0, 9.0, 9.0)])
    null = frame([("q1", "x", 0.0, 0.1, 0.1), ("q2", "x", 0.0, -0.1, 0.2)])
    (told,) = against(append, null)
    assert told["append"] == pytest.approx(1.5 / 3) and told["other"] == pytest.approx(0.15 / 3)
    assert told["difference"] == pytest.approx(0.45) and FEW.items() <= told.items()
    assert (told["layer"], told["head"], told["n"]) == (0, 1, 2), "only documents that both have"


def test_violating_against_adhering():
    rows = frame([("q1", "x", 0.0, 1.0, 0.6), ("q1", "x", 0.0, -1.0, -0.2), ("q2", "x", 0.0, 1.0, 0.4),
                  ("q2", "x", 0.0, 0.0, 0.0)])  # fmt: skip
    (told,) = violating_against_adhering(rows)
    assert told["violating"]["value"] == pytest.approx(-0.1) and told["n_violating"] == 2
    assert told["adhering"]["value"] == pytest.approx(0.5) and told["difference"]["value"] == pytest.approx(-0.6)
    assert told["share_violating"]["value"] == pytest.approx(0.2), "-0.2 of a gap of -1"
    assert told["share_adhering"]["value"] == pytest.approx(0.5)
    assert told["share_difference"]["value"] == pytest.approx(-0.3) and told["p_holm"] is None, "two queries"
    more = pd.concat([rows.assign(qid=rows["qid"] + str(i), pair=rows["pair"] + str(i)) for i in range(4)])
    more["effect"] += np.random.default_rng(0).normal(0, 0.01, len(more))
    (sure,) = violating_against_adhering(more)
    assert 0 < sure["p_holm"] < 0.05 and sure["share_difference"]["high"] < 0
    (none,) = violating_against_adhering(frame([("q1", "x", 0.0, 1.0, 0.6), ("q2", "x", 0.0, 1.0, 0.4)]))
    assert none["violating"]["value"] is None and none["n_violating"] == 0


def test_heads_that_stand_out():
    def site(layer, head, share, p, category=None):
        return {"layer": layer, "head": head, "share": share, "p_holm": p, "category": category}

    sites = [site(0, 9, 0.5, 0.001), site(1, 6, -0.8, 0.01), site(2, 3, 0.9, 0.4), site(3, 1, 0.1, 0.04),
             site(0, 9, 0.7, 0.001, "inj")]  # fmt: skip
    assert leading_heads(sites) == ["1.6", "0.9", "3.1"]
    assert leading_heads(sites, most=1) == ["1.6"]
    assert leading_heads([site(2, 3, 0.9, 0.4), site(0, 1, None, None)]) == ["2.3", "0.1"], "else the largest"
