"""What is said of the curves."""

from tests.circuits.made import made_circuit, r
from whyrank.circuits.curves.figures import curve_figures
from whyrank.circuits.curves.report import curve_sentences
from whyrank.circuits.curves.results import (
    ATTRIBUTION,
    BASELINE,
    EDGES,
    HEADS,
    HEADS_AND_MLPS,
    MEAN,
    CircuitKept,
    Completeness,
    FaithfulnessCurves,
    SizeCurve,
    SizePoint,
)
from whyrank.circuits.report import circuit_page, circuit_verdict
from whyrank.circuits.results import Ablated, Ablations, Faithfulness, RandomSets


def curve(*shares, nodes=HEADS, held=BASELINE):
    points = [SizePoint(10 * i, r(share)) for i, share in enumerate(shares)]
    return SizeCurve(nodes, ATTRIBUTION, held, tuple(points))


def curves(*shares, held_out=True):
    kept = CircuitKept("the circuit", ("L0.H1", "L1.H2"), BASELINE, r(0.31), r(0.08))
    part = Completeness("the circuit", "matching", BASELINE, ("L0.H1",), r(0.1), r(0.5), r(-0.4))
    several = [curve(*shares), curve(*shares, held=MEAN), curve(*shares, nodes=HEADS_AND_MLPS)]
    several.append(curve(*shares, nodes=EDGES))
    return {"TFC1": FaithfulnessCurves(38, 14, held_out, 6, tuple(several), (kept,), (part,), {})}


def circuit_of(found):
    kept = Ablated(r(0.3), 0.0, 1.0, RandomSets(0))
    measured = Faithfulness(2, 144, 50, {"zero": Ablations(0.0, 5.0, kept, kept)})
    return made_circuit(curves=found, faithfulness={"TFC1": measured})


def test_two_sentences_with_their_intervals():
    alone, size = curve_sentences(curves(0.0, 0.5, 0.92, 1.0))
    assert alone == (
        "With all else at the pair's own baseline, the circuit (2 heads) keeps 31% [26%, 36%] of the gap of TFC1 "
        "alone (held-out pairs); the ranker without it keeps 8% [3%, 13%]."
    )
    assert size == (
        "By integrated gradients it takes the first 20 to keep 92% [87%, 97%] of the gap of TFC1; the first 10 "
        "of 30 heads keep 50% [45%, 55%]."
    )


def test_pairs_of_the_search_are_no_held_out_pairs():
    (alone, _) = curve_sentences(curves(0.0, 0.5, 0.92, 1.0, held_out=False))
    assert "(the pairs it was searched with)" in alone


def test_only_all_heads_keep_enough():
    _, size = curve_sentences(curves(0.0, 0.5, 0.6, 1.0))
    assert size == (
        "By integrated gradients the first 20 of 30 heads keep 60% [55%, 65%] of the gap of TFC1; no part that "
        "was tried keeps 90%."
    )
    assert curve_sentences({}) == []


def test_the_page_has_curves_tables_and_data(tmp_path):
    circuit = circuit_of(curves(0.0, 0.5, 0.92, 1.0))
    figures = curve_figures(circuit.curves)
    assert set(figures) == {"curve-nodes-TFC1", "curve-edges-TFC1"}
    svg, caption, (columns, rows) = figures["curve-nodes-TFC1"]
    assert "<svg" in svg and "38 pairs of 14 queries, of queries that had no part in the search" in caption
    assert len(rows) == 12 and len(columns) == len(rows[0])
    assert circuit.figures().keys() >= set(figures)
    text = circuit_page(circuit).write(tmp_path / "page.html", {}).read_text()
    assert "How much of the ranker does it take?" in text and "F(C - K)" in text
    assert circuit_verdict(circuit)[2:4] == curve_sentences(circuit.curves)
