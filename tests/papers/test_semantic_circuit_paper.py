"""The paper's findings beside ours: what agrees, what differs, what cannot be told."""

import pytest

from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.semantic_circuit.paper import findings


def points(*values, width=0.01):
    return [{"k": k + 1, "mean": v, "low": v - width, "high": v + width, "n": 9} for k, v in enumerate(values)]


def r(value, low=None, high=None):
    low, high = value - 0.05 if low is None else low, value + 0.05 if high is None else high
    return {"r": value, "low": low, "high": high, "n": 100, "queries": 20}


def circuit(**more):
    heads = [{"head": f"L10.H{i}", "role": "scoring", "query_mass": 0.9,
              "pooled": {"scoring": r(0.6), "contextualization": r(0.1), "matching": r(0.1)}}
             for i in (1, 4, 7, 10)]  # fmt: skip
    edges = [{"sender": one["head"], "step": 0, "status": "kept", "part": None} for one in heads]
    group = {"role": r(0.5), "others": r(0.132), "role_absolute": r(0.67), "others_absolute": r(0.2)}
    step = {"number": 0, "part": None, "pairs": {"TFC1": 250, "STMC1": 250}, "between_sets": {
        "pearson": 0.98, "interval": {"low": 0.97, "high": 0.995}, "sites": 144, "pairs": 500}}  # fmt: skip
    told = {
        "ranker": "ce-minilm-l12", "steps": [step], "edges": edges,
        "roles": {"scoring": [one["head"] for one in heads], "contextualization": [], "matching": []},
        "tests": {"heads": heads, "roles": {"scoring": group, "matching": group, "contextualization": group}},
        "faithfulness": {},
    }  # fmt: skip
    return told | more


def verdicts(told):
    return {row.what: row for row in findings({"circuit": told})}


def test_heads_and_numbers():
    found = verdicts(circuit())
    assert found["heads that reach the logits"].verdict == AGREES
    assert found["matching heads"].verdict == DIFFERS
    assert found["TFC1 against STMC1, to the logits: r"].n == "144 heads, 500 pairs"
    assert found["what 10.1 reads of the query"].verdict == AGREES
    assert found["what 10.10 reads of the query"].verdict == DIFFERS, "the paper says common terms"


def test_another_model_has_its_own_heads():
    found = verdicts(circuit(ranker="my-cross-encoder"))
    assert found["heads that reach the logits"].verdict == OPEN
    assert found["what 10.10 reads of the query"].verdict == OPEN
    assert found["TFC1 against STMC1, to the logits: r"].verdict == AGREES


def test_no_preference_where_the_interval_holds_0():
    told = circuit()
    told["tests"]["heads"][0]["pooled"]["scoring"] = r(0.02, -0.1, 0.1)
    found = verdicts(told)["what 10.1 reads of the query"]
    assert found.verdict == OPEN and "no clear preference" in found.ours


@pytest.mark.parametrize(
    ("injected", "curve", "other", "flattens", "level"),
    [
        ((0.1, 0.3, 0.36, 0.38), "log", (0.5, 0.49, 0.5, 0.48), AGREES, AGREES),
        ((0.1, 0.2, 0.3, 0.4), "linear", (0.5, 0.3, 0.2, 0.1), DIFFERS, DIFFERS),
        ((0.1, 0.1, 0.1, 0.1), "log", (0.5, 0.5, 0.5, 0.5), OPEN, AGREES),
    ],
)
def test_saturation_and_its_control_are_two_findings(injected, curve, other, flattens, level):
    told = circuit(
        saturation={
            "injected": {"matching heads": {"points": points(*injected), "fits": [{"curve": curve}]}},
            "other tokens": {"matching heads": {"points": points(*other)}},
        },
        count_not_flag={"matching heads": {"points": points(0.1, 0.2)}},
    )
    found = verdicts(told)
    assert found["attention of matching heads to the term over its occurrences"].verdict == flattens
    assert found["the same to other document tokens"].verdict == level
    assert found["matching heads alone on TFC2: the score"].verdict == AGREES


def test_zeroed_heads_are_judged_against_random_ones():
    def kinds(after, least):
        gone = {"perturbed": after, "n": 50}
        random = {"circuits": 10, "perturbed": least + 1, "perturbed_least": least}
        return {"TFC1": {"kinds": {"zero": {"intact": {"perturbed": 5.0}, "without matching": gone,
                                            "random": {"without matching's": random}}}}}  # fmt: skip

    name = "matching heads zeroed, TFC1: mean logit"
    assert verdicts(circuit(faithfulness=kinds(-4.0, -1.0)))[name].verdict == AGREES
    assert verdicts(circuit(faithfulness=kinds(4.0, 1.0)))[name].verdict == DIFFERS
