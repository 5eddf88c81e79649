"""Fig. 14 among the findings: what CLS pays the edited word over the scales."""

from types import SimpleNamespace

import pytest

from tests.circuits.made import r
from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.semantic_circuit.dial_attention import attention_findings


def experiment(up, down, head="L10.H1"):
    """As far as it is read: attention over the scales 1, 2, 4, and a control that is not."""
    curves = {
        ("U0", way): [SimpleNamespace(scale=2.0**i, attention=one) for i, one in enumerate(values)]
        for way, values in (("up", up), ("down", down))
    }
    return SimpleNamespace(controls=["U0", "U1"], head=head, curve=lambda control, way: curves[control, way])


@pytest.mark.parametrize(
    ("up", "down", "verdicts"),
    [
        ((0.2, 0.3, 0.5), (0.2, 0.15, 0.05), [AGREES, AGREES]),
        ((0.5, 0.3, 0.2), (0.1, 0.3, 0.4), [DIFFERS, DIFFERS]),
        ((0.2, 0.2, 0.22), (0.2, 0.2, 0.18), [OPEN, OPEN]),
    ],
)
def test_it_moves_with_the_dial_surely_or_it_is_open(up, down, verdicts):
    found = list(attention_findings(experiment(map(r, up), map(r, down))))
    assert [one.verdict for one in found] == verdicts
    assert found[0].what == "attention of CLS to the edited word in 10.1 when IDF goes up"
    assert found[0].paper.startswith("rises") and found[0].ours.endswith("at 4")


def test_of_another_head_the_paper_says_nothing_and_without_attention_nothing_is_said():
    (one, _) = attention_findings(experiment(map(r, (0.2, 0.5)), map(r, (0.2, 0.1)), head="L3.H2"))
    assert one.paper == "–" and "3.2" in one.what
    assert not list(attention_findings(experiment([None, None], [r(0.1)])))
    assert not list(attention_findings(experiment([r(0.1), r(0.4)], [r(0.1), r(0.4)], head=None)))
