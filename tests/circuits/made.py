"""Results made by hand, for tests of what reads them."""

from whyrank.axioms.scored_pair import TextCounts
from whyrank.circuits.results import (
    AttentionSummary,
    Circuit,
    CircuitHead,
    Curve,
    CurvePoint,
    Edge,
    Example,
    HeadTests,
    IdfSource,
    RoleTest,
    SetsCorrelation,
    Step,
)
from whyrank.evaluation.curves import Fit
from whyrank.evaluation.estimate import Estimate

SCORING = tuple(f"L10.H{i}" for i in (1, 4, 7, 10))


def r(value, low=None, high=None):
    """An estimate, 0.05 wide to both sides unless given."""
    low, high = value - 0.05 if low is None else low, value + 0.05 if high is None else high
    return Estimate(value, low, high, 100, 20)


def curve(*values, width=0.01, best=None):
    """A curve over k = 1, 2, ... of 9 documents."""
    points = [
        CurvePoint(k, Estimate(v, v - width, v + width, 9, 9)) for k, v in enumerate(values, start=1)
    ]  # fmt: skip
    return Curve(tuple(points), (Fit(best, 1.0, 0.0, 0.9, None),) if best else ())


def edge(sender, share, step=0, status="kept"):
    to_logits = step == 0
    return Edge(
        step, sender, ("logits",) if to_logits else ("L10.H1",), None if to_logits else "v", r(share), 1.0, status
    )


def head_tests(name, scoring=None):
    pooled = {"scoring": scoring or r(0.6), "contextualization": r(0.1), "matching": r(0.1)}
    return HeadTests(name, ("scoring",), True, 0.9, pooled, pooled)


def made_circuit(**more):
    """The circuit of the paper's model, with its four scoring heads and no others."""
    group = RoleTest("", SCORING, r(0.5), r(0.132), None, r(0.67), r(0.2))
    between = SetsCorrelation("TFC1", "STMC1", 144, Estimate(0.98, 0.97, 0.995, 500, 60), 0.9)
    step = Step(0, ("logits",), None, 0.1, 0.5, {"TFC1": 250, "STMC1": 250}, 60, {}, 144, between_sets=between)
    given = {
        "ranker": "ce-minilm-l12", "ended": "", "threshold": "", "decide": "interval",
        "idf": IdfSource("", "bm25"),
        "heads": tuple(CircuitHead(name, ("scoring",)) for name in SCORING),
        "roles": {"scoring": SCORING, "contextualization": (), "matching": (), "other": ()},
        "edges": tuple(edge(name, 0.2) for name in SCORING), "steps": (step,),
        "tests": AttentionSummary(
            tuple(map(head_tests, SCORING)), {}, dict.fromkeys(("scoring", "matching", "contextualization"), group)
        ),
        "faithfulness": {}, "example": Example("", None, "", 0.0, 0.0, (), (), (), {}, {}, {}),
        "texts": TextCounts(500, 500, 0, 0, 0),
    }  # fmt: skip
    return Circuit(**{**given, **more})
