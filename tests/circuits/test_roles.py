"""Roles: tested for all heads of the model, several for one head, and rarely for heads that are nothing
special."""

import numpy as np
import pytest

from whyrank.circuits.attention_tests import AttentionTests
from whyrank.circuits.head import Head
from whyrank.circuits.results import Edge, Found, Step
from whyrank.circuits.roles import RolesOfHeads, attention_summary, p_values
from whyrank.evaluation.correlation import ClusteredMoments
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.significance import holm


class TwelveHeads:
    class encoder:  # noqa: N801
        layers, heads = 2, 6


def fake_tests(queries=40):
    """Head 0.0 matches, 0.1 reads rare query words and matches, 1.2 and 1.3 have CLS read the query by IDF, one of
    them common words; the others are noise."""
    draw, count = np.random.default_rng(3), 12
    signals = {"scoring": {8: 4, 9: -4}, "contextualization": {1: 4}, "matching": {0: 4, 1: 4}}
    tests = AttentionTests(TwelveHeads(), np.ones(3))
    for i in range(queries):
        x = draw.normal(size=8)
        for name, heads in signals.items():
            y = draw.normal(size=(count, 8))
            for head, slope in heads.items():
                y[head] += slope * x
            tests.pooled[name].add(str(i), x, y)
            tests.within[name].add(str(i), x - x.mean(), y - y.mean(1, keepdims=True))
        tests._mass.setdefault(str(i), []).append(np.full(count, 0.1))
        tests._reads.append((str(i), np.arange(2.0), np.ones((count, 2))))
    return tests


def edge(sender, receivers, part, step=1, status="kept"):
    return Edge(step, sender, receivers, part, Estimate(0.5, 0.4, 0.6, 9, 9), 1.0, status)


def found(members, sends=("L1.H2", "L1.H3"), status="kept"):
    """A circuit of these heads, some of which reach the logits."""
    shares = {"L1.H2": 0.4, "L1.H3": 0.2}
    step = Step(0, ("logits",), None, 0.1, 0.5, {}, 9, shares, 12)
    edges = tuple(edge(name, ("logits",), None, 0, status) for name in sends)
    return Found((step,), edges, brought=tuple(members))


def test_roles_come_from_the_tests_and_a_head_may_have_several():
    passed = RolesOfHeads(found(["L0.H0"]), fake_tests())
    assert passed.of(Head(0, 0)) == ("matching",)
    assert passed.of(Head(0, 1)) == ("contextualization", "matching")
    assert passed.of(Head(1, 2)) == ("scoring",) and passed.of(Head(1, 4)) == ()
    assert passed.of(Head(1, 3)) == ("scoring",), "its sign is its own"


@pytest.mark.parametrize("circuit", [found(["L1.H2"], sends=()), found(["L1.H2"], status="not confirmed")])
def test_a_scoring_head_has_to_reach_the_logits(circuit):
    assert RolesOfHeads(circuit, fake_tests()).of(Head(1, 2)) == ()


def test_heads_outside_the_circuit_are_tested_too():
    circuit, tests = found(["L0.H1", "L1.H2", "L1.H5"]), fake_tests()
    passed = RolesOfHeads(circuit, tests)
    roles = passed.in_circuit(circuit.heads)
    assert roles["matching"] == roles["contextualization"] == [Head(0, 1)]
    assert roles["scoring"] == [Head(1, 2)] and roles["other"] == [Head(1, 5)]
    summary = attention_summary(roles, passed, circuit, tests)
    by_head = {one.head: one for one in summary.heads}
    assert len(by_head) == 12 and by_head["L0.H0"].roles == ("matching",) and not by_head["L0.H0"].in_circuit
    assert by_head["L0.H1"].in_circuit and by_head["L0.H1"].p_holm["matching"] < 1e-6
    assert by_head["L1.H2"].sends_to_logits and by_head["L1.H2"].to_logits == 0.4
    assert not by_head["L1.H4"].sends_to_logits and by_head["L1.H4"].to_logits is None
    matching = summary.roles["matching"]
    assert matching.heads == ("L0.H1",) and matching.role.value > 0.9
    assert matching.difference.value == pytest.approx(matching.role.value - matching.others.value)
    assert matching.role.pairs == 320 and matching.role.queries == 40 and set(summary.by_idf) == {"L1.H2"}


def test_with_fewer_than_six_queries_the_highest_tenth_is_all_that_is_asked():
    passed = RolesOfHeads(found(["L0.H0"]), fake_tests(5))
    assert all(np.isnan(p) for p in passed.p["matching"])
    assert "matching" in passed.of(Head(0, 0)) + passed.of(Head(0, 1)) and passed.of(Head(1, 5)) == ()


def alike(draw, queries, heads, slope, spread):
    """Heads of one and the same r, whose queries differ in size, level and slope."""
    moments = ClusteredMoments(heads)
    for query in range(queries):
        size = int(draw.integers(3, 9))
        x = draw.normal(size=size) + 0.7 * draw.normal()
        level = 0.5 * draw.normal(size=(heads, 1)) + 0.4 * draw.normal()
        own = slope + spread * draw.normal(size=(heads, 1))
        moments.add(str(query), x, own * x + draw.normal(size=(heads, size)) + level)
    return moments.left_out()


@pytest.mark.parametrize(("against_usual", "slope"), [(True, 0.5), (False, 0.0)])
@pytest.mark.parametrize("queries", [6, 12, 40])
def test_rarely_does_any_head_pass_where_all_are_alike(against_usual, slope, queries):
    """The chance that any of 144 does, with Holm's correction: at most 6% but for the simulation's own error."""
    draw, runs, passed = np.random.default_rng(11), 150, 0
    for _ in range(runs):
        p = holm(p_values(alike(draw, queries, 144, slope, 0.3), against_usual=against_usual))
        passed += any(one < 0.05 for one in p)
    assert passed / runs <= 0.06


def test_a_head_that_stands_out_is_found():
    draw, found = np.random.default_rng(2), 0
    for _ in range(20):
        moments = ClusteredMoments(144)
        for query in range(30):
            x = draw.normal(size=6)
            y = 0.2 * x + draw.normal(size=(144, 6))
            y[7] += 0.8 * x
            moments.add(str(query), x, y)
        found += holm(p_values(moments.left_out(), against_usual=True))[7] < 0.05
    assert found >= 18
