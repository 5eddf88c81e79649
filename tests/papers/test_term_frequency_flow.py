"""Where the signal stands and goes; several rankers side by side; whose documents are studied."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.checkpoints import save
from tests.circuits.test_search import pairs
from tests.papers.small_study import small, with_set
from whyrank.collections.collection import Collection
from whyrank.core.progress import no_progress
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.api import patch
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.papers.term_frequency.analysis import label, reads
from whyrank.papers.term_frequency.atlas import atlas
from whyrank.papers.term_frequency.depth import depth_part, over_depth, relative_depth
from whyrank.papers.term_frequency.documents import own_top
from whyrank.papers.term_frequency.flow import FinalStates, final_states, information_flow, links, pick_up
from whyrank.papers.term_frequency.parts import Depth, FlowRow, PairedDifference, SiteEffect
from whyrank.papers.term_frequency.sizes import Sizes, all_heads
from whyrank.papers.term_frequency.summaries import mean_gap, with_gap
from whyrank.papers.term_frequency.together import together
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def bi(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("bi"))), kind="bi-encoder")


@pytest.fixture(scope="module")
def cross(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


def share(frame):
    return frame["effect"].sum() / (frame["perturbed"] - frame["base"]).sum()


def flow_of(ranker, some):
    def frame(plan, how=None):
        return sweep(ranker, some, plan, how).frame

    blocks = frame(SitePlan.parse("blocks", ranker.encoder, "category"))
    heads, layers = ranker.encoder.heads, ranker.encoder.layers
    return information_flow(
        blocks,
        frame(final_states(ranker.encoder), FinalStates()),
        lambda layer: frame(*pick_up(layer, heads)),
        layers,
    )


def test_flow_is_what_patching_gives(bi):
    some = pairs("TFC1", 4)
    rows = {(row.layer, row.category): row for row in flow_of(bi, some)}
    assert {layer for layer, _ in rows} == {0, 1, 2, 3}
    assert rows[3, "cls"].stands.value == pytest.approx(1.0, abs=1e-4), "CLS is all that this one reads"
    assert rows[3, "inj"].stands.value == pytest.approx(0.0, abs=1e-4)
    stands = patch(bi, some, sites="L1.resid@inj").frame
    assert rows[1, "inj"].stands.value == pytest.approx(share(stands), abs=1e-4)
    heads = ",".join(f"L1.H{head}.{part}" for head in range(4) for part in "qkv")
    moves = patch(bi, some, method="path", sites="L1.resid@inj", to=heads).frame
    assert rows[1, "inj"].moves.value == pytest.approx(share(moves), abs=1e-4)
    lands = patch(bi, some, sites="L1.attn@cls").frame
    assert rows[1, "cls"].lands.value == pytest.approx(share(lands), abs=1e-4)
    assert rows[0, "inj"].stands.value == pytest.approx(1.0, abs=1e-4), "at first only the term differs"
    assert rows[0, "cls"].stands.value == pytest.approx(0.0, abs=1e-4)


def test_the_last_states_of_mean_pooling_add_up(tmp_path):
    """The dot product with a mean is linear in the states: the shares of all categories add up to 1."""
    mean = load(str(save(tmp_path)), kind="bi-encoder", pooling="mean")
    last = [row for row in flow_of(mean, pairs("TFC1", 4)) if row.layer == 3]
    assert sum(row.stands.value for row in last) == pytest.approx(1.0, abs=1e-4)
    assert len(last) > 3 and max(abs(row.stands.value) for row in last) < 0.99


def by_hand(rows, **more):
    """(qid, pair, gap, category, effect), of the residual stream at layer 0."""
    shared = {"base": 0.0, "direction": "denoise", "method": "activation", "layer": 0, "head": None, **more}
    return pd.DataFrame(
        [{"pair": pair, "qid": qid, "site": f"L0.resid@{category}", "category": category, "effect": effect,
          "patched": effect, "perturbed": gap, **shared} for qid, pair, gap, category, effect in rows]
    )  # fmt: skip


#: Two pairs that have a duplicate of the term, whose gaps cancel, and two that have none.
SOME_LACK = by_hand(
    [("1", "a", 0.6, "inj", 0.5), ("1", "b", 1.4, "inj", 1.3),
     ("2", "c", 0.5, "inj", 0.4), ("2", "d", -0.5, "inj", 0.2),
     ("2", "c", 0.5, "qterm+", 0.3), ("2", "d", -0.5, "qterm+", -0.1)]
)  # fmt: skip


def test_what_stands_is_a_part_of_all_pairs_gaps():
    """The pairs with a duplicate have no gap in sum: of their own gap the share would be infinite."""
    found = information_flow(SOME_LACK, SOME_LACK.iloc[:0], lambda layer: SOME_LACK.iloc[:0], 1)
    stands = {row.category: row.stands for row in found}
    assert stands["inj"].value == pytest.approx(2.4 / 2.0) and stands["inj"].pairs == 4
    assert stands["qterm+"].value == pytest.approx(0.2 / 2.0) and stands["qterm+"].pairs == 2


def test_sites_whose_pairs_may_have_no_gap_are_marked():
    rows = by_hand(
        [(str(q), f"{q}{i}", gap, name, 0.1)
         for q in range(8) for i, gap, name in ((0, 1.0, "inj"), (1, (-1) ** q, "inj"), (1, (-1) ** q, "qterm+"))]
    )  # fmt: skip
    sites = [head("L0.resid@inj", 0, None, 0.2), head("L0.resid@qterm+", 0, None, 9.0)]
    assert [one.has_gap for one in with_gap(sites, rows)] == [True, False]
    assert with_gap(sites, rows)[1].share.value == 9.0
    gap = mean_gap(rows)
    assert gap.low <= 0.5 <= gap.high and gap.is_sure
    assert mean_gap(rows[rows["qid"] < "5"]).no_interval == "too few queries"


def known(value):
    return Estimate(value, 0.0, 1.0, 7, 7)


def test_links_share_out_what_moves():
    rows = [
        FlowRow(0, "inj", moves=known(0.6), lands=known(0.1)),
        FlowRow(0, "cls", moves=known(-0.2), lands=known(0.3)),
        FlowRow(1, "cls", moves=Estimate.undefined(), lands=Estimate.undefined()),
    ]
    noise = FlowRow(0, "sep", lands=known(1e-5))
    found = links([*rows, noise])
    assert [(one.source, one.target) for one in found] == [("inj", "inj"), ("inj", "cls")]
    assert [one.width for one in found] == pytest.approx([0.15, 0.45])


def head(site, layer, number, value, p=0.01):
    share = Estimate.undefined(7) if value is None else known(value)
    return SiteEffect(site, layer, number, None, 7, 7, share, share, share, share, value, 0.0, p, p, p)


def test_depth_is_relative():
    assert relative_depth(0, 6) == 0 and relative_depth(5, 6) == 1 and relative_depth(0, 1) == 0
    assert [depth_part(layer, 12) for layer in range(12)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert [depth_part(layer, 6) for layer in range(6)] == [0, 1, 2, 3, 4, 5]


def effects(rows):
    """(qid, site, effect), each of a pair of its own with a gap of 1."""
    shared = {"base": 0.0, "perturbed": 1.0, "direction": "denoise", "method": "activation"}
    return pd.DataFrame(
        [{"pair": f"p{i}", "qid": qid, "site": name, "effect": effect, "patched": effect, **shared}
         for i, (qid, name, effect) in enumerate(rows)]
    )  # fmt: skip


def test_the_profile_over_depth_by_hand():
    """|.3| and |-.1| of significant heads count, the noise of the third does not."""
    sites = [head("a", 0, 0, 0.3), head("b", 5, 1, -0.1), head("c", 2, 1, 0.5, p=0.4)]
    rows = [(f"q{q}", name, value) for q in range(4) for name, value in (("a", 0.3), ("b", -0.1), ("c", 0.5))]
    found = over_depth(effects(rows), sites, 6, parts=2)
    assert [part.value for part in found.profile] == pytest.approx([0.75, 0.25])
    assert found.significant == 2 and found.mean.value == pytest.approx(0.25)
    none = over_depth(effects(rows), [replace(one, p_holm=None) for one in sites], 6)
    assert none.significant == 0 and none.profile == ()


def ranker(name, layers, heads, profile, null=()):
    """A study in which only heads, depth and the null are of interest."""
    some = tuple(head(f"L{layer}.H{number}.z", layer, number, value) for layer, number, value in heads)
    depth = Depth(2, tuple(map(known, profile)), known(0.5), (tuple(profile), tuple(profile[::-1])), 20)
    append = replace(small().append, heads=some)
    return with_set("append", append, ranker=name, layers=layers, depth=depth, controls={"null": null})


def test_an_atlas_compares_maps_only_of_one_shape():
    tiny = ranker("a", 2, [(0, 0, 0.5), (0, 1, 0.1), (1, 0, 0.2), (1, 1, None)], [0.1, 0.3, 0.6])
    same = ranker("b", 2, [(0, 0, 0.4), (0, 1, 0.1), (1, 0, 0.3)], [0.1, 0.3, 0.6])
    large = ranker("c", 3, [(0, 0, 0.1), (2, 0, 0.9)], [])
    found = atlas([tiny, same, large], ["a", "b", "c"])
    assert [one.ranker for one in found.rankers] == ["a", "b", "c"]
    assert found.rankers[0].carrying[0].head == "0.0" and found.rankers[0].pairs == 7
    alike = {(one.one, one.other): one for one in found.alike}
    assert alike["a", "b"].map > 0.8 and alike["a", "c"].map is None
    assert alike["a", "b"].profile.value == pytest.approx(1.0) and alike["a", "c"].profile.value is None


def test_an_atlas_says_which_heads_carry_another_word_as_well():
    null = tuple(
        PairedDifference(f"L0.H{number}.z", 0, number, None, 0.0, 0.0, Estimate(0.1, low, 0.2, 7, 7), None)
        for number, low in ((0, -0.1), (1, 0.1))
    )
    one = ranker("a", 2, [(0, 0, 0.5), (0, 1, 0.3), (1, 0, 0.2)], [0.1, 0.9], null)
    carrying = atlas([one], ["a"]).rankers[0].carrying
    assert [head.beyond_null for head in carrying] == [False, True, None]


def test_heads_are_chosen_on_one_half_and_measured_on_the_other(bi):
    some = pairs("TFC1", 8)
    every = SitePlan.parse("heads", bi.encoder)
    asked = []

    def rows(name, mine, plan):
        asked.append((name, {pair.qid for pair in mine}, str(plan.sets[0])))
        return sweep(bi, mine, plan).frame

    found = together(sweep(bi, some, every).frame, some, rows)
    first, second = (halves for name, halves, _ in asked if name.startswith("together, all"))
    assert not first & second and first | second == {pair.qid for pair in some}
    of_first = next(sites for name, _, sites in asked if name == "together, all, half 1")
    assert of_first == "+".join(f"L{head.split('.')[0]}.H{head.split('.')[1]}.z@inj" for head in found.halves[1])
    assert found.all.share.pairs == len(some)


def test_what_a_page_says_of_its_ranker(bi, cross):
    assert (reads(bi), reads(cross)) == ("[CLS]", "a head on [CLS]") and label(bi) == bi.name


def test_whose_documents(bi, cross):
    documents = {"d1": "the cat sat", "d2": "the dog runs", "d3": "red cat on a mat", "d4": "blue house"}
    collection = Collection.from_records("tiny", documents, {"q1": "red cat", "q2": "dog house"})
    run, origin, cut = own_top(bi, collection, 2, k=3, progress=no_progress)
    assert origin == "all 4 documents" and {len(rows) for rows in run.values()} == {3} and cut == 0
    best = bi.rank("red cat", list(documents.values()))[0]
    assert documents[run["q1"][0].docno] == best.text
    assert [row.rank for row in run["q1"]] == [1, 2, 3]
    scores = [row.score for row in run["q2"]]
    assert scores == sorted(scores, reverse=True)
    run, origin, _ = own_top(bi, collection, 2, pool="candidates", k=3, progress=no_progress)
    assert "BM25 finds" in origin
    run, origin, _ = own_top(cross, collection, 1, k=2, progress=no_progress)
    assert origin == "BM25's top 2" and len(run) == 1


def test_larger_models_get_fewer_pairs(bi):
    class Large:
        layers, heads, width = 12, 12, 768

    class Small:
        layers, heads, width = 6, 12, 384

    assert Sizes().affordable(Small).pairs == Sizes().pairs
    assert 20 <= Sizes().affordable(Large).pairs < Sizes().pairs
    assert all_heads(Large) > 3 * all_heads(Small)
