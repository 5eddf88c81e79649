"""The paper's findings and ours: what agrees, what differs, what cannot be judged."""

from dataclasses import replace

import pytest

from tests.circuits.made import curve, head_tests, made_circuit, r
from whyrank.circuits.results import Ablated, Ablations, Faithfulness, RandomSets, Saturation
from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.semantic_circuit.findings import findings


def verdicts(circuit):
    return {row.what: row for row in findings({"circuit": circuit})}


def test_heads_and_numbers():
    found = verdicts(made_circuit())
    assert found["heads that reach the logits"].verdict == AGREES
    assert found["matching heads"].verdict == DIFFERS
    assert found["TFC1 against STMC1, to the logits: r"].n == "144 heads, 500 pairs"
    assert found["what 10.1 reads of the query"].verdict == AGREES
    assert found["what 10.10 reads of the query"].verdict == DIFFERS, "the paper says common terms"


def test_another_model_has_its_own_heads():
    found = verdicts(made_circuit(ranker="my-cross-encoder"))
    assert found["heads that reach the logits"].verdict == OPEN
    assert found["what 10.10 reads of the query"].verdict == OPEN
    assert found["TFC1 against STMC1, to the logits: r"].verdict == AGREES


def test_no_preference_where_the_interval_holds_0():
    tests = made_circuit().tests
    heads = (head_tests("L10.H1", scoring=r(0.02, -0.1, 0.1)), *tests.heads[1:])
    found = verdicts(made_circuit(tests=replace(tests, heads=heads)))["what 10.1 reads of the query"]
    assert found.verdict == OPEN and "no clear preference" in found.ours


@pytest.mark.parametrize(
    ("injected", "best", "other", "flattens", "level"),
    [
        ((0.1, 0.3, 0.36, 0.38), "log", (0.5, 0.49, 0.5, 0.48), AGREES, AGREES),
        ((0.1, 0.2, 0.3, 0.4), "linear", (0.5, 0.3, 0.2, 0.1), DIFFERS, DIFFERS),
        ((0.1, 0.1, 0.1, 0.1), "log", (0.5, 0.5, 0.5, 0.5), OPEN, AGREES),
    ],
)
def test_saturation_and_its_control_are_two_findings(injected, best, other, flattens, level):
    found = verdicts(
        made_circuit(
            saturation=Saturation(
                {"matching heads": curve(*injected, best=best)}, {"matching heads": curve(*other)}
            ),
            count_not_flag={"matching heads": curve(0.1, 0.2)},
        )
    )
    assert found["attention of matching heads to the term over its occurrences"].verdict == flattens
    assert found["the same to other document tokens"].verdict == level
    assert found["matching heads alone on TFC2: the score"].verdict == AGREES


def test_zeroed_heads_are_judged_against_random_ones():
    def kinds(after, least):
        none, random = RandomSets(0), RandomSets(10, 0.9, 0.8, 1.0, least + 1, least)
        circuit, gone = Ablated(r(0.5), 0.0, 1.0, none), Ablated(replace(r(0.3), pairs=50), 0.0, after, random)
        return {"TFC1": Faithfulness(4, 144, 50, {"zero": Ablations(0.0, 5.0, circuit, circuit, gone)})}

    name = "matching heads zeroed, TFC1: mean logit"
    assert verdicts(made_circuit(faithfulness=kinds(-4.0, -1.0)))[name].verdict == AGREES
    assert verdicts(made_circuit(faithfulness=kinds(4.0, 1.0)))[name].verdict == DIFFERS
