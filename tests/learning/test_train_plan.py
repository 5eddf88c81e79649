"""What a plan decides: which queries count, what is made once, and what accumulated parts may and may not do."""

from itertools import combinations

import pytest
import torch

from tests.checkpoints import save
from tests.learning.small import COLLECTION, DOCUMENTS, FIRST, QRELS, QUERIES
from tests.learning.tiny_networks import register
from tests.learning.tiny_training import backbone, plan, still_backbone, training
from whyrank.collections.collection import Collection
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.evaluation.evaluate import evaluate
from whyrank.learning.api import say_plan
from whyrank.learning.pairwise import Learners, Mean, PairEpochs
from whyrank.learning.plan import backbone_checkpoint
from whyrank.learning.processes import OneProcess
from whyrank.learning.summary import by_seed, run_of, training_result
from whyrank.text.words import words


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    register(monkeypatch)


def judged_but_not_found():
    """The small collection with two judged queries that share no word with any document."""
    queries = {**QUERIES, "qy": "yak", "qz": "zebra"}
    grades = {**QRELS, "qy": {"d0-0": 1}, "qz": {"d1-0": 2, "d1-1": 1}}
    return Collection.from_records("small", DOCUMENTS, queries, grades)


def test_judged_queries_that_the_first_stage_does_not_find_count_as_0(tmp_path):
    """As `whyrank eval` has it, for the model's row and the first stage's."""
    collection = judged_but_not_found()
    made = training(tmp_path, collection=collection, epochs=1)  # FIRST knows neither query
    assert made.plan.material.not_found == 2 and made.plan.material.dropped_queries == 0
    fitted = made.run()
    result = training_result(made, fitted, "BM25")
    assert result.without_candidates == 2 and result.queries == 15
    assert sorted(qid for fold in result.folds for qid in fold.test) == sorted(collection.qrels)
    means = {(row.name, row.measure): row.mean for row in result.means}
    for name, run in (("tiny-critic", run_of(fitted, 0, "tag")), ("first stage", FIRST)):
        expected = evaluate({"run": run}, collection.qrels, ["P@20", "nDCG@20"]).means["run"]
        for measure, mean in expected.items():
            assert means[name, measure].value == pytest.approx(mean)
            assert means[name, measure].queries == 15
    values = by_seed(result.models)[0]["nDCG@20"]
    assert values["qy"] == values["qz"] == 0 and result.first_stage_values["nDCG@20"]["qz"] == 0


def test_queries_of_which_only_the_beginning_is_read_are_reported(tmp_path):
    long = {**QUERIES, "q3": "how many " + "cat " * 6, "q5": "how many " + "dog " * 4}
    collection = Collection.from_records("long", DOCUMENTS, long, QRELS)
    for length, cut in ((16, ("q3", "q5")), (22, ("q3",)), (24, ())):  # a half less four: 4, 7 and 8 pieces
        assert plan(tmp_path, model="tiny-cls", collection=collection, max_length=length).cut_queries == cut
    assert not plan(tmp_path, model="drmm", collection=collection).cut_queries, "words are all read"


def test_queries_in_the_same_words_are_never_on_two_sides(tmp_path):
    again = {**QUERIES, "q7": "How many cat?", "q8": QUERIES["q1"]}
    collection = Collection.from_records("again", DOCUMENTS, again, QRELS)
    made = training(tmp_path, collection=collection, epochs=1)
    assert made.plan.repeated == ("q7", "q8")
    for split in made.plan.splits:
        sides = [{tuple(words(again[qid])) for qid in qids} for _, qids in split]
        assert not any(one & other for one, other in combinations(sides, 2))
    assert sorted(qid for split in made.plan.splits for qid in split.test) == sorted(again), "all are tested"
    assert sum(len(qids) for split in made.plan.splits for _, qids in split) < 3 * len(again)
    said = []
    say_plan(made, Caller(say=said.append))
    assert any("2 queries in the same words as another" in line for line in said)
    result = training_result(made, made.run(), "BM25")
    assert result.repeated_queries == 2
    result.write_report(tmp_path / "report.html", {"command": "train"})
    assert "2 queries ask in the same words as another" in (tmp_path / "report.html").read_text()


def test_pairs_are_made_once_a_fold_and_the_network_is_built_before(tmp_path, monkeypatch):
    made = plan(tmp_path)
    assert made.pairs(2) is made.pairs(2) and made.pairs(1) is not made.pairs(2)
    with pytest.raises(UserError, match="layers cannot be 99; this backbone has 3"):
        plan(tmp_path, model="dgre", layers=99)
    with pytest.raises(UserError, match="no such file"):
        plan(tmp_path, model="drmm", vectors=str(tmp_path / "none.txt"))


@pytest.mark.parametrize("given", [{"select": "P@500"}, {"select": "P@3", "validation_depth": 3}])
def test_a_measure_that_every_order_has_the_same_of_cannot_choose(tmp_path, given):
    """Every epoch would be as good as the untrained model, which would be kept."""
    with pytest.raises(UserError, match=r"every order of the validation candidates of fold 1 has the same P@"):
        plan(tmp_path, **given)
    assert plan(tmp_path, select="P@3", validation_depth=6).settings.select == "P@3"


def test_the_files_that_models_on_words_do_without_are_known(tmp_path):
    assert plan(tmp_path, model="drmm", vectors="none").network == plan(tmp_path, model="drmm").network


def test_all_trainings_of_a_plan_read_the_collection_as_often_as_one(tmp_path, monkeypatch):
    passes, real = [], COLLECTION.documents
    monkeypatch.setattr(COLLECTION, "documents", lambda: passes.append(1) or real())
    made = training(tmp_path, model="drmm", seeds=(0, 1), epochs=1)
    before = len(passes)
    made.run()
    assert len(passes) == before


def test_a_plan_does_not_disturb_the_users_random_numbers(tmp_path):
    backbone(tmp_path)
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    plan(tmp_path, model="dgre")
    assert torch.equal(torch.rand(2), expected)


@pytest.mark.parametrize("given", [{"accumulate": 6, "batch": 6}, {"accumulate": 3, "batch": 5}, {"batch": 1}])
def test_parts_too_small_for_mutual_information_are_refused(tmp_path, given):
    with pytest.raises(
        UserError, match=r"1 pair read at a time has nothing.*smaller accumulate, or information=none"
    ):
        plan(tmp_path, model="dgre", **given)
    assert plan(tmp_path, model="dgre", information="none", **given).smallest_part == 1


def test_accumulation_is_the_same_step_without_mutual_information_and_another_with_it(tmp_path):
    found = {}
    for information in ("none", "mine"):
        for accumulate in (1, 3):
            given = plan(
                tmp_path, model="dgre", start=still_backbone(tmp_path), dropout=0, information=information,
                accumulate=accumulate, batch=10,
            )  # fmt: skip
            network, pairs = given.new_network(5), given.pairs(1)
            learners = Learners.of(network, given.settings, pairs.steps(10))
            learned = PairEpochs(learners, given.material, pairs, given.settings, OneProcess(), seed=5).train(1)
            found[information, accumulate] = learned.losses, network.readout.together.weight.detach()
    for name in ("rank", "distance"):
        assert found["none", 1][0][name] == pytest.approx(found["none", 3][0][name], abs=1e-6)
    torch.testing.assert_close(found["none", 1][1], found["none", 3][1], atol=1e-6, rtol=0)
    assert abs(found["mine", 1][0]["information"] - found["mine", 3][0]["information"]) > 1e-6


@pytest.mark.parametrize("information", ["mine", "infonce", "club"])
def test_critics_rest_where_all_pairs_are_of_one_query(tmp_path, information):
    """Neither momentum nor decay moves them, and their loss is the mean over the pairs that taught them."""
    given = plan(tmp_path, model="dgre", start=still_backbone(tmp_path), information=information, decay=0.5)
    network = given.new_network(0)
    learners = Learners.of(network, given.settings, 10)
    batch = given.pairs(1).epoch(0, 1)[:4]
    assert len({pair.qid for pair in batch}) > 1
    epochs = PairEpochs(learners, given.material, given.pairs(1), given.settings, OneProcess(), seed=0)
    mean = Mean()
    network.train()
    epochs._step(batch, mean, "the first step")
    before = {name: weight.clone() for name, weight in network.critics.state_dict().items()}
    critics = mean.values()["critics"]
    epochs._step([pair for pair in batch if pair.qid == batch[0].qid] * 2, mean, "the second step")
    for name, weight in network.critics.state_dict().items():
        assert torch.equal(weight, before[name]), name
    assert mean.values()["critics"] == critics


@pytest.mark.security
def test_a_backbone_whose_tokenizer_is_a_link_outside_is_refused_before_anything_is_learned(tmp_path):
    folder = save(tmp_path / "backbone")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "vocab.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(UserError, match="a link out of the checkpoint"):
        backbone_checkpoint(str(folder))
