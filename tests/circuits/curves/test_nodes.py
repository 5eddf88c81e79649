"""What parts of a ranker keep of the gap, against plain hooks on the Hugging Face module."""

from dataclasses import replace

import numpy as np
import pytest

from tests.checkpoints import save
from tests.circuits.curves.brute import ByHooks
from tests.circuits.test_search import pairs
from whyrank.circuits.curves.completeness import NamedCircuit
from whyrank.circuits.curves.held_out import split_queries
from whyrank.circuits.curves.kept import kept
from whyrank.circuits.curves.measure import CurveSizes, CurvesWork, sizes_of
from whyrank.circuits.curves.nodes import all_nodes, attribution_order, layer_matched, path_order, random_order
from whyrank.circuits.curves.results import (
    ATTRIBUTION,
    BASELINE,
    EDGES,
    HEADS,
    HEADS_AND_MLPS,
    HOLDS,
    LAYER_MATCHED,
    PATH,
    RANDOM,
    SizeCurve,
    SizePoint,
)
from whyrank.circuits.head import Head
from whyrank.circuits.results import Edge, Found, Step
from whyrank.core.stages import Stages
from whyrank.encoders.site import Site
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.api import patch
from whyrank.interventions.opened import OpenedPair
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


def some_heads(count, seed=0):
    every = [Site("z", layer, head) for layer in range(3) for head in range(4)]
    return frozenset(np.random.default_rng(seed).permutation(np.array(every, dtype=object))[:count])


@pytest.mark.parametrize("mlps", [False, True])
def test_all_but_the_live_nodes_hold_the_baseline(ranker, mlps):
    nodes, some = all_nodes(ranker.encoder, mlps), pairs("TFC1")
    drawn = [frozenset(np.random.default_rng(i).permutation(np.array(nodes, dtype=object))[:6]) for i in range(3)]
    found = kept(ranker, some, nodes, drawn)
    for live in drawn:
        left, gaps = [], []
        for pair in some:
            one = OpenedPair.of(ranker, pair)
            hooks = ByHooks(ranker.model, "bert", *(one.inputs.only(i) for i in (0, 1)))
            held = {node: hooks.base[node] for node in nodes if node not in live}
            left.append(hooks.run(hooks.inputs[True], held)[0] - one.baseline)
            gaps.append(one.perturbed - one.baseline)
        assert found.share(live).value == pytest.approx(sum(left) / sum(gaps), abs=1e-4)
        assert found.left[live] == pytest.approx(left, abs=1e-5)


@pytest.mark.parametrize("held", HOLDS)
def test_nothing_keeps_nothing_and_everything_keeps_all(ranker, held):
    nodes = all_nodes(ranker.encoder)
    found = kept(ranker, pairs("TFC1"), nodes, [frozenset(), frozenset(nodes)], held)
    assert found.share(frozenset(nodes)).value == 1.0
    assert found.share(frozenset()).value == pytest.approx(0.0, abs=1e-5)


def test_ablated_in_both_runs(ranker):
    some, live = pairs("TFC1"), some_heads(5)
    sites = "+".join(str(node) for node in all_nodes(ranker.encoder) if node not in live)
    for kind in ("mean", "resample"):
        noise, base = (
            patch(ranker, some, method="ablation", ablate=kind, sites=sites, direction=way).frame
            for way in ("noise", "denoise")
        )
        gap = (noise["perturbed"] - noise["base"]).sum()
        expected = (noise["patched"].to_numpy() - base["patched"].to_numpy()).sum() / gap
        found = kept(ranker, some, all_nodes(ranker.encoder), [live], kind)
        assert found.share(live).value == pytest.approx(expected, abs=1e-4)


def test_everything_is_one_also_where_it_is_measured(ranker):
    """Nothing is held: a sweep of the empty set would find the perturbed score."""
    one = OpenedPair.of(ranker, pairs("TFC1")[0])
    hooks = ByHooks(ranker.model, "bert", *(one.inputs.only(i) for i in (0, 1)))
    assert hooks.run(hooks.inputs[True], {})[0] == pytest.approx(one.perturbed, abs=1e-5)


def test_means_over_sets_and_differences(ranker):
    nodes, (a, b) = all_nodes(ranker.encoder), (some_heads(4), some_heads(4, 1))
    found = kept(ranker, pairs("TFC1", 18), nodes, [a, b])
    single = [found.share(one).value for one in (a, b)]
    assert found.share(a, b).value == pytest.approx(np.mean(single))
    assert found.difference(a, b).value == pytest.approx(single[0] - single[1])
    assert found.pairs == 18 and found.queries == 3 and found.share(a).no_interval == "too few queries"


def test_order_by_attribution_is_that_of_patch(ranker):
    nodes, sets = all_nodes(ranker.encoder, True), {"TFC1": pairs("TFC1")}
    order = attribution_order(ranker, sets, nodes, steps=3)
    rows = patch(ranker, sets["TFC1"], method="attribution", steps=3, sites=",".join(map(str, nodes))).frame
    rows = rows[rows["method"] == "attribution"]  # patch checks some of them exactly
    sums = rows.groupby("site")["effect"].sum().abs()
    assert [sums[str(node)] for node in order] == pytest.approx(sums.sort_values(ascending=False).tolist())


def edge(sender, receivers, part, step=1):
    return Edge(step, sender, receivers, part, Estimate(0.5, 0.4, 0.6, 9, 9), 1.0, "kept")


def test_order_of_the_search_begins_with_what_it_kept(ranker):
    shares = {"L0.H1": 0.1, "L1.H2": -0.6, "L2.H3": 0.5, "L2.H0": None, "embed": 9.0}
    steps = (
        Step(0, ("logits",), None, 0.2, 0.6, {}, 9, shares, 12),
        Step(1, ("L2.H3",), "v", 0.2, 0.6, {}, 9, {"L0.H1": -0.2}, 12),
    )
    found = Found(steps, (edge("L2.H3", ("logits",), None, 0), edge("L0.H1", ("L2.H3",), "v")))
    order = [str(node) for node in path_order(found, all_nodes(ranker.encoder))]
    assert order[:3] == ["L2.H3.z", "L0.H1.z", "L1.H2.z"] and len(order) == 12


def test_random_orders_of_the_same_layers(ranker):
    nodes = all_nodes(ranker.encoder, True)
    order = random_order(nodes, "a")
    again = layer_matched(order, "b")
    assert [(one.part, one.layer) for one in again] == [(one.part, one.layer) for one in order]
    assert set(again) == set(order) == set(nodes) and again != order and random_order(nodes, "a") == order


def test_queries_are_held_out_of_all_sets():
    sets = {name: pairs(name, 72) for name in ("TFC1", "STMC1")}
    for some in sets.values():
        for i, pair in enumerate(some):
            object.__setattr__(pair, "qid", f"q{i % 24}")
    found = split_queries(sets)
    assert found.held_out
    queries = [{pair.qid for some in part.values() for pair in some} for part in found[:2]]
    assert len(queries[1]) == 6 and not queries[0] & queries[1] and len(queries[0] | queries[1]) == 24
    assert split_queries(sets) == found != split_queries(sets, seed=1)


def test_too_few_queries_hold_none_out():
    sets = {"TFC1": pairs("TFC1", 12)}
    found = split_queries(sets)
    assert not found.held_out and found.searched == found.measured == sets


def curve_of(*shares):
    points = [SizePoint(i, Estimate(share, None, None, 9, 9)) for i, share in enumerate(shares)]
    return SizeCurve(HEADS, ATTRIBUTION, BASELINE, tuple(points))


def test_the_size_from_which_on_enough_is_kept():
    assert curve_of(0, 0.95, 0.5, 0.91, 1).size_for(0.9) == 3
    assert curve_of(0, 0.95, 0.92, 1).size_for(0.9) == 1
    assert curve_of(0, None, 1).size_for(0.9) == 2
    assert curve_of(0, 0.5).size_for(0.9) is None


def test_parts_of_a_circuit():
    heads = tuple(Head(0, i) for i in range(4))
    circuit = NamedCircuit("c", heads, {"matching": heads[:2], "scoring": [Head(2, 0)], "all": heads})
    parts = circuit.parts(0)
    assert parts["matching"] == heads[:2] and "scoring" not in parts and "all" not in parts
    halves = [part for name, part in parts.items() if name.startswith("random")]
    assert len(halves) == 3 and all(len(part) == 2 and set(part) < set(heads) for part in halves)


def work(ranker, **more):
    split = split_queries({"TFC1": pairs("TFC1", 8)})
    circuit = NamedCircuit("c", (Head(0, 1), Head(1, 2), Head(2, 3)), {"matching": [Head(0, 1)]})
    return CurvesWork(ranker, split, None, [circuit], CurveSizes(8, 8, 2, 2), **more)


def test_the_whole_measure_and_a_kill(ranker, tmp_path, monkeypatch):
    from whyrank.circuits.curves import measure

    stages = Stages(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(measure, "edge_curves", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt()))
        work(ranker, stages=stages).measured()
    with monkeypatch.context() as patched:
        patched.setattr("whyrank.interventions.sweep.Work.effects", lambda *a: pytest.fail("done again"))
        found = work(ranker, stages=stages).measured()["TFC1"]
    assert found == work(ranker).measured()["TFC1"]
    names = {(one.nodes, one.order, one.held) for one in found.curves}
    assert names == {
        *((HEADS, order, BASELINE) for order in (ATTRIBUTION, RANDOM, LAYER_MATCHED)),
        *((HEADS, ATTRIBUTION, held) for held in HOLDS),
        *((HEADS_AND_MLPS, order, BASELINE) for order in (ATTRIBUTION, RANDOM, LAYER_MATCHED)),
        *((EDGES, order, BASELINE) for order in (ATTRIBUTION, RANDOM)),
    }
    assert PATH not in {order for _, order, _ in names}, "no search was given"
    assert [point.size for point in found.curve().points] == sizes_of(range(12)) == [0, 1, 2, 4, 9, 12]
    assert all(one.points[-1].share.value == pytest.approx(1.0, abs=1e-4) for one in found.curves)
    drawn = found.curve(order=RANDOM).points[2]
    assert drawn.least <= drawn.share.value <= drawn.most
    assert found.kept_by("c").without.value is not None and len(found.completeness) == 3 * 4
    first = found.completeness[0]
    assert first.name == "matching"
    assert first.incompleteness == pytest.approx(abs(first.of_circuit.value - first.of_ranker.value))


def test_one_pair_has_no_other_pair_to_take_values_from(ranker):
    alone = replace(work(ranker), split=split_queries({"TFC1": pairs("TFC1", 1)}))
    assert {one.held for one in alone.measured()["TFC1"].curves} == {"baseline", "mean"}


def test_an_order_may_be_the_searchs(ranker):
    steps = (Step(0, ("logits",), None, 0.2, 0.6, {}, 9, {"L0.H1": 0.5}, 12),)
    searched = replace(work(ranker), found=Found(steps, ()), sizes=CurveSizes(4, 4, 0, 0))
    found = searched.measured()["TFC1"]
    assert found.curve(order=PATH) and not found.curve(EDGES) and not found.curve(order=RANDOM)
    assert found.ranked["heads, path patching"][0] == "L0.H1" and found.edge_pairs == 0
