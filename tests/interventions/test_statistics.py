"""Statistics of effects, by hand and against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from whyrank.core.errors import UserError
from whyrank.evaluation.significance import benjamini_hochberg
from whyrank.interventions.effects import EffectTable
from whyrank.interventions.statistics import compare_maps, summarise_sites
from whyrank.interventions.summary import correlate, summarise


def rows(effects, gaps, qids, site="L0.H0.z", direction="denoise", **more):
    """Rows with a baseline score of 1; each effect is patched - base."""
    for i, (effect, gap, qid) in enumerate(zip(effects, gaps, qids, strict=True)):
        extra = {key: value[i] if isinstance(value, list) else value for key, value in more.items()}
        yield {
            "pair": f"p{i}", "qid": qid, "site": site, "base": 1.0, "perturbed": 1.0 + gap,
            "patched": 1.0 + effect, "effect": effect, "method": "activation", "direction": direction, **extra,
        }  # fmt: skip


def frame(*several):
    return EffectTable.of(row for one in several for row in one).frame


def test_by_hand():
    effects, gaps = [1.0, 0.5, -0.1, 0.0, 0.2, 0.4, 0.3], [2.0, 1.0, 0.01, 1.0, 1.0, 2.0, 1.0]
    (summary,) = summarise_sites(frame(rows(effects, gaps, ["a", *"abcdef"])), min_gap=0.5)
    assert summary.ratio_of_sums.value == pytest.approx(2.3 / 8.01)
    assert summary.mean_effect.value == pytest.approx(2.3 / 7)
    kept = [0.5, 0.5, 0.0, 0.2, 0.2, 0.3]
    assert summary.mean_of_ratios == pytest.approx(np.mean(kept)), "the exploding pair is dropped"
    assert summary.dropped == pytest.approx(1 / 7)
    assert summary.p == pytest.approx(stats.ttest_1samp([0.75, -0.1, 0.0, 0.2, 0.4, 0.3], 0).pvalue)
    assert (summary.n, summary.queries) == (7, 6)
    for one in (summary.ratio_of_sums, summary.mean_effect):
        assert one.low <= one.value <= one.high and (one.pairs, one.queries) == (7, 6)


def test_intervals_redraw_whole_queries():
    """Against scipy's bootstrap of the ratio of sums over queries."""
    generator = np.random.default_rng(1)
    gaps = generator.uniform(0.5, 2, 60)
    effects = 0.4 * gaps + generator.normal(0, 0.2, 60)
    qids = [f"q{i // 3}" for i in range(60)]
    (summary,) = summarise_sites(frame(rows(effects, gaps, qids)))
    sums = pd.DataFrame({"q": qids, "e": effects, "g": gaps}).groupby("q").sum()
    theirs = stats.bootstrap(
        (sums["e"], sums["g"]), lambda e, g, axis: e.sum(axis) / g.sum(axis), paired=True, vectorized=True,
        method="percentile", n_resamples=4000, rng=0,
    ).confidence_interval  # fmt: skip
    found = summary.ratio_of_sums
    assert (found.low, found.high) == pytest.approx(tuple(theirs), abs=0.006)


def test_a_pair_without_a_gap_is_not_scored_zero():
    (summary,) = summarise_sites(frame(rows([1.0, 0.3], [2.0, 0.0], ["a", "b"])))
    assert summary.ratio_of_sums.value == pytest.approx(1.3 / 2.0)
    assert summary.mean_of_ratios == pytest.approx(0.5)
    (none,) = summarise_sites(frame(rows([0.3], [0.0], ["a"])))
    assert none.ratio_of_sums.value is None and none.mean_of_ratios is None


def test_a_site_that_a_pair_lacks_is_missing_not_zero():
    both = frame(
        rows([1.0, 0.5], [1.0, 1.0], ["a", "b"], "L0.H0.z@inj"),
        rows([0.5], [1.0], ["a"], "L0.H0.z@qterm+"),
    )
    first, second = summarise_sites(both)
    assert (first.n, second.n) == (2, 1)
    assert second.mean_effect.value == 0.5 and second.ratio_of_sums.value == 0.5


def test_noise_is_tested_by_its_change_from_the_perturbed_run():
    """patched = perturbed: nothing lost, so nothing found, though patched - base is the whole gap."""
    generator = np.random.default_rng(0)
    gaps = generator.uniform(1, 2, 12)
    (summary,) = summarise_sites(frame(rows(gaps, gaps, [f"q{i}" for i in range(12)], direction="noise")))
    assert summary.ratio_of_sums.value == pytest.approx(1)
    assert summary.mean_change.value == pytest.approx(0, abs=1e-12) and summary.p > 0.05


def test_p_values_are_adjusted_over_sites_as_scipy_would():
    generator = np.random.default_rng(0)
    made = [
        rows(
            generator.normal(0.2 * site, 1, 12).tolist(), [1.0] * 12, [f"q{i}" for i in range(12)], f"L0.H{site}.z"
        )
        for site in range(6)
    ]
    found = summarise_sites(frame(*made))
    expected = stats.false_discovery_control([summary.p for summary in found])
    assert [summary.p_bh for summary in found] == pytest.approx(expected.tolist())
    assert benjamini_hochberg([0.5, float("nan")])[0] == 0.5
    assert all(one.p_holm >= one.p_bh >= one.p for one in found)


def two_maps():
    generator = np.random.default_rng(3)
    truth = generator.uniform(-1, 1, 8)
    made = []
    for noise in (0.1, 0.3):
        several = []
        for site, value in enumerate(truth):
            effects = value + generator.normal(0, noise, 20)
            several.append(rows(effects, [1.0] * 20, [f"q{i // 2}" for i in range(20)], f"L0.H{site}.z"))
        made.append(frame(*several))
    return made


def test_the_correlation_of_two_maps():
    one, other = two_maps()
    correlation, points = compare_maps(one, other)
    maps = [each.groupby("site")["effect"].mean() for each in (one, other)]
    assert correlation.pearson == pytest.approx(stats.pearsonr(*maps).statistic)
    assert correlation.spearman == pytest.approx(stats.spearmanr(*maps).statistic)
    assert correlation.interval.low <= correlation.pearson <= correlation.interval.high + 1e-9
    assert correlation.interval.high - correlation.interval.low > 1e-4
    assert len(points) == correlation.sites == 8
    assert compare_maps(one, one)[0].pearson == pytest.approx(1)
    typed, both = correlate(one, other)
    assert typed.pearson.value == pytest.approx(correlation.pearson) and typed.sites == len(both) == 8
    assert (typed.pearson.pairs, typed.pearson.queries) == (20, 10)


def test_keeping_adherent_pairs_says_what_it_does():
    made = frame(
        rows([0.5, 0.5, 0.4, 0.2], [1.0, 1.0, -1.0, 0.5], ["a", "b", "c", "d"]),
        rows([0.1, 0.3, 0.2, 0.2], [1.0, 1.0, -1.0, 0.5], ["a", "b", "c", "d"], "L0.H1.z"),
        rows([0.2, 0.2, 0.9, 0.1], [1.0, 1.0, -1.0, 0.5], ["a", "b", "c", "d"], "L0.H2.z"),
    )
    everything, adherent = summarise(made), summarise(made, keep="adherent")
    assert (everything.pairs, adherent.pairs) == (4, 3)
    assert adherent.keep.rule == "adherent"
    assert everything.keep.adherent == adherent.keep.adherent == 3
    change = everything.keep.largest_change
    assert change.site == "L0.H2.z"
    assert change.all == pytest.approx(1.4 / 1.5) and change.adherent == pytest.approx(0.5 / 2.5)
    with pytest.raises(UserError, match="adherent"):
        summarise(made, keep="some")
    with pytest.raises(UserError, match="scores higher"):
        summarise(frame(rows([0.5], [-1.0], ["a"])), keep="adherent")


def test_splits_by_rank_term_axiom_variant_and_k():
    made = frame(
        rows(
            [1.0, 0.0, 0.5, 0.5, 0.2], [1.0] * 5, list("abcde"), rank=[1, 10, 11, 95, 300],
            term_present=[True, False, True, False, None], axiom=["TFC1", "TFC1", "TFC2", "TFC2", None],
            variant=["append", "prepend", "marginal", "marginal", None], k=[None, None, 1, 2, None],
        )
    )  # fmt: skip
    splits = summarise(made).splits
    sizes = {name: {group: sites[0].n for group, sites in groups.items()} for name, groups in splits.items()}
    assert sizes == {
        "rank": {"1-10": 2, "11-90": 1, "91-100": 1, "101 and below": 1},
        "term_present": {"no": 2, "yes": 2},
        "axiom": {"TFC1": 2, "TFC2": 2},
        "k": {"1": 1, "2": 1},
        "variant": {"TFC1:append": 1, "TFC1:prepend": 1, "TFC2:marginal": 2},
    }
    assert splits["rank"]["1-10"][0].ratio_of_sums.value == pytest.approx(0.5)
    (between,) = summarise(made).between_axioms
    assert (between.axiom, between.other, between.correlation.sites) == ("TFC1", "TFC2", 1)


def test_positions_are_summed_up_by_category_within_a_pair_first():
    """Two positions of `other` in one pair, one in the other: means of means, as the papers do."""
    made = []
    for pair, effects in (("p0", [0.2, 0.4]), ("p1", [0.9])):
        for place, effect in enumerate(effects):
            made.append({
                "pair": pair, "qid": pair, "site": f"L0.H0.z@{place}", "position": place, "category": "other",
                "base": 0.0, "perturbed": 1.0, "patched": effect, "effect": effect, "method": "activation",
                "direction": "denoise", "layer": 0, "head": 0,
            })  # fmt: skip
    (site,) = summarise(EffectTable.of(made).frame, by="position").sites
    assert (site.site, site.n, site.category) == ("L0.H0.z@other", 2, "other")
    assert site.mean_effect.value == pytest.approx((0.3 + 0.9) / 2)


def test_a_site_of_fewer_than_six_queries_has_no_interval_and_no_p():
    """A circuit on two pairs is not sure to three digits."""
    both = frame(
        rows(np.linspace(0.2, 1, 6), [1.0] * 6, list("abcdef")),
        rows([0.5, 0.6], [1.0] * 2, ["a", "b"], "L0.H1.z@qterm+"),
    )
    first, second = summarise_sites(both)
    assert first.ratio_of_sums.low < first.ratio_of_sums.high and first.p < 0.05
    for one in (second.share, second.ratio_of_sums, second.mean_effect, second.mean_change):
        assert (one.low, one.high, one.no_interval) == (None, None, "too few queries")
    assert second.p is None and second.p_holm is None and second.p_bh is None


def test_identical_sides_have_no_share_of_the_gap():
    """Scores of one text differ by rounding: a share of that would be anything."""
    qids, noise = [f"q{i}" for i in range(8)], np.random.default_rng(0).normal(0, 1e-8, size=8)
    (summary,) = summarise_sites(frame(rows(noise * 2, noise, qids)))
    assert summary.share.value is None and summary.ratio_of_sums.value is None
    assert summary.mean_of_ratios is None and summary.share.no_interval == "not defined"
    assert abs(summary.mean_effect.value) < 1e-7


def test_noise_counts_what_is_lost():
    """Of a gap of 1, one site's patch leaves .2, the other's all of it."""
    qids = [f"q{i}" for i in range(6)]
    made = frame(
        rows([0.2] * 6, [1.0] * 6, qids, "L0.H0.z", "noise"), rows([1.0] * 6, [1.0] * 6, qids, "L0.H1.z", "noise")
    )
    needed, idle = summarise_sites(made)
    assert (needed.share.value, needed.ratio_of_sums.value) == pytest.approx((0.8, 0.2))
    assert idle.share.value == pytest.approx(0) and idle.ratio_of_sums.value == pytest.approx(1)


def test_ablations_are_compared_by_their_change_not_by_a_share_of_the_gap():
    """The same ablation where the gap has the other sign: the same map."""
    generator, qids = np.random.default_rng(2), [f"q{i}" for i in range(8)]
    effects = [generator.normal(size=8) for _ in range(5)]
    one, other = (
        frame(*(rows(e, [sign] * 8, qids, f"L0.H{i}.z", method="ablation") for i, e in enumerate(effects)))
        for sign in (1.0, -1.0)
    )
    assert compare_maps(one, other)[0].pearson == pytest.approx(1)


def test_maps_with_a_missing_site_keep_their_correlation():
    one, other = two_maps()
    gone = other[~((other["site"] == "L0.H3.z") & (other["qid"] != "q0"))]
    correlation, _ = compare_maps(one, gone)
    assert np.isfinite(correlation.interval.low) and correlation.spearman > 0.5
