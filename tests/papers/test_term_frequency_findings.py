"""The papers' findings on term frequency beside ours: judged by intervals, like with like."""

from dataclasses import replace

import pytest

from tests.papers.small_study import attention_over_k, curve, estimate, one_set, small, with_set, with_variants
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.wilson import wilson
from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.term_frequency.parts import Curve, JointShare, Point, Together


def rows(study):
    return {row.what: row for row in study.findings}


def verdict(study, start):
    (row,) = (row for what, row in rows(study).items() if what.startswith(start))
    return row.verdict


def with_top(share, over_all=0.9, n=10):
    """The share that leading heads have together in the top ranks."""
    joint = JointShare(estimate(over_all), {"1-10": estimate(share, n=n)})
    return small(together=replace(small().together, positive=joint))


@pytest.mark.parametrize("name", ["bi-tiny", "my-tasty-ranker", "models/tas-b"])
def test_heads_of_another_model_have_no_verdict(name):
    found = rows(small(ranker=name))
    for what in (
        "heads that carry an appended term", "heads when occurrences are replaced", "heads that count (TFC2)",
    ):  # fmt: skip
        assert found[what].verdict == OPEN and "(TAS-B)" in found[what].paper
    assert found["heads that carry an appended term"].ours == "1.0 0.1"
    assert not [what for what in found if what.startswith("0.9, appended")]


@pytest.mark.parametrize("name", ["bi-tas-b", "sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco"])
def test_heads_of_tas_b_itself_are_compared(name):
    append = one_set({"0.9": 0.225, "1.6": 0.2}, layers=3, heads_per_layer=10)
    found = rows(with_set("append", append, ranker=name, leading=("0.9", "1.6", "2.3")))
    assert found["heads that carry an appended term"].verdict == AGREES
    assert found["heads that count (TFC2)"].verdict == DIFFERS
    assert found["0.9, appended, ranks 1-10: share"].verdict == AGREES, "0.45 in our 0.45 [0.40, 0.50]"
    assert found["1.6, appended, ranks 1-10: share"].why == "ours is lower"


@pytest.mark.parametrize(("share", "expected"), [(0.7, AGREES), (0.52, OPEN), (0.3, DIFFERS)])
def test_half_the_gap_is_asked_of_the_top_ranks_alone(share, expected):
    row = rows(with_top(share))["leading heads together at the injected term, ranks 1-10"]
    assert row.verdict == expected and row.n == "10 pairs" and "measured on the other" in row.why


def test_heads_together_that_were_not_measured():
    for positive in (None, JointShare(estimate(0.9, n=4), {})):
        row = rows(small(together=Together(((), ()), positive, None)))[
            "leading heads together at the injected term, ranks 1-10"
        ]
        assert (row.ours, row.verdict) == ("not measured", OPEN)


def test_rank_bands_differ_only_where_their_intervals_are_apart():
    assert verdict(small(), "shares of leading heads by rank band") == AGREES
    unsure = one_set({"0.1": 0.3, "1.0": 0.4}, width=0.5)
    row = rows(with_set("append", unsure))["shares of leading heads by rank band"]
    assert row.verdict == OPEN and row.why == "surely larger in 1-10: 0 of 2, surely smaller: 0"
    empty = replace(one_set({"0.1": 0.3}), splits={})
    assert "shares of leading heads by rank band" not in rows(with_set("append", empty))


def test_a_head_turns_round_by_its_effect_not_by_its_share_of_a_negative_gap():
    what = "effects of leading heads when the term is prepended"
    assert rows(small())[what].ours == "2 of 2 surely change sign, 0 surely keep it"
    assert rows(small())[what].verdict == AGREES
    turned_shares = one_set({"0.1": -0.3, "1.0": -0.4}, gap=-2.0)
    row = rows(with_set("prepend", turned_shares))[what]
    assert row.verdict == DIFFERS and row.ours == "0 of 2 surely change sign, 2 surely keep it"
    unsure = tuple(
        replace(one, difference=replace(one.difference, low=-1.0, high=1.0)) for one in small().append_less_prepend
    )
    assert rows(small(append_less_prepend=unsure))[what].verdict == OPEN, "the paired difference may be 0"


def test_documents_with_the_term_are_counted_and_not_judged():
    row = rows(small())["documents that hold the term: only these differ when it is replaced"]
    assert row.ours == "25% [11%, 47%]" and row.n == "20 documents" and row.verdict == OPEN


def test_cls_gathers_the_signal_in_the_last_third():
    what = "where attention gathers the signal in [CLS]"
    row = rows(small())[what]
    assert row.verdict == AGREES and row.ours == "most in layer 1 of 2 (0.50 [0.45, 0.55])"
    mean = rows(small(reads="the mean of all tokens"))[what]
    assert mean.verdict == OPEN and mean.why == "this ranker's read-out is the mean of all tokens"
    early = tuple(replace(row, lands=estimate(0.9, n=12)) if row.layer == 0 else row for row in small().flow)
    assert rows(small(flow=early))[what].verdict == DIFFERS
    assert what not in rows(small(flow=()))


def with_curves(**curves):
    variants = small().counting.variants
    return with_variants(
        {name: replace(variants[name], effects=found, effects_of_adherent={}) for name, found in curves.items()}
    )


@pytest.mark.parametrize(
    ("r2", "ratio", "fit", "shape"),
    [(0.97, estimate(0.4, 0.2), AGREES, AGREES), (0.91, estimate(1.0, 0.2), OPEN, OPEN),
     (0.5, estimate(1.5, 0.2), DIFFERS, DIFFERS)],
)  # fmt: skip
def test_fits_and_slopes_are_judged_by_their_intervals(r2, ratio, fit, shape):
    found = rows(with_curves(cumulative={"L1.H0.z": curve([0.5, 0.7, 0.9], "linear", ratio, log_r2=r2)}))
    assert found["R2 of log fits, k up to 5 (cumulative)"].verdict == fit
    assert found["late slope over early slope (cumulative)"].verdict == shape
    assert found["R2 of log fits, k up to 5 (cumulative)"].n == "24 documents"


def test_adhering_documents_are_compared_and_heads_without_effect_are_not():
    one = small().counting.variants["cumulative"]
    nothing = {"L0.H2.z": curve([0.0, 0.0, 0.0], "none", estimate(9.0), log_r2=0.1)}
    study = with_variants({"cumulative": replace(one, effects_of_adherent=one.effects_of_adherent | nothing)})
    row = rows(study)["R2 of log fits, k up to 5 (cumulative)"]
    assert row.n == "18 of 24 documents" and row.verdict == AGREES and "0.2" not in row.ours.split()


@pytest.mark.parametrize(("gain", "width", "expected"), [(0.05, 0.01, DIFFERS), (0.002, 0.001, AGREES),
                                                         (0.006, 0.01, OPEN)])  # fmt: skip
def test_gains_beyond_k_10_are_parts_of_the_whole_effect(gain, width, expected):
    study = with_curves(
        cumulative={"L1.H0.z": curve([1.0] * 10, "sublinear", None)},
        marginal={"L1.H0.z": curve([gain] * 10, "falls", None, width=width)},
    )
    row = rows(study)["gain of one more beyond k = 10, by the whole effect"]
    assert row.verdict == expected and row.ours.startswith(f"1.0 {gain:.1%} [{gain - width:.1%}")


def test_a_gain_by_an_effect_that_may_be_nothing_is_not_shown():
    study = with_curves(
        cumulative={"L1.H0.z": curve([0.01] * 10, "sublinear", None, width=0.1)},
        marginal={"L1.H0.z": curve([0.5] * 10, "falls", None)},
    )
    row = rows(study)["gain of one more beyond k = 10, by the whole effect"]
    assert (row.ours, row.verdict, row.why) == ("not measured", OPEN, "no head surely has an effect to gain on")


def test_gains_beyond_k_10_that_nobody_asked_for():
    study = with_curves(marginal={"L1.H0.z": curve([0.1] * 5, "falls", None)})
    assert rows(study)["gain of one more beyond k = 10, by the whole effect"].ours == "not measured"


def rates(first, last, n):
    points = tuple(Point(k, estimate(v, 0.1, n)) for k, v in ((1, first), (10, last)))
    return Curve(points, curve([first, last], "", None).fits)


def with_rates(violations):
    return with_variants({"marginal": replace(small().counting.variants["marginal"], violations=violations)})


@pytest.mark.parametrize(
    ("first", "last", "n", "expected", "why"),
    [(0.08, 0.39, 30, AGREES, ""), (0.08, 0.2, 30, OPEN, "the intervals overlap"), (0.5, 0.1, 30, DIFFERS, ""),
     (0.08, 0.39, 12, OPEN, "fewer than 20 documents"),
     (0.08, 0.9, 30, AGREES, "they grow, to more than the paper's 39%")],
)  # fmt: skip
def test_violations_grow_only_where_intervals_of_enough_documents_are_apart(first, last, n, expected, why):
    found = rows(with_rates(rates(first, last, n)))
    row = found["pairs that do not rise (marginal)"]
    assert (row.verdict, row.why, row.n) == (expected, why, f"{n} documents")
    growth = found["how they grow (marginal)"]
    assert growth.verdict == (AGREES if expected == AGREES else OPEN), "best in 97% of draws, if they grow at all"


def with_attention(*rows):
    return small(counting=replace(small().counting, attention=rows))


def test_attention_leaves_the_injected_term_beyond_k_5():
    what = "attention beyond k = 5"
    assert rows(small())[what].verdict == AGREES
    still = with_attention(*(replace(row, mean=estimate(0.5)) for row in attention_over_k(["1.0"])))
    assert rows(still)[what].verdict == OPEN
    lacking = with_attention(*(row for row in attention_over_k(["1.0"]) if row.quantity != "inj -> qterm-"))
    assert what not in rows(lacking)


def test_all_pairs_rising_does_not_exclude_most():
    questions = small().questions
    (summary,) = questions.audits["TFC1:append"]
    every = replace(summary, holds=Estimate.of(1.0, wilson(50, 50), 50, 12))
    study = small(questions=replace(questions, audits={"TFC1:append": (every,)}))
    row = rows(study)["an appended term raises the score beyond the neutral band, all ranks"]
    assert row.verdict == AGREES, "50 of 50 may be 96.8%; a bootstrap would say [1, 1]"


def test_too_few_pairs_have_no_verdict():
    row = rows(with_top(0.7, n=4))["leading heads together at the injected term, ranks 1-10"]
    assert row.verdict == OPEN and row.why.endswith("no verdict on fewer than 8")
    variants = small().counting.variants
    few = with_variants({**variants, "cumulative": replace(variants["cumulative"], adherent_documents=3)})
    assert rows(few)["R2 of log fits, k up to 5 (cumulative)"].verdict == OPEN
    assert rows(few)["late slope over early slope (cumulative)"].verdict == OPEN
    few = with_attention(*(replace(row, mean=replace(row.mean, pairs=3)) for row in attention_over_k(["1.0"])))
    assert rows(few)["attention beyond k = 5"].verdict == OPEN


def test_violations_that_never_change_have_no_fit():
    violations = rates(0.2, 0.2, 30)
    undefined = replace(violations.fits[0], r2=Estimate.undefined())
    study = with_rates(replace(violations, fits=(undefined, *violations.fits[1:])))
    assert "how they grow (marginal)" not in rows(study)


def test_nothing_is_said_of_counting_where_nothing_was_counted():
    found = rows(with_variants({}, leading=()))
    assert not [what for what in found if "TFC2" in what or "k up to 5" in what or "do not rise" in what]


def test_adherence_is_shown_over_all_ranks_and_in_the_top_ones_never_mixed():
    row = rows(small())["an appended term raises the score beyond the neutral band, all ranks"]
    assert row.verdict == DIFFERS and row.ours == "0.900 [0.850, 0.950]"
    assert "an appended term raises the score, ranks 1-10" not in rows(small())
    eight = Estimate.of(0.8, wilson(8, 10), 10, 10)
    study = with_set("append", replace(small().append, adherence={"1-10": eight}))
    row = rows(study)["an appended term raises the score, ranks 1-10"]
    assert row.verdict == AGREES and row.ours == "0.800 [0.490, 0.943]", "Wilson's interval of 8 of 10"
