"""Heads selected by their total effect, and hops as shares of what receivers can carry: against plain hooks and
against `patch` itself, on a tiny cross-encoder."""

from dataclasses import replace

import pandas as pd
import pytest
import torch

from tests.checkpoints import save
from tests.circuits.test_search import pairs
from tests.interventions.hooks import PlainHooks
from whyrank.circuits.criterion import UNTESTED, Criterion
from whyrank.circuits.halves import Halves
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.hops import hops, selective_search
from whyrank.circuits.results import EMBED
from whyrank.circuits.search import Search
from whyrank.core.errors import UserError
from whyrank.core.progress import no_progress
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.activation import Activation
from whyrank.interventions.api import patch
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.rankers.load import load

#: A threshold so low that a tiny random model has a circuit.
HOW = Search(pairs_to_logits=28, pairs_to_heads=28, pairs_to_select=28, most_steps=2, criterion=Criterion(0.8))
ENDINGS = (" a", " the", " blue", " on", " in", " house")


def many(axiom, count=14):
    """Pairs of a query each."""
    return [
        replace(one, qid=f"q{i}", query=one.query + ENDINGS[i // 6]) for i, one in enumerate(pairs(axiom, count))
    ]


@pytest.fixture(scope="module")
def sets():
    return {"TFC1": many("TFC1"), "STMC1": many("STMC1")}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


@pytest.fixture(scope="module")
def found(ranker, sets):
    return selective_search(ranker, sets, HOW)


def ratio(frame):
    """By site, sum of effects over sum of gaps."""
    sums = frame.groupby("site", sort=False)["effect"].sum()
    gaps = (frame["perturbed"] - frame["base"]).groupby(frame["site"], sort=False).sum()
    return {name.removesuffix(".z"): value for name, value in (sums / gaps).items()}


def test_heads_are_chosen_by_their_total_effect_on_one_half(ranker, sets, found):
    halves, selection = Halves.drawn(sets, 28, 0), found.selection
    assert selection.tested and selection.deciding == ["TFC1", "STMC1"]
    for name in sets:
        expected = ratio(patch(ranker, halves.selection[name]).frame)
        assert selection.every[name] == pytest.approx(expected, abs=1e-5)
        assert selection.sets[name].pairs == (7, 7) and selection.sets[name].queries == (7, 7)
    assert selection.heads
    for one in selection.heads:
        for name, shares in one.by_set.items():
            assert shares.chosen.value == pytest.approx(selection.every[name][one.head], abs=1e-5)
            assert abs(shares.chosen.value) >= selection.sets[name].cutoff - 1e-9
            there = ratio(patch(ranker, halves.confirmation[name], sites=one.head + ".z").frame)
            assert shares.confirmed.value == pytest.approx(there[one.head], abs=1e-5)
    assert found.heads == selection.members == [Head.parse(one.head) for one in selection.heads
                                                if one.status == "kept"]  # fmt: skip


def test_integrated_gradients_are_compared_with_exact_patching(found):
    gradients = found.selection.gradients
    assert gradients.steps == 8 and gradients.pairs == 14 and gradients.screened == 4
    assert all(r > 0.9 for r in gradients.pearson.values())


def by_hooks(ranker, pairs, sites):
    """The sum of effects of a set of sites, by plain hooks, and of the gaps."""
    effect = gap = 0.0
    with torch.no_grad():
        for one in pairs:
            plain = PlainHooks(ranker, one)
            base = float(plain.run(0))
            effect += plain.patched(SiteSet(tuple(sites))) - base
            gap += float(plain.run(1)) - base
    return effect, gap


def test_what_receivers_carry_by_plain_hooks(ranker, sets, found):
    halves = Halves.drawn(sets, 28, 0)
    steps = [step for step in found.steps if step.number == 1]
    assert [step.part for step in steps] == ["v", "q", "k"]
    for step in steps:
        receivers = [Head.parse(name).site(step.part) for name in step.receivers]
        for name, carried in step.carried.items():
            effect, gap = by_hooks(ranker, halves.selection[name], receivers)
            assert carried.share.value == pytest.approx(effect / gap, abs=1e-4)


def test_an_edges_share_of_its_receivers_by_plain_hooks(ranker, sets, found):
    halves = Halves.drawn(sets, 28, 0)
    edges = [edge for edge in found.edges if edge.step == 1 and edge.sender != EMBED]
    assert edges
    for edge in edges[:2]:
        receivers = [Head.parse(name).site(edge.part) for name in edge.receivers]
        sent = 0.0
        with torch.no_grad():
            for one in halves.confirmation["TFC1"]:
                plain = PlainHooks(ranker, one)
                sent += plain.path(Head.parse(edge.sender).site(), receivers) - float(plain.run(0))
        whole, gap = by_hooks(ranker, halves.confirmation["TFC1"], receivers)
        assert edge.by_set["TFC1"] == pytest.approx(sent / gap, abs=1e-4)
        assert edge.by_set_of_receivers["TFC1"] == pytest.approx(sent / whole, rel=1e-2, abs=1e-4)


def test_all_senders_are_patched_on_the_half_that_chooses(ranker, sets, found):
    halves = Halves.drawn(sets, 28, 0)
    step = next(step for step in found.steps if step.part == "v")
    to = ",".join(f"{name}.v" for name in step.receivers)
    rows = pd.concat([patch(ranker, halves.selection[name], method="path", to=to).frame for name in sets])
    heads = {name: value for name, value in step.shares.items() if name != EMBED}
    assert heads == pytest.approx(ratio(rows), abs=1e-5) and EMBED in step.shares
    assert step.pairs == {"TFC1": 7, "STMC1": 7} and step.followed == len(step.shares)


def test_receivers_are_heads_of_the_circuit(found):
    members = {str(head) for head in found.heads}
    assert all(set(step.receivers) <= members for step in found.steps if step.number)
    assert {str(head) for head in all_heads(FakeTwelve)} == set(found.steps[0].shares)


class FakeTwelve:
    layers, heads = 3, 4


def test_with_too_few_queries_nothing_is_confirmed(ranker):
    few = {"TFC1": many("TFC1", 5)}
    found = selective_search(ranker, few, HOW)
    assert not found.selection.tested and found.heads
    assert {one.status for one in found.selection.heads} == {UNTESTED}
    assert all(one.p_holm is None and one.by_set["TFC1"].confirmed is None for one in found.selection.heads)
    assert {edge.status for edge in found.edges} == {UNTESTED}
    assert all(edge.share.low is None and edge.p_holm is None for edge in found.edges)


def test_sides_that_score_the_same_are_refused(ranker):
    same = [replace(one, perturbed=one.baseline) for one in many("TFC1")]
    with pytest.raises(UserError, match="both sides of the pairs score the same"):
        selective_search(ranker, {"TFC1": same}, HOW)


def test_without_a_selection_only_the_paths_to_the_logits_are_measured(ranker, sets):
    found = hops(ranker, sets, HOW)
    assert [step.receivers for step in found.steps] == [("logits",)] and found.selection is None


def test_a_search_that_is_stopped_goes_on(ranker, sets, found, tmp_path):
    calls = []

    class Stopped(Exception):
        pass

    def progress(name, count):
        calls.append(name)
        if len(calls) == 6:
            raise Stopped
        return no_progress(name, count)

    with pytest.raises(Stopped):
        selective_search(ranker, sets, HOW, shards=tmp_path, progress=progress)
    assert selective_search(ranker, sets, HOW, shards=tmp_path) == found


def test_what_real_receivers_carry(real):
    """The denominators on ce-minilm-l12, for the values, queries and keys of the paper's scoring heads."""
    ranker = real("ce-minilm-l12")
    some = [replace(one, id=f"p{i}") for i, one in enumerate(pairs("TFC1", 2))]
    receivers = [Head(10, i) for i in (1, 4, 7, 10)]
    plan = SitePlan(tuple(together(receivers, part) for part in "vqk"))
    rows = sweep(ranker, some, plan, Activation()).frame
    for part, sites in zip("vqk", plan.sets, strict=True):
        effect, _ = by_hooks(ranker, some, [Site(part, head.layer, head.head) for head in receivers])
        assert rows[rows["site"] == str(sites)]["effect"].sum() == pytest.approx(effect, abs=1e-4)
