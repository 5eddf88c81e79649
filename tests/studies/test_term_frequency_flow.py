"""Where the signal stands and goes; several rankers side by side; whose documents are studied."""

import pytest

from tests.checkpoints import save
from tests.circuits.test_search import pairs
from whyrank.collections.collection import Collection
from whyrank.interventions.api import patch
from whyrank.rankers.load import load
from whyrank.studies.term_frequency.atlas import atlas, depth_profile, relative_depth
from whyrank.studies.term_frequency.documents import own_top
from whyrank.studies.term_frequency.flow import information_flow, links
from whyrank.studies.term_frequency.sizes import Sizes, cost


@pytest.fixture(scope="module")
def bi(tmp_path_factory):
    return load(str(save(tmp_path_factory.mktemp("bi"))), kind="bi-encoder")


@pytest.fixture(scope="module")
def cross(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


def share(frame):
    return frame["effect"].sum() / (frame["perturbed"] - frame["base"]).sum()


def test_flow_is_what_patching_gives(bi):
    some = pairs("TFC1", 4)
    rows = {(row["layer"], row["category"]): row for row in information_flow(bi, some)}
    assert {layer for layer, _ in rows} == {0, 1, 2}
    stands = patch(bi, some, sites="L1.resid@inj").frame
    assert rows[1, "inj"]["stands"]["share"] == pytest.approx(share(stands), abs=1e-4)
    heads = ",".join(f"L1.H{head}.{part}" for head in range(4) for part in "qkv")
    moves = patch(bi, some, method="path", sites="L1.resid@inj", to=heads).frame
    assert rows[1, "inj"]["moves"]["share"] == pytest.approx(share(moves), abs=1e-4)
    lands = patch(bi, some, sites="L1.attn@cls").frame
    assert rows[1, "cls"]["lands"]["share"] == pytest.approx(share(lands), abs=1e-4)
    assert rows[0, "inj"]["stands"]["share"] == pytest.approx(1.0, abs=1e-4), "at first only the term differs"
    assert rows[0, "cls"]["stands"]["share"] == pytest.approx(0.0, abs=1e-6)


def test_links_share_out_what_moves():
    rows = [
        {"layer": 0, "category": "inj", "moves": {"share": 0.6}, "lands": {"share": 0.1}},
        {"layer": 0, "category": "cls", "moves": {"share": -0.2}, "lands": {"share": 0.3}},
        {"layer": 1, "category": "cls", "moves": {"share": None}, "lands": {"share": None}},
    ]
    found = links(rows)
    assert [(one["from"], one["to"]) for one in found] == [("inj", "inj"), ("inj", "cls")]
    assert [one["width"] for one in found] == pytest.approx([0.15, 0.45])


def site(layer, head, value):
    return {
        "layer": layer,
        "head": head,
        "share": value,
        "share_interval": {"low": 0.0, "high": 1.0},
        "p_holm": 0.01,
    }


def test_depth_is_relative():
    assert relative_depth(0, 6) == 0 and relative_depth(5, 6) == 1 and relative_depth(0, 1) == 0
    heads = [site(0, 0, 0.3), site(5, 1, -0.1), site(2, 1, 0.1)]
    assert depth_profile(heads, 6, steps=2) == pytest.approx([0.8, 0.2])
    assert depth_profile([], 6, steps=2) == [0.0, 0.0]


def test_an_atlas_compares_maps_only_of_one_shape():
    small = {"layers": 2, "heads": [site(0, 0, 0.5), site(0, 1, 0.1), site(1, 0, 0.2), site(1, 1, None)]}
    same = {"layers": 2, "heads": [site(0, 0, 0.4), site(0, 1, 0.1), site(1, 0, 0.3)]}
    large = {"layers": 3, "heads": [site(0, 0, 0.1), site(2, 0, 0.9)]}
    found = atlas({"a": small, "b": same, "c": large})
    assert [page["ranker"] for page in found["rankers"]] == ["a", "b", "c"]
    assert found["rankers"][0]["carrying"][0]["head"] == "0.0"
    assert found["rankers"][2]["mean_depth"] == pytest.approx(0.9)
    alike = {(one["of"], one["with"]): one for one in found["alike"]}
    assert alike["a", "b"]["map"] > 0.8 and alike["a", "c"]["map"] is None


def test_whose_documents(bi, cross):
    documents = {"d1": "the cat sat", "d2": "the dog runs", "d3": "red cat on a mat", "d4": "blue house"}
    collection = Collection.from_records("tiny", documents, {"q1": "red cat", "q2": "dog house"})
    run, origin = own_top(bi, collection, 2, k=3)
    assert origin == "all 4 documents" and {len(rows) for rows in run.values()} == {3}
    best = bi.rank("red cat", list(documents.values()))[0]
    assert documents[run["q1"][0].docno] == best.text
    run, origin = own_top(cross, collection, 1, k=2)
    assert origin == "BM25's top 2" and len(run) == 1


def test_larger_models_get_fewer_pairs(bi):
    class Large:
        layers, heads, width = 12, 12, 768

    class Small:
        layers, heads, width = 6, 12, 384

    assert Sizes().affordable(Small).pairs == Sizes().pairs
    assert 4 <= Sizes().affordable(Large).pairs < Sizes().pairs
    assert cost(Large) > 8 * cost(Small)
