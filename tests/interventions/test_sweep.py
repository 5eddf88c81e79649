"""Sweeps, their rows and statistics; resuming after a kill; a damaged shard."""

import numpy as np
import pytest
from scipy import stats

from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.errors import UserError
from whyrank.evaluation.significance import benjamini_hochberg
from whyrank.interventions import sweep as sweeping
from whyrank.interventions.effects import COLUMNS, Effects
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import summarise_sites
from whyrank.interventions.sweep import sweep


@pytest.fixture
def ranker(real):
    return real("bi-minilm-l3")


@pytest.fixture
def pairs(ranker):
    return make_pairs("TFC1:append,TFC1:replace", "demo", [ranker], Choices(n=3)).pairs


def test_a_row_a_pair_and_site(ranker, pairs):
    effects = sweep(ranker, pairs, SitePlan.parse("heads", ranker.encoder))
    frame = effects.to_pandas()
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 6 * 36
    assert (frame["effect"] - (frame["patched"] - frame["base"])).abs().max() < 1e-12
    assert set(frame["layer"]) == {0, 1, 2}
    assert frame["position"].isna().all()
    assert frame["term_present"].notna().all()


def test_by_category_leaves_out_what_a_pair_lacks(ranker, pairs):
    frame = sweep(ranker, pairs, SitePlan.parse("L1.resid,L1.H2.z", ranker.encoder, by="category")).to_pandas()
    for pair in pairs:
        mine = frame[frame["pair"] == pair.id]
        has_term = bool(pair.tf) and pair.variant != "replace"
        assert ("qterm+" in set(mine["category"])) == has_term
        assert {"cls", "inj", "other", "sep"} <= set(mine["category"])


def test_by_position_has_every_position_and_sums_are_not_assumed(ranker, pairs):
    frame = sweep(ranker, pairs[:1], SitePlan.parse("L2.H3.z", ranker.encoder, by="position")).to_pandas()
    length = len(ranker.document_tokens(pairs[0].query, pairs[0].baseline))
    assert frame["position"].tolist() == list(range(length))


def test_shards_are_taken_up_again_and_damaged_ones_made_anew(ranker, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "PAIRS_A_SHARD", 2)
    plan = SitePlan.parse("L0.H1.z,L1.mlp", ranker.encoder)
    whole = sweep(ranker, pairs, plan, shards=tmp_path / "a").frame
    made = []
    real_patch = sweeping.patch_pair
    monkeypatch.setattr(
        sweeping, "patch_pair", lambda r, pair, *a, **k: (made.append(pair.id), real_patch(r, pair, *a, **k))[1]
    )
    (tmp_path / "a" / "00001.parquet").write_bytes(b"damaged")
    (tmp_path / "a" / "00002.json").unlink()
    again = sweep(ranker, pairs, plan, shards=tmp_path / "a").frame
    assert made == [pair.id for pair in pairs[2:6]]
    assert again.equals(whole)
    made.clear()
    sweep(ranker, pairs, SitePlan.parse("L0.H2.z", ranker.encoder), shards=tmp_path / "a")
    assert len(made) == 6, "shards of other work are never taken up"


def test_bad_sites_and_pairs_are_named(ranker, pairs):
    with pytest.raises(UserError, match="layers are 0 to 2"):
        SitePlan.parse("L3.H0.z", ranker.encoder)
    with pytest.raises(UserError, match="position"):
        SitePlan.parse("heads", ranker.encoder, by="word")
    with pytest.raises(UserError, match="already"):
        SitePlan.parse("L1.H0.z@inj", ranker.encoder, by="category")
    natural = MinimalPair("x", "q", "a b", "c d e f", aligned=False)
    with pytest.raises(UserError, match="'x' cannot be patched"):
        sweep(ranker, [natural], SitePlan.parse("heads", ranker.encoder))


def rows(effects, gaps, qids, site="L0.H0.z"):
    for i, (effect, gap, qid) in enumerate(zip(effects, gaps, qids, strict=True)):
        yield {
            "pair": f"p{i}",
            "qid": qid,
            "site": site,
            "base": 1.0,
            "perturbed": 1.0 + gap,
            "patched": 1.0 + effect,
            "effect": effect,
        }


def test_statistics_by_hand():
    effects, gaps, qids = [1.0, 0.5, -0.1, 0.0], [2.0, 1.0, 0.01, 1.0], ["a", "a", "b", "c"]
    (summary,) = summarise_sites(Effects.of(rows(effects, gaps, qids)), threshold=0.5)
    assert summary.ratio_of_sums == pytest.approx(1.4 / 4.01)
    assert summary.mean_effect == pytest.approx(0.35)
    assert summary.mean_of_ratios == pytest.approx(np.mean([0.5, 0.5, 0.0])), "the exploding pair is dropped"
    assert summary.dropped_by_threshold == pytest.approx(0.25)
    assert summary.p == pytest.approx(stats.ttest_1samp([0.75, -0.1, 0.0], 0).pvalue)
    assert (summary.n, summary.queries) == (4, 3)
    assert summary.interval.low <= summary.ratio_of_sums <= summary.interval.high


def test_a_pair_without_a_gap_is_not_scored_zero():
    (summary,) = summarise_sites(Effects.of(rows([1.0, 0.3], [2.0, 0.0], ["a", "b"])))
    assert summary.ratio_of_sums == pytest.approx(1.3 / 2.0)
    assert summary.mean_of_ratios == pytest.approx(0.5)


def test_p_values_are_adjusted_over_sites_as_scipy_would():
    generator = np.random.default_rng(0)
    made = []
    for site in range(6):
        made += rows(
            generator.normal(0.2 * site, 1, 12).tolist(), [1.0] * 12, [f"q{i}" for i in range(12)], f"L0.H{site}.z"
        )
    found = summarise_sites(Effects.of(made))
    expected = stats.false_discovery_control([summary.p for summary in found])
    assert [summary.p_bh for summary in found] == pytest.approx(expected.tolist())
    assert benjamini_hochberg([0.5, float("nan")])[0] == 0.5
