"""One pair, one query, identical sides, constant scores: valid JSON, no warning, and a sentence that says what
cannot be said. Everything runs for real, on a tiny random cross-encoder, with warnings as errors."""

import json
import warnings

import numpy as np
import pytest
import torch

from tests.checkpoints import save
from tests.edits.dialed import COLLECTION, cross_encoder, dialed
from whyrank.audit.results import OUTCOMES
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.api import CircuitRequest, Sizes, find_circuit
from whyrank.circuits.search import Search
from whyrank.circuits.threshold import Threshold
from whyrank.collections.bm25 import first_stage
from whyrank.collections.collection import Collection
from whyrank.collections.idf import TokenIdf
from whyrank.core.atomic import write_json
from whyrank.core.errors import UserError
from whyrank.core.results import plain
from whyrank.edits.align import aligned_u0
from whyrank.edits.cost import preview
from whyrank.edits.edit import Edit
from whyrank.edits.two_tokens import experiment
from whyrank.edits.unedited import Unedited
from whyrank.interventions.api import patch
from whyrank.learning.tables import Mean, compare
from whyrank.papers.disentangled.paired import corrected, difference
from whyrank.rankers.load import load

MANIFEST = {"command": "whyrank test"}


def pairs(count, perturbed="the cat sat on a cat"):
    """Of a query each."""
    return [
        MinimalPair(f"p{i}", "red cat", "the cat sat on a mat", perturbed, axiom="TFC1", variant="append",
                    term="cat", qid=f"q{i}", docid=f"d{i}", k=1, rank=1 + i, tf=1)
        for i in range(count)
    ]  # fmt: skip


#: Name -> pairs of which little can be said.
CASES = {
    "one pair": pairs(1),
    "two pairs": pairs(2),
    "one query": [MinimalPair(**{**vars(pair), "qid": "q"}) for pair in pairs(8)],
    "identical sides": pairs(8, "the cat sat on a mat"),
    "pairs that are all the same": pairs(8),
}


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def valid(folder, name):
    """The JSON, read as the strictest reader would; and the text of the page."""

    def refuse(token):
        raise AssertionError(f"{token} is no JSON")

    return json.loads((folder / name).read_text(), parse_constant=refuse), (folder / "report.html").read_text()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("method", ["activation", "attribution", "ablation"])
def test_patching(ranker, tmp_path, case, method):
    options = {"method": method, **({"ablate": "zero"} if method == "ablation" else {})}
    if case == "identical sides":
        with pytest.raises(UserError, match="reads the same tokens on both sides"):
            patch(ranker, CASES[case], **options)
        return
    effects = patch(ranker, CASES[case], **options)
    effects.write(tmp_path, MANIFEST)
    found, page = valid(tmp_path, "summary.json")
    reason = "no spread" if len({pair.qid for pair in CASES[case]}) > 5 else "too few queries"
    for site in found["sites"]:
        mean = site["mean_effect"]
        assert (mean["low"], mean["high"], mean["no_interval"]) == (None, None, reason)
    if reason == "too few queries":
        assert all(site["p"] is None and site["p_holm"] is None for site in found["sites"]) and reason in page


@pytest.mark.parametrize("case", CASES)
def test_an_audit(ranker, tmp_path, case):
    audit_pairs([ranker], CASES[case]).write(tmp_path, MANIFEST)
    found, page = valid(tmp_path, "audit.json")
    (one,) = found["axioms"]
    assert one["mean"]["low"] is None
    if one["queries"] < 6:
        assert one["p"] is None and all(one[outcome]["no_interval"] == "too few queries" for outcome in OUTCOMES)
        assert "too few queries" in page
    else:
        assert all(one[outcome]["high"] - one[outcome]["low"] > 0.3 for outcome in OUTCOMES), "8 of 8 is not 100%"


@pytest.mark.parametrize("select", ["gap", "halves"])
@pytest.mark.parametrize("case", CASES)
def test_a_circuit(ranker, tmp_path, case, select):
    idf = TokenIdf.counted(ranker.pieces.tokenizer, ["the cat", "a red mat", "the dog"], "three texts")
    search = Search(Threshold(relative=0.3), 20, 20, most_steps=1, select=select)
    request = CircuitRequest(search, Sizes(4, 2, 2, 2, 4, 2))
    refused = {
        "one pair": "give two pairs or more",
        "identical sides": "both sides of the pairs score the same",
        "pairs that are all the same": "no head passes",
    }
    if select == "halves":  # eight queries are too few for two halves: heads are chosen, none is confirmed
        del refused["pairs that are all the same"]
    if case in refused:
        with pytest.raises(UserError, match=refused[case]):
            find_circuit(ranker, {"TFC1": CASES[case]}, idf, request)
        return
    find_circuit(ranker, {"TFC1": CASES[case]}, idf, request).write(tmp_path, MANIFEST)
    found, page = valid(tmp_path, "circuit.json")
    assert found["decide"] == {"gap": "point", "halves": "nothing (too few queries)"}[select]
    assert select == "gap" or not found["selection"]["tested"]
    reasons = ("too few queries", "no spread")
    for edge in found["edges"]:
        share = edge["share"]
        assert share["low"] is None and share["no_interval"] in reasons and edge["support"] is None
    kept = [one["only_circuit"]["kept"] for one in found["faithfulness"]["TFC1"]["kinds"].values()]
    assert kept and all(one["no_interval"] in reasons for one in kept)
    assert "too few queries" in page


@pytest.mark.parametrize("queries", [1, 5])
def test_an_edit(tmp_path, queries):
    ranker = cross_encoder(tmp_path / "ranker")
    some = dict(list(COLLECTION.queries.items())[:queries])
    qrels = {qid: COLLECTION.qrels[qid] for qid in some if qid in COLLECTION.qrels}
    collection = Collection.from_records("few", dict(COLLECTION.documents()), some, qrels)
    unedited = Unedited.ranked(ranker, collection, first_stage(collection, 9), depth=9)
    dial, edits = dialed(ranker), Edit.of(up=["cat=5"])
    found = preview(unedited, dial.change(edits), edits)
    assert found.ranking.cost.difference.no_interval == "too few queries"
    json.dumps([plain(found.ranking), plain(found.holders)], allow_nan=False)
    (tmp_path / "two").mkdir()
    experiment(dial, some, collection="few", scales=(1, 5)).write(tmp_path / "two", MANIFEST)
    found, page = valid(tmp_path / "two", "edit.json")
    assert found["curves"][0]["doc1"]["no_interval"] == "too few queries" and "too few queries" in page


def test_scores_that_are_all_the_same(ranker, tmp_path, monkeypatch):
    """A read-out that ignores the text: no gap, no spread, nothing is significant."""
    monkeypatch.setattr(ranker, "read_out", lambda hidden, inputs: torch.full((len(hidden),), 0.25))
    audit_pairs([ranker], pairs(8)).write(tmp_path, MANIFEST)
    found, _ = valid(tmp_path, "audit.json")
    assert [found["axioms"][0][outcome]["value"] for outcome in OUTCOMES] == [0.0, 1.0, 0.0]
    assert found["axioms"][0]["p"] == 1.0
    patch(ranker, pairs(8)).write(tmp_path, MANIFEST)
    found, _ = valid(tmp_path, "summary.json")
    assert all(site["share"]["value"] is None and site["p_holm"] in (None, 1.0) for site in found["sites"])
    assert np.isfinite([site["mean_effect"]["value"] for site in found["sites"]]).all()


@pytest.mark.parametrize("queries", [1, 2, 5])
def test_tables_of_few_test_queries(queries):
    """Of training: means and differences, with neither an interval nor a p-value."""
    values = [{"nDCG@10": {f"q{i}": 0.1 * i for i in range(queries)}}]
    row = Mean.of("x", "nDCG@10", values)
    (gap,) = compare("rivals", [("x", "y")], {"x": values, "y": values}, ["nDCG@10"])
    paired = difference([0.5] * queries, [0.4] * queries, [f"q{i}" for i in range(queries)])
    json.dumps([plain(row), plain(gap), plain(corrected([paired])[0])], allow_nan=False)
    assert (
        row.mean.no_interval
        == gap.comparison.difference.no_interval
        == paired.difference.no_interval
        == "too few queries"
    )
    assert gap.comparison.p_holm is None and corrected([paired])[0].p_holm is None
    assert gap.pair == "x - y"
    assert gap.text() == "nDCG@10 +0.0000 (too few queries), not tested (too few queries)"


def test_words_that_are_all_equally_rare_cannot_be_aligned_with():
    with pytest.raises(UserError, match="all words are equally rare here"):
        aligned_u0(torch.linspace(-1, 1, 20), torch.full((20,), 0.3, dtype=torch.float64))


def test_nan_is_never_written(tmp_path):
    """What writes our JSON refuses NaN, so that none can slip through."""
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "x.json", {"value": float("nan")})
