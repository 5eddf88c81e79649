"""Edges frozen to the baseline, against plain hooks on the Hugging Face module, one node at a time."""

import numpy as np
import pytest

from tests.checkpoints import save
from tests.circuits.curves.brute import ByHooks
from tests.circuits.test_search import pairs
from whyrank.circuits.curves.edge_attribution import edge_order, edge_strengths, strengths_of
from whyrank.circuits.curves.edge_graph import EdgeGraph
from whyrank.circuits.curves.edge_run import edge_scores
from whyrank.circuits.curves.edges import edge_curves, ranked_edges
from whyrank.circuits.curves.kept import kept
from whyrank.circuits.curves.nodes import all_nodes
from whyrank.circuits.curves.results import ATTRIBUTION, RANDOM
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.rankers.load import load

#: Post-LN with token types, post-LN without, and pre-LN with rotary positions and windows.
KINDS = ["bert", "roberta", "modernbert"]
GRAPH = EdgeGraph(3, 4)
_RANKERS = {}


@pytest.fixture(params=KINDS)
def ranker(request, tmp_path_factory):
    if request.param not in _RANKERS:
        folder = save(tmp_path_factory.mktemp("ce"), request.param, head="AutoModelForSequenceClassification")
        _RANKERS[request.param] = load(str(folder), kind="cross-encoder")
    return _RANKERS[request.param]


@pytest.fixture
def opened(ranker):
    return OpenedPair.of(ranker, pairs("TFC1")[0])


@pytest.fixture
def by_hooks(opened):
    architecture = opened.ranker.checkpoint.config["model_type"]
    return ByHooks(opened.ranker.model, architecture, *(opened.inputs.only(i) for i in (0, 1)))


def as_pairs(kept):
    return [(GRAPH.senders[s], GRAPH.receivers[r]) for r, s in zip(*kept.nonzero(), strict=True)]


def test_every_sender_reaches_every_receiver_above_it():
    assert GRAPH.count == sum(12 * (1 + 5 * layer) + (5 + 5 * layer) for layer in range(3)) + 16
    edges = {(str(s), str(r)) for s, r in as_pairs(GRAPH.possible)}
    assert ("L0.H1.z", "L0.mlp") in edges and ("L0.mlp", "L1.H0.q") in edges and ("embed", "logits") in edges
    assert ("L0.H1.z", "L0.H2.k") not in edges and ("L1.mlp", "L1.mlp") not in edges


def test_all_edges_give_the_perturbed_score_and_none_the_baselines(opened):
    none, every = edge_scores(opened, GRAPH, [GRAPH.none(), GRAPH.possible])
    assert none == pytest.approx(opened.baseline, abs=1e-6)
    assert every == pytest.approx(opened.perturbed, abs=1e-5)
    assert abs(opened.perturbed - opened.baseline) > 1e-3, "or this test shows nothing"


@pytest.mark.parametrize("part", [0.2, 0.5, 0.8])
def test_any_edges_as_by_hooks(opened, by_hooks, part):
    drawn = np.random.default_rng(int(10 * part)).random((3, *GRAPH.possible.shape)) < part
    sets = [one & GRAPH.possible for one in drawn]
    found = edge_scores(opened, GRAPH, sets)
    assert found == pytest.approx([by_hooks.score(as_pairs(one)) for one in sets], abs=2e-5)
    assert len({round(one, 4) for one in found}) > 1


def test_all_edges_between_nodes_are_the_nodes(ranker, opened):
    pair, nodes = pairs("TFC1")[0], all_nodes(ranker.encoder, mlps=True)
    drawn = [frozenset(np.random.default_rng(i).permutation(np.array(nodes, dtype=object))[:8]) for i in range(4)]
    found = kept(ranker, [pair], nodes, drawn)
    scores = edge_scores(opened, GRAPH, [GRAPH.of_nodes(live) for live in drawn])
    left = [float(found.left[live][0]) for live in drawn]
    assert [one - opened.baseline for one in scores] == pytest.approx(left, abs=1e-5)


def test_one_edge_is_attributed_the_derivative_of_its_path(opened, by_hooks):
    """The receiver reads what path patching with MLPs held would send it, in small."""
    found = strengths_of(opened, GRAPH, steps=0)
    model, architecture = opened.ranker.model, by_hooks.architecture
    model.double()
    try:
        exact = ByHooks(model, architecture, *(opened.inputs.only(i) for i in (0, 1)))
        ends = exact.run(exact.inputs[True], {}, exact.nodes)[1]
        step = 1e-4
        for sender, receiver in [("L0.H1.z", "L1.H2.v"), ("L0.H1.z", "L2.H0.q"), ("L0.mlp", "L2.H3.k"),
                                 ("L1.H0.z", "L1.mlp"), ("L0.mlp", "L2.mlp"), ("L1.H3.z", "logits")]:  # fmt: skip
            one, other = Site.parse(sender), Site.parse(receiver)
            scores = []
            for sign in (1, -1):
                moved = exact.base[one] + sign * step * (ends[one] - exact.base[one])
                put = {**exact.base, one: moved}
                if receiver == "logits":
                    scores.append(exact.run(exact.inputs[False], put)[0])
                    continue
                place = 2 * other.layer + (other.part == "mlp")
                below = {s: x for s, x in put.items() if 2 * s.layer + (s.part == "mlp") < place}
                received = exact.run(exact.inputs[False], below, [other])[1]
                scores.append(exact.run(exact.inputs[False], received)[0])
            slope = (scores[0] - scores[1]) / (2 * step)
            place = GRAPH.receivers.index(other), GRAPH.senders.index(one)
            assert found[place] == pytest.approx(slope, abs=2e-5), (sender, receiver)
    finally:
        model.float()


def test_strengths_sum_to_the_senders_attribution_and_to_the_gap(ranker):
    some = pairs("TFC1")[:2]
    found = edge_strengths(ranker, some, GRAPH, steps=4)
    plan = SitePlan(tuple(SiteSet((one,)) for one in GRAPH.senders))
    rows = sweep(ranker, some, plan, Attribution(steps=4)).frame
    sums = rows.groupby("site", sort=False)["effect"].sum()
    assert found.sum(axis=0) == pytest.approx([sums[str(one)] for one in GRAPH.senders], abs=1e-4)
    fine = edge_strengths(ranker, some, GRAPH, steps=60)
    gap = sum(one.perturbed - one.baseline for one in (OpenedPair.of(ranker, pair) for pair in some))
    assert fine[:, 0].sum() == pytest.approx(gap, rel=0.02, abs=2e-3)
    assert not found[~GRAPH.possible].any()


def test_one_edge_alone_to_the_logits_is_its_path(ranker, opened):
    """With MLPs held, as path patching can do it: a second oracle, for edges whose sender only has embeddings."""
    sender = Site("z", 1, 2)
    one = PathPatching(freeze_mlp=True).scores(opened, [SiteSet((sender,))])
    everything_below = GRAPH.of_nodes(frozenset(all_nodes(ranker.encoder, mlps=True)))
    edges = everything_below.copy()
    edges[GRAPH.receivers.index(Site("logits"))] = False
    edges[GRAPH.receivers.index(Site("logits")), GRAPH.senders.index(sender)] = True
    (score,) = edge_scores(opened, GRAPH, [edges])
    assert score == pytest.approx(float(one[0]), abs=1e-5)


def test_curves_over_edges(ranker, tmp_path):
    some = pairs("TFC1", 8)
    order = ranked_edges(ranker, {"TFC1": some}, GRAPH, shards=tmp_path / "order")
    curves = edge_curves(ranker, some, order, GRAPH, sizes=(0, 5, 40), shards=tmp_path / "scores")
    assert [one.order for one in curves] == [ATTRIBUTION, RANDOM]
    for one in curves:
        assert [point.size for point in one.points] == [0, 5, 40, GRAPH.count]
        assert one.at(0).value == pytest.approx(0.0, abs=1e-5)
        assert one.at(GRAPH.count).value == pytest.approx(1.0, abs=1e-4)
    gaps, left = [], []
    for pair in some:
        one = OpenedPair.of(ranker, pair)
        gaps.append(one.perturbed - one.baseline)
        left.append(edge_scores(one, GRAPH, [GRAPH.first(order, 40)])[0] - one.baseline)
    assert curves[0].at(40).value == pytest.approx(sum(left) / sum(gaps), rel=1e-4)
    again = edge_curves(ranker, some, order, GRAPH, sizes=(0, 5, 40), shards=tmp_path / "scores")
    assert again == curves


def test_done_pairs_are_not_done_again(ranker, tmp_path, monkeypatch):
    from whyrank.circuits.curves import edge_attribution, edges

    some = pairs("TFC1", 3)
    first = ranked_edges(ranker, {"TFC1": some}, GRAPH, shards=tmp_path)
    curves = edge_curves(ranker, some, first, GRAPH, sizes=(0, 5), shards=tmp_path)
    monkeypatch.setattr(edge_attribution, "strengths_of", lambda *a: pytest.fail("done again"))
    monkeypatch.setattr(edges, "edge_scores", lambda *a: pytest.fail("done again"))
    assert (ranked_edges(ranker, {"TFC1": some}, GRAPH, shards=tmp_path) == first).all()
    assert edge_curves(ranker, some, first, GRAPH, sizes=(0, 5), shards=tmp_path) == curves


def test_each_set_of_pairs_counts_alike():
    small, large = GRAPH.none().astype(float), GRAPH.none().astype(float)
    small[3, 0], large[6, 0], large[0, 0] = 0.01, -50.0, 40.0
    order = edge_order([small, large], GRAPH)
    assert len(order) == GRAPH.count and len(set(order.tolist())) == GRAPH.count
    width = len(GRAPH.senders)
    assert order[:3].tolist() == [3 * width, 6 * width, 0]
