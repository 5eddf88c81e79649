"""The plan of the study of DGRe: each training once, ablations that add up, what models read."""

from itertools import pairwise, permutations
from math import log2

import pytest

from tests.checkpoints import WORDS
from tests.learning.small import COLLECTION, FIRST, QRELS
from tests.learning.tiny_networks import backbone_of
from tests.learning.tiny_training import still_backbone
from whyrank.core.errors import UserError
from whyrank.learning.judgements import Judged
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.options import settled
from whyrank.papers.disentangled.collection_numbers import collection_numbers, reference_orders
from whyrank.papers.disentangled.paper import PAPER
from whyrank.papers.disentangled.sizes import HowRead, Sizes
from whyrank.papers.disentangled.texts_read import read_of
from whyrank.papers.disentangled.trainings import TrainingSetup, check_settings, fewer_tests
from whyrank.papers.disentangled.variants import (
    MODELS,
    PARTS,
    VARIANTS,
    comparisons,
    parse_models,
    parse_parts,
    rows_of,
    variants_of,
)


def test_each_variant_is_trained_once_whatever_tables_share_it():
    names = [variant.name for variant in variants_of(PARTS)]
    assert len(names) == len(set(names)) == len(VARIANTS) == 18
    used = [name for part in PARTS for _, name in rows_of(part) if name != "bm25"]
    assert used.count("dgre") == 6 and set(used) == set(names), "full DGRe is in Tables 2, 5, 6 and more"
    own = {(VARIANTS[name].model, VARIANTS[name].settings) for name in names}
    assert len(own) == len(names), "no two variants are the same training"
    assert [one.name for one in variants_of(["table5"])] == ["dgre-triangle", "dgre", "dgre-infonce", "dgre-club"]
    assert [one.name for one in variants_of(["table2"], ("bm25", "drmm"))] == ["drmm"]
    assert variants_of(["table1"]) == []


def test_rows_that_the_paper_has_not_can_be_dropped():
    left = {one.name for one in variants_of(PARTS)} - {one.name for one in variants_of(PARTS, extra_rows=False)}
    assert left == {"dgre-mask-learned", "dgre-infonce", "dgre-club"}
    for part in ("table3", "table4", "table5"):
        paper, labels = PAPER[part]["Robust04"], [label for label, _ in rows_of(part, extra_rows=False)]
        assert labels == list(paper), "what is left are the rows the paper has numbers of"
        assert {label for pair in comparisons(part, extra_rows=False) for label in pair} == set(labels)


def test_ablations_add_up():
    own = {name: dict(VARIANTS[name].settings) for name in VARIANTS}
    for part, key in (("table3", "masking"), ("table4", "distance"), ("table5", "information")):
        for (_, one), (_, other) in pairwise(rows_of(part)):
            changed = {name for name in own[one] if own[one][name] != own[other][name]}
            assert changed == {key}, f"{part}: {one} and {other}"
    assert rows_of("table3")[2][1] == rows_of("table4")[0][1], "Table 4 begins with Table 3's adaptive"
    assert rows_of("table4")[-1][1] == rows_of("table5")[0][1], "Table 5 begins with Table 4's triangle"
    assert {key for key in own["dgre-layer1"] if own["dgre"].get(key) != own["dgre-layer1"][key]} == {"layers"}


@pytest.mark.parametrize("sizes", [Sizes(), Sizes.quick(), Sizes(max_length=512, chunks=4), Sizes(max_length=24)])
def test_every_variant_has_settings_that_its_model_takes(sizes):
    for variant in VARIANTS.values():
        network, training = settled(model_class(variant.model), sizes.settings_of(variant))
        assert training.epochs == sizes.epochs and training.positives == sizes.positives
        for name, value in variant.settings:
            assert getattr(network, name) == value


def test_all_models_cover_about_as_much_of_a_document():
    sizes = Sizes(max_length=128, chunks=2)
    own = {name: sizes.settings_of(VARIANTS[name]) for name in VARIANTS}
    assert own["bert"]["chunks"] == own["dgre"]["chunks"] == own["lgre"]["chunks"] == 2
    assert own["drmm"]["max_length"] == own["conv-knrm"]["max_length"] == 256
    words = (128 - 20 - 3) / 1.3 * 2
    for name in ("bert-maxp", "parade"):
        how = own[name]
        stride = how.get("stride") or how["passage"] - how["overlap"]
        covered = how["passage"] + (how["chunks"] - 1) * stride
        assert words <= covered + 2 and covered - stride < words, f"{name} covers {covered} words"
        assert how["passage"] * 1.3 + 20 + 3 <= 128, "a passage fits a sequence"
    whole = Sizes(max_length=512, chunks=4).settings_of(VARIANTS["bert-maxp"])
    assert (whole["passage"], whole["stride"]) == (150, 75) and whole["chunks"] <= 16, "the paper's own"
    parade = Sizes(max_length=512, chunks=4).settings_of(VARIANTS["parade"])
    assert (parade["passage"], parade["overlap"]) == (150, 50)


def test_a_rank_loss_that_is_set_is_that_of_all_models():
    losses = {
        settled(model_class(one.model), setup(settings={"rank_loss": "raw"}).settings_of(one))[0].rank_loss
        for one in VARIANTS.values()
    }
    assert losses == {"raw"}


@pytest.mark.parametrize("length", [1, 9, 30, 90])
def test_document_tokens_that_are_read_are_counted_place_by_place(tmp_path, length):
    pieces = backbone_of(still_backbone(tmp_path)).pieces(24)
    words = (WORDS * 9)[:length]
    pair = ("how many cat", " ".join(words))
    room = 24 - 3 - 3
    assert read_of(pieces, "bert", HowRead(24, 2), pair) == (
        min(2, -(-length // room)),
        *[min(length, 2 * room)] * 2,
    )
    assert read_of(pieces, "drmm", HowRead(48), pair)[1] == min(length, 48)
    for model in ("bert-maxp", "parade"):
        how = HowRead(24, chunks=3, passage=10, stride=5)
        found = read_of(pieces, model, how, pair)
        seen = [i for k in range(found.sequences) for i in range(5 * k, min(5 * k + 10, length))]
        assert found == (min(3, max(1, -(-(length - 10) // 5) + 1)), len(set(seen)), len(seen))
        assert how.settings(model) == {
            "max_length": 24, "chunks": 3, "passage": 10, {"parade": "overlap"}.get(model, "stride"): 5
        }  # fmt: skip
    cut = read_of(pieces, "parade", HowRead(24, chunks=2, passage=30, stride=30), pair)
    assert cut.tokens == min(length, room) + min(max(0, length - 30), room), "a passage that does not fit is cut"


def setup(**how):
    return TrainingSetup(Judged(COLLECTION), FIRST, "BM25", "nowhere", Sizes(**how.pop("sizes", {})), **how)


def test_word_models_learn_at_a_rate_of_their_own():
    made = setup(settings={"rate": "5e-4", "backbone_rate": "2e-5"})
    rates = {name: made.settings_of(VARIANTS[name]) for name in ("drmm", "conv-knrm", "bert")}
    assert rates["drmm"]["rate"] == rates["conv-knrm"]["rate"] == 1e-3 and rates["bert"]["rate"] == "5e-4"
    assert rates["conv-knrm"]["backbone_rate"] == "2e-5"


def test_bert_and_dgre_have_more_seeds():
    sizes = Sizes(seeds=3, other_seeds=1)
    counts = {name: len(sizes.seeds_of(VARIANTS[name], 7)) for name in VARIANTS}
    assert [name for name, count in counts.items() if count == 3] == ["bert", "dgre"]
    assert list(sizes.seeds_of(VARIANTS["bert"], 7)) == [7, 8, 9]
    assert sizes.seeds_of(VARIANTS["lgre"], 7)[0] == 7, "the first seed decides the folds: the same for all"


def test_what_does_not_exist_is_refused():
    assert parse_parts("opened, table2") == ("table2", "opened") and parse_parts(None) == PARTS
    assert parse_models("dgre,bm25") == ("bm25", "dgre") and parse_models(None) == MODELS
    with pytest.raises(UserError, match="no part 'tabel2'; did you mean"):
        parse_parts("tabel2")
    with pytest.raises(UserError, match="no model 'bertt'"):
        parse_models("bertt")
    with pytest.raises(UserError, match="no setting 'masking'"):
        check_settings({"masking": "none"})
    check_settings({"rank_loss": "raw", "validation_depth": "20"})
    with pytest.raises(UserError, match="give its own option epochs"):
        check_settings({"epochs": "3"})


def test_dropped_test_queries_are_not_learned_from():
    test = tuple(f"q{i}" for i in range(5))
    fewer = fewer_tests(Judged(COLLECTION, test), 2)
    assert fewer.test == ("q0", "q1")
    assert set(fewer.collection.qrels) == set(QRELS) - {"q2", "q3", "q4"}
    assert fewer_tests(Judged(COLLECTION, test), 9).test == test
    assert fewer_tests(Judged(COLLECTION), 2).test is None


def test_the_collections_numbers_by_hand(tmp_path):
    from whyrank.learning.material import Material
    from whyrank.learning.splits import Split

    material = Material.of(COLLECTION, FIRST, k=4, relevant=False)
    splits = [Split(("q0", "q1"), ("q2",), ("q3", "q4"))]
    material.qrels["q4"] = {**material.qrels["q4"], "elsewhere": 2}
    references = reference_orders(material, ["q3", "q4"], ["P@20", "nDCG@20"])
    found = collection_numbers(Judged(COLLECTION), material, splits, 4, references)
    assert (found.documents, found.queries, found.test_queries) == (52, 5, 2)
    rows = {row.what: row for row in found.rows}
    assert rows["words per query"].mean == 3 and rows["words per document"].mean == 4
    assert rows["judged documents, all queries used"].mean == 3.2
    assert rows["relevant documents, test queries"].mean == 2.5 and rows["relevant documents, test queries"].n == 2
    assert rows["relevant, but not in the collection, test queries"].mean == 0.5
    seen = [sum(row.docno in QRELS[q] for row in FIRST[q][:4]) for q in ("q3", "q4")]
    assert rows["judged in the first 4, test queries"].mean == sum(seen) / 2
    best = [_best(q, ("elsewhere",) * (q == "q4")) for q in ("q3", "q4")]
    assert rows["best possible P@20, test queries"].mean == pytest.approx(sum(p for p, _ in best) / 2)
    assert rows["best possible nDCG@20, test queries"].mean == pytest.approx(sum(g for _, g in best) / 2)
    random = [_random(q, ("elsewhere",) * (q == "q4")) for q in ("q3", "q4")]
    assert rows["random order P@20, test queries"].mean == pytest.approx(sum(p for p, _ in random) / 2)
    assert rows["random order nDCG@20, test queries"].mean == pytest.approx(sum(g for _, g in random) / 2)
    reached = [sum(QRELS[q].get(row.docno, 0) > 0 for row in FIRST[q][:4]) for q in ("q3", "q4")]
    assert rows["relevant in the first 4, test queries"].mean == sum(reached) / 2


def _best(qid, more=()):
    """P@20 and nDCG@20 of the first four candidates at best; `more` are graded 2 and not among them."""
    return _measured(qid, sorted(_grades(qid), reverse=True), more)


def _random(qid, more=()):
    """The mean of both over all 24 orders of the first four candidates."""
    found = [_measured(qid, grades, more) for grades in permutations(_grades(qid))]
    return tuple(sum(values) / len(found) for values in zip(*found, strict=True))


def _grades(qid):
    return [QRELS[qid].get(row.docno, 0) for row in FIRST[qid][:4]]


def _measured(qid, grades, more):
    ideal = sorted([*QRELS[qid].values(), *[2 for _ in more]], reverse=True)
    gains = [sum(grade / log2(i + 2) for i, grade in enumerate(one)) for one in (grades, ideal)]
    return sum(grade > 0 for grade in grades) / 20, gains[0] / gains[1]
