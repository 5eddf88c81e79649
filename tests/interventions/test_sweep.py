"""Sweeps and their rows; shards that are taken up again, damaged ones, those of other work."""

import json

import pytest

from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.interventions import sweep as sweeping
from whyrank.interventions.activation import Activation
from whyrank.interventions.api import patch
from whyrank.interventions.effects import COLUMNS
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.summary import Screen
from whyrank.interventions.sweep import Work, sweep


@pytest.fixture
def ranker(real):
    return real("bi-minilm-l3")


@pytest.fixture
def pairs(ranker):
    return make_pairs("TFC1:append,TFC1:replace", "demo", [ranker], Choices(documents=3)).pairs


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
    assert frame["category"].iloc[0] == "cls" and "inj" in set(frame["category"])


def test_shards_are_taken_up_again_and_damaged_ones_made_anew(ranker, pairs, tmp_path, monkeypatch):
    monkeypatch.setattr(sweeping, "PAIRS_PER_SHARD", 2)
    plan = SitePlan.parse("L0.H1.z,L1.mlp", ranker.encoder)
    whole = sweep(ranker, pairs, plan, shards=tmp_path / "a").frame
    made = []
    real_effects = Work.effects

    def counted(work, ranker, some, progress=None):
        made.extend(pair.id for pair in some)
        return real_effects(work, ranker, some, progress)

    monkeypatch.setattr(Work, "effects", counted)
    (tmp_path / "a" / "00001.shard").write_bytes(b"damaged")
    (tmp_path / "a" / "00002.shard").unlink()
    again = sweep(ranker, pairs, plan, shards=tmp_path / "a").frame
    assert made == [pair.id for pair in pairs[2:6]]
    assert again.equals(whole)
    made.clear()
    first = tmp_path / "a" / "00000.shard"
    first.write_bytes(first.read_bytes()[:-1])
    assert sweep(ranker, pairs, plan, shards=tmp_path / "a").frame.equals(whole)
    assert made == [pair.id for pair in pairs[:2]]
    made.clear()
    sweep(ranker, pairs, SitePlan.parse("L0.H2.z", ranker.encoder), shards=tmp_path / "a")
    assert len(made) == 6, "shards of other sites are never taken up"
    made.clear()
    sweep(ranker, pairs, SitePlan.parse("L0.H2.z", ranker.encoder), Activation("noise"), shards=tmp_path / "a")
    assert len(made) == 6, "nor those of another direction"
    notes = [json.loads(path.read_bytes().split(b"\n", 1)[0]) for path in (tmp_path / "a").iterdir()]
    assert notes and all(len(note["sha256"]) == 64 for note in notes)


def test_bad_sites_and_pairs_are_named(ranker, pairs):
    with pytest.raises(UserError, match="layers are 0 to 2"):
        SitePlan.parse("L3.H0.z", ranker.encoder)
    with pytest.raises(UserError, match="position"):
        SitePlan.parse("heads", ranker.encoder, by="word")
    with pytest.raises(UserError, match="already"):
        SitePlan.parse("L1.H0.z@inj", ranker.encoder, by="category")
    natural = MinimalPair("x", "q", "a b", "c d e f", aligned=False)
    with pytest.raises(UserError, match="'x' cannot be patched"):
        patch(ranker, [natural])
    with pytest.raises(UserError, match="no pair"):
        patch(ranker, [natural], skip=True)
    left = patch(ranker, [natural, *pairs[:2]], sites="0.1", skip=True)
    assert (len(left), sum(left.dropped.values())) == (2, 1)
    with pytest.raises(UserError, match="is not below any receiver"):
        patch(ranker, pairs, method="path", sites="2.1", to="L1.H0.v")
    with pytest.raises(UserError, match="layers are 0 to 2"):
        patch(ranker, pairs, method="path", to="L7.H0.v")
    with pytest.raises(UserError, match="no site of 'heads' is below"):
        patch(ranker, pairs, method="path", to="L0.H0.v")
    with pytest.raises(UserError, match="bm25 cannot be opened"):
        patch("bm25", pairs)
    for wrong in ({"method": "x"}, {"direction": "up"}, {"freeze_mlp": True}, {"to": "L1.H0.v"}):
        with pytest.raises(UserError, match=r"choose|belongs"):
            patch(ranker, pairs, **wrong)
    for method in ("path", "ablation"):
        with pytest.raises(UserError, match="screen does not go with"):
            patch(ranker, pairs, method=method, screen=3)


def test_a_perturbation_beyond_the_models_length_is_refused(ranker):
    text = " ".join(["water"] * 600)
    beyond = MinimalPair("far", "tea", f"{text} a cup", f"{text} tea cup", term="tea")
    with pytest.raises(UserError, match=r"'far' cannot be patched .* the model's length"):
        patch(ranker, [beyond], sites="0.1")
    appended = MinimalPair("end", "tea", f"{text} a", f"{text} tea", term="tea")
    assert len(patch(ranker, [appended], sites="0.1@inj")) == 1, "the text before an appended change is cut"


def test_senders_are_those_below_the_receivers(ranker, pairs):
    frame = patch(ranker, pairs[:1], method="path", to="L1.H2.v,L1.H3.q").to_pandas()
    assert set(frame["layer"]) == {0} and set(frame["receiver"]) == {"L1.H2.v+L1.H3.q"}
    blocks = patch(ranker, pairs[:1], method="path", sites="blocks", to="L1.H2.v").to_pandas()
    assert list(blocks["site"]) == ["L0.resid", "L0.attn", "L0.mlp", "L1.resid"]


def test_screening_patches_the_best_exactly(ranker, pairs):
    effects = patch(ranker, pairs, screen=4)
    frame = effects.to_pandas()
    approximate, exact = (frame[frame["method"] == name] for name in ("attribution", "activation"))
    assert approximate["site"].nunique() == 36 and exact["site"].nunique() == 4
    sums = approximate.groupby("site")["effect"].sum().abs()
    assert set(exact["site"]) == set(sums.nlargest(4).index)
    assert effects.method == "activation" and effects.screen == Screen(of=36, kept=4)
    for site in effects.sites:
        assert site.p_holm == pytest.approx(min(1, max(site.p_holm, site.p)))
        assert site.p_holm >= min(1.0, 33 * site.p) - 1e-12, "adjusted for all 36, not for the 4 chosen"


def test_attribution_is_checked_on_a_sample(ranker, pairs):
    effects = patch(ranker, pairs, method="attribution", check=3)
    assert effects.method == "attribution" and len(effects.sites) == 36
    assert effects.agreement.pairs == 3 and effects.agreement.rows == 3 * 36
    assert effects.agreement.correlation.pearson.value > 0.9


def test_screening_by_noise_keeps_the_sites_that_are_needed(ranker, pairs):
    frame = patch(ranker, pairs, screen=4, direction="noise").to_pandas()
    approximate, exact = (frame[frame["method"] == name] for name in ("attribution", "activation"))
    changes = (approximate["patched"] - approximate["perturbed"]).groupby(approximate["site"]).sum().abs()
    assert set(exact["site"]) == set(changes.nlargest(4).index)


def test_screening_counts_every_cut_that_was_looked_at(ranker, pairs):
    effects = patch(ranker, pairs, screen=2, by="category")
    frame = effects.to_pandas()
    looked_at = frame[frame["method"] == "attribution"]["site"].nunique()
    assert effects.screen == Screen(looked_at, len(effects.sites)) and looked_at > 36


def test_a_site_that_no_pair_has_is_named(ranker, pairs):
    for method in ("activation", "attribution", "path"):
        with pytest.raises(UserError, match=r"no pair has L0\.H1\.z@filler"):
            patch(ranker, pairs, method=method, sites="0.1@filler")
    with pytest.raises(UserError, match=r"no pair has L0\.H1\.z@999"):
        patch(ranker, pairs, sites="0.1@999,1.2")


def test_two_sites_are_too_few_to_correlate_but_not_to_sum_up(ranker, pairs):
    effects = patch(ranker, pairs, method="attribution", sites="0.1,0.2", check=2)
    assert effects.agreement.correlation.pearson.value is None


def test_a_position_that_is_not_read_has_effect_exactly_0(real):
    ranker = real("ce-minilm-l12")
    (pair,) = make_pairs("TFC1:append", "demo", [ranker], Choices(documents=1)).pairs
    frame = patch(ranker, [pair], sites="11.3", by="position").to_pandas()
    assert (frame["effect"][1:] == 0).all() and frame["effect"][0] != 0


def test_words_that_differ_only_in_part_are_refused_not_a_bug(ranker):
    text = "lifespan is long"
    pair = MinimalPair("s", "what is a cat's lifespan", f"a cat's {text}", f"a dog's {text}", term="dog")
    try:
        assert len(patch(ranker, [pair], sites="0.1")) == 1
    except UserError as error:
        assert "'s' cannot be patched" in str(error)


def test_maps_of_runs_are_made_of_one_method(ranker, pairs):
    plain, screened = patch(ranker, pairs), patch(ranker, pairs, screen=5)
    assert plain.correlation(screened).sites == 5
    assert plain.correlation(screened).pearson.value == pytest.approx(1, abs=1e-6), "exact against exact"


def test_a_reference_set_of_its_own(ranker, pairs, tmp_path):
    from whyrank.axioms.pair import write_pairs

    write_pairs(tmp_path / "reference.jsonl", pairs[3:])
    own = patch(ranker, pairs[:3], method="ablation", ablate="mean", sites="1.2")
    other = patch(
        ranker,
        pairs[:3],
        method="ablation",
        ablate="mean",
        sites="1.2",
        reference=str(tmp_path / "reference.jsonl"),
    )
    assert not own.frame["patched"].equals(other.frame["patched"])
