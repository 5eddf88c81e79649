"""Training: a step against plain torch, the same result each time and after a kill, and what stops it."""

import copy
import io
import json
import math
from statistics import fmean

import pytest
import torch

from tests.learning.schedules import begun
from tests.learning.small import COLLECTION, DOCUMENTS, FIRST, QRELS, QUERIES
from tests.learning.tiny_networks import register
from tests.learning.tiny_training import (
    QUICK,
    assert_equal,
    backbone,
    plan,
    still_backbone,
    training,
    weights,
)
from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.core.results import plain
from whyrank.evaluation.measures import per_query
from whyrank.learning import trainer as module
from whyrank.learning.checkpoints import OPTIMISER
from whyrank.learning.judgements import Judged, judged
from whyrank.learning.optimisation import NotFinite
from whyrank.learning.pairwise import Learners, PairEpochs
from whyrank.learning.plan import plan_training
from whyrank.learning.processes import OneProcess
from whyrank.learning.results import TrainedModel
from whyrank.learning.summary import by_seed, first_stage_values, run_of, tables, training_result
from whyrank.learning.trained import Trained
from whyrank.rankers.load import load
from whyrank.rankers.ranker import ScoreNotFinite


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    register(monkeypatch)


def test_what_is_to_beat_is_the_first_stage_on_the_validation_queries(tmp_path):
    given = training(tmp_path, validation_depth=3)
    for fold, split in enumerate(given.plan.splits, start=1):
        run = {qid: {row.docno: -row.rank for row in FIRST[qid][:3]} for qid in split.validation}
        values = [value for _, _, value in per_query(run, {qid: QRELS[qid] for qid in run}, ["nDCG@5"])]
        assert given.to_beat(fold) == pytest.approx(fmean(values))


@pytest.mark.parametrize(("accumulate", "size"), [(1, 4), (2, 6)])
def test_epochs_are_a_plain_loop_of_torch(tmp_path, accumulate, size):
    given = plan(
        tmp_path, start=still_backbone(tmp_path), accumulate=accumulate, clip=0.02, decay=0.05, warm_up=0.3,
        batch=size, rank_loss="sigmoid",
    )  # fmt: skip
    network, pairs = given.new_network(5), given.pairs(1)
    plain = copy.deepcopy(network)
    steps = 2 * pairs.steps(size)
    learners = Learners.of(network, given.settings, steps)
    epochs = PairEpochs(learners, given.material, pairs, given.settings, OneProcess(), seed=5)
    found = [epochs.train(epoch) for epoch in (1, 2)]

    groups, named = [], list(plain.named_parameters())
    for rate, inside in ((1e-3, True), (3e-3, False)):
        mine = [p for n, p in named if n.startswith("backbone.") == inside and not n.startswith("critics.")]
        groups.append({"params": [p for p in mine if p.ndim > 1], "lr": rate, "weight_decay": 0.05})
        groups.append({"params": [p for p in mine if p.ndim < 2], "lr": rate, "weight_decay": 0.0})
    optimiser = torch.optim.AdamW(groups)
    schedule = begun(optimiser, 0.3, steps)
    critic = torch.optim.AdamW(
        [
            {"params": [plain.critics.weight], "weight_decay": 0.05},
            {"params": [plain.critics.bias], "weight_decay": 0},
        ],
        lr=1e-2,
    )
    clipped = 0
    plain.train()
    for epoch, learned in zip((1, 2), found, strict=True):
        totals = {"rank": 0.0, "hiding": 0.0, "critics": 0.0}
        for batch in pairs.batches(5, epoch, size):
            optimiser.zero_grad()
            half = len(batch) // 2
            for part in [batch] if accumulate == 1 else [batch[:half], batch[half:]]:
                texts = [(QUERIES[p.qid], DOCUMENTS[p.better]) for p in part]
                texts += [(QUERIES[p.qid], DOCUMENTS[p.worse]) for p in part]
                order = list(dict.fromkeys(p.qid for p in part))
                asked = torch.tensor([order.index(p.qid) for p in part] * 2).float()
                states = plain.backbone.module(
                    input_ids=(read := plain.read(texts)).inputs.ids,
                    attention_mask=read.inputs.attention_mask.long(),
                    token_type_ids=read.inputs.types,
                ).last_hidden_state[:, 0]
                critic.zero_grad()
                told_apart = (plain.critics(states.detach())[:, 0] - asked).pow(2).mean()
                told_apart.backward()
                torch.nn.utils.clip_grad_norm_(plain.critics.parameters(), 0.02)
                critic.step()
                scores = torch.sigmoid(plain.score(states)[:, 0])
                rank = torch.clamp(1 - scores[: len(part)] + scores[len(part) :], min=0).mean()
                hiding = -0.01 * (plain.critics(states)[:, 0] - asked).pow(2).mean()
                ((rank + hiding) * len(part) / len(batch)).backward()
                for name, value in (("rank", rank), ("hiding", hiding), ("critics", told_apart)):
                    totals[name] += value.item() * len(part)
            learned_ones = [p for group in groups for p in group["params"]]
            clipped += bool(torch.nn.utils.clip_grad_norm_(learned_ones, 0.02) > 0.02)
            optimiser.step()
            schedule.step()
        for name, total in totals.items():
            assert learned.losses[name] == pytest.approx(total / len(pairs), abs=1e-5), name
        assert learned.loss == pytest.approx((totals["rank"] + totals["hiding"]) / len(pairs), abs=1e-5)
    assert clipped, "some gradient is long, or clipping was not tested"
    start = given.new_network(5).state_dict()
    moved = 0
    for name, weight in plain.state_dict().items():
        moved += not torch.equal(weight, start[name])
        if name != "seen" and not name.endswith("key.bias"):  # the softmax cancels it: its gradient is rounding
            torch.testing.assert_close(network.state_dict()[name], weight, atol=2e-5, rtol=1e-4)
    assert moved > 20
    assert network.seen == 2 * pairs.steps(size) * accumulate, "the critics go a step with each part"


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(tmp_path):
    how = {"seeds": (0, 1), "folds": 1, "dropout": 0.3}
    one = training(tmp_path, "one", **how).run()
    other = training(tmp_path, "other", **how).run()
    assert one == other
    first = weights(tmp_path, "one")
    assert_equal(first, weights(tmp_path, "other"))
    assert not first["fold1-seed0"]["score.weight"].equal(first["fold1-seed1"]["score.weight"])


class Stopped(Exception):
    pass


@pytest.mark.parametrize(
    ("fold", "epoch", "losses"),
    [(1, 1, True), (1, 2, True), (1, 2, False), (2, 0, False), (2, 3, True)],
    ids=["in the first epoch", "in the second", "while measuring", "before the second fold", "in the last epoch"],
)
def test_killed_anywhere_it_goes_on_to_the_same_result(tmp_path, fold, epoch, losses):
    whole = training(tmp_path, "whole", dropout=0.3).run()

    def stop(moment):
        if (moment.job.fold, moment.epoch, bool(moment.losses)) == (fold, epoch, losses):
            raise Stopped

    with pytest.raises(Stopped):
        training(tmp_path, "killed", dropout=0.3).run(stop)
    seen = []
    again = training(tmp_path, "killed", dropout=0.3).run(seen.append)
    assert again == whole
    assert_equal(weights(tmp_path, "killed"), weights(tmp_path, "whole"))
    assert seen[0].job.fold == fold and seen[0].epoch >= epoch, "what was done is not done again"


def test_killed_while_a_checkpoint_is_written_it_goes_on_to_the_same_result(tmp_path, monkeypatch):
    whole = training(tmp_path, "whole", folds=1).run()
    import whyrank.learning.checkpoints as module

    real, calls = module._state_bytes, []

    def torn(learner):
        calls.append(1)
        if len(calls) == 3:
            raise Stopped
        return real(learner)

    monkeypatch.setattr(module, "_state_bytes", torn)
    with pytest.raises(Stopped):
        training(tmp_path, "killed", folds=1).run()
    assert training(tmp_path, "killed", folds=1).run() == whole
    assert_equal(weights(tmp_path, "killed"), weights(tmp_path, "whole"))


def test_a_checkpoint_has_the_critics_optimiser(tmp_path):
    def stop(moment):
        if moment.epoch == 3:
            raise Stopped

    with pytest.raises(Stopped):
        training(tmp_path, folds=1).run(stop)
    (folder,) = (tmp_path / "run" / ".work").glob("*/epoch-0002")
    content = (folder / OPTIMISER).read_bytes().split(b"\n", 1)[1]  # after the header, one line
    state = torch.load(io.BytesIO(content), weights_only=True)
    assert state["critics"]["optimiser"]["state"] and state["own"]["schedule"]["last_epoch"] > 0


def test_a_loss_that_is_no_number_stops_it_and_says_where_and_keeps_the_last_good_epoch(tmp_path):
    made = training(tmp_path, model="tiny-broken", folds=3, seeds=(7,), batch=4)
    with pytest.raises(UserError) as refused:
        made.run()
    said = str(refused.value)
    assert "the extra loss is nan in epoch 2, step 1 of fold1-seed7" in said and "lower rate" in said
    kept = tmp_path / "run" / ".work" / "fold1-seed7"
    assert said.startswith(str(kept)) and (kept / "epoch-0001" / "model.safetensors").is_file()
    assert not (tmp_path / "run" / "models").exists()


def test_a_score_that_is_no_number_stops_it_as_a_loss_does(tmp_path, monkeypatch):
    made = training(tmp_path, folds=1, seeds=(7,))
    honest, calls = module.shared_scores, []

    def scores(candidates, ranker, processes):
        calls.append(1)
        found = honest(candidates, ranker, processes)
        return [math.nan, *found[1:]] if len(calls) == 2 else found

    monkeypatch.setattr(module, "shared_scores", scores)
    with pytest.raises(UserError, match="a validation score after epoch 1 is nan of fold1-seed7") as refused:
        made.run()
    assert isinstance(refused.value.__cause__, NotFinite)
    assert (tmp_path / "run" / ".work" / "fold1-seed7" / "epoch-0000" / "model.safetensors").is_file()


def test_before_the_first_epoch_there_is_no_rate_to_lower(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "shared_scores", lambda candidates, *_: [math.nan] * len(candidates.rows))
    with pytest.raises(UserError) as refused:
        training(tmp_path, folds=1, seeds=(7,)).run()
    said = str(refused.value)
    assert (
        said.startswith("a validation score after epoch 0 is nan of fold1-seed7") and "nothing was learned" in said
    )


def test_the_chosen_epoch_is_the_best_on_validation_and_its_weights_are_saved(tmp_path):
    made = training(tmp_path, folds=1, epochs=4)
    (fitted,) = made.run()
    values = [epoch.validation for epoch in fitted.history.epochs]
    assert len(values) == 5 and values[fitted.history.best] == max(values)
    ranker = load(str(tmp_path / "run" / "models" / "fold1-seed0"))
    for part, expected in (("validation", max(values)), ("test", None)):
        qids = dict(made.plan.splits[0])[part]
        run = {
            qid: {row.docno: float(ranker.score([(QUERIES[qid], DOCUMENTS[row.docno])])[0]) for row in FIRST[qid]}
            for qid in qids
        }
        found = {(row.measure, row.qid): row.value for row in per_query(run, QRELS_OF(qids), ["nDCG@5", "P@20"])}
        if expected is not None:
            assert fmean(found["nDCG@5", qid] for qid in qids) == pytest.approx(expected, abs=1e-6)
        else:
            assert fitted.test["P@20"] == pytest.approx({qid: found["P@20", qid] for qid in qids})
            for qid, scores in run.items():
                assert fitted.scores[qid] == pytest.approx(scores, abs=1e-4)


def QRELS_OF(qids):  # noqa: N802
    return {qid: QRELS[qid] for qid in qids}


def test_the_test_queries_judgements_change_nothing_but_the_test(tmp_path):
    made = training(tmp_path, "one", folds=1)
    (one,) = made.run()
    turned = {
        qid: ({f"d{qid[1:]}-3": 3} if qid in made.plan.splits[0].test else mine) for qid, mine in QRELS.items()
    }
    other_way = Collection.from_records("small", DOCUMENTS, QUERIES, turned)
    (other,) = training(tmp_path, "other", folds=1, collection=other_way).run()
    assert one.history == other.history and one.scores == other.scores and one.test != other.test


def test_patience_ends_a_training(tmp_path):
    (fitted,) = training(tmp_path, folds=1, epochs=30, patience=1, rate=0.5, backbone_rate=0.5).run()
    assert fitted.history.last - fitted.history.best == 1 and fitted.history.last < 30


def test_which_models_are_kept(tmp_path):
    made = plan(tmp_path, epochs=1)
    from whyrank.learning.trainer import Trainer

    for keep, expected in (("first", ["fold1-seed0"]), ("none", [])):
        Trainer(made, tmp_path / keep, tmp_path / keep / ".work", keep=keep).run()
        found = tmp_path / keep / "models"
        assert [path.name for path in found.glob("fold*")] == expected
    with pytest.raises(UserError, match="unknown keep_models 'some'"):
        Trainer(made, tmp_path, tmp_path, keep="some")


def test_the_tables_are_means_over_queries(tmp_path):
    made = training(tmp_path, seeds=(0, 1), epochs=1)
    fitted = made.run()
    assert len(fitted) == 6
    models = [
        TrainedModel(one.job.fold, one.job.seed, one.history.best, one.history.epochs, one.test, None)
        for one in fitted
    ]
    seeds, first = by_seed(models), first_stage_values(made.plan)
    assert {frozenset(values["P@20"]) for values in (*seeds.values(), first)} == {frozenset(QUERIES)}
    means, by_fold, differences = tables("tiny-critic", models, first, ("P@20", "nDCG@20"))
    rows = {(row.name, row.measure): row for row in means}
    every = [value for one in fitted for value in one.test["nDCG@20"].values()]
    mine = rows["tiny-critic", "nDCG@20"]
    assert mine.mean.value == pytest.approx(fmean(every)) and mine.mean.queries == 13
    assert list(mine.by_seed) == pytest.approx([fmean(values["nDCG@20"].values()) for values in seeds.values()])
    assert mine.mean.low <= mine.mean.value <= mine.mean.high
    bm25 = per_query(FIRST, QRELS, ["nDCG@20"])
    assert rows["first stage", "nDCG@20"].mean.value == pytest.approx(fmean(row.value for row in bm25))
    assert [row.mean.value for row in by_fold if row.measure == "P@20"] == pytest.approx(
        [fmean(one.test["P@20"].values()) for one in fitted]
    )
    (difference,) = (row for row in differences if row.measure == "nDCG@20")
    assert difference.comparison.difference.value == pytest.approx(
        mine.mean.value - rows["first stage", "nDCG@20"].mean.value
    )
    run = run_of(fitted, 1, "tag")
    again = {row.qid: row.value for row in per_query(run, QRELS, ["nDCG@20"])}
    assert again == pytest.approx(seeds[1]["nDCG@20"]) and len(run) == 13


def refusal(tmp_path, what=None, first=FIRST, start=None, folds=3, **given):
    with pytest.raises(UserError) as refused:
        plan_training(
            "tiny-cls", start or backbone(tmp_path), what or Judged(COLLECTION), first, given, folds=folds
        )
    return str(refused.value)


def test_what_cannot_be_trained_is_refused_before_anything_is(tmp_path):
    bare = Collection.from_records("bare", DOCUMENTS, QUERIES)
    assert "bare: this collection has no judgements" in refusal(tmp_path, Judged(bare))
    with pytest.raises(UserError, match="no judgements"):
        judged(bare)
    said = refusal(tmp_path, max_length=25)
    assert "max_length is 25" in said and "positions for 24 tokens" in said and "24 or less" in said
    assert "bm25 is not a backbone" in refusal(tmp_path, start="bm25")
    assert "13 judged queries cannot make 7 folds" in refusal(tmp_path, folds=7)
    nothing = {qid: [row for row in rows if QRELS[qid].get(row.docno, 0) < 1] for qid, rows in FIRST.items()}
    for unfound, part in ((False, "training"), (True, "validation")):
        said = refusal(tmp_path, first=nothing, unfound=unfound)
        assert f"the {part} queries of fold 1 have no relevant document among their candidates" in said
    only = {qid: dict.fromkeys(mine, 1) for qid, mine in QRELS.items()}
    few = {qid: [row for row in rows if row.docno in only[qid]] for qid, rows in FIRST.items()}
    said = refusal(tmp_path, Judged(Collection.from_records("good", DOCUMENTS, QUERIES, only)), few)
    assert "the training queries of fold 1 have no pair of a better and a worse document" in said
    assert plan(tmp_path, model="tiny-cls").network.max_length == 24, "a default is cut to what there is"


def test_training_judgements_beside_the_tests_own(tmp_path):
    tested = {qid: QRELS[qid] for qid in ("q1", "q5")}
    mine = Collection.from_records("nist", DOCUMENTS, QUERIES, tested)
    path = tmp_path / "umbrela.txt"
    path.write_text("".join(f"q{i} 0 d{i}-3 2\n" for i in range(13)))
    what = judged(mine, str(path))
    assert what.test == ("q1", "q5")
    assert what.collection.qrels["q1"] == QRELS["q1"] and what.collection.qrels["q0"] == {"d0-3": 2}
    made = plan_training("tiny-cls", backbone(tmp_path), what, FIRST, QUICK)
    (split,) = made.splits
    assert set(split.test) == {"q1", "q5"} and len(split.validation) == 2 and len(split.train) == 9
    assert all(pair.better.endswith("-3") for pair in made.pairs(1).epoch(0, 1)), "learned as the others judge"
    assert "leave folds out" in refusal(tmp_path, what, folds=5)
    path.write_text("q1 0 d1-3 2\n")
    with pytest.raises(UserError, match="for no query but the test's"):
        judged(mine, str(path))


def test_queries_that_a_training_collection_adds_are_learned_from(tmp_path):
    from tests.learning.small import write_collection

    folder = write_collection(tmp_path / "folder")
    rows = (folder / "qrels" / "test.tsv").read_text().splitlines()
    for split, wanted in (("test", ("q0", "q1")), ("train", [f"q{i}" for i in range(2, 13)])):
        some = [row for row in rows[1:] if row.split("\t")[0] in wanted]
        (folder / "qrels" / f"{split}.tsv").write_text("\n".join([rows[0], *some]) + "\n")
    from whyrank.collections.catalogue import open_collection

    tested = open_collection(folder)
    assert set(tested.queries) == {"q0", "q1"}
    what = judged(tested, f"{folder}#train")
    assert what.test == ("q0", "q1") and set(what.collection.queries) == set(QUERIES)
    elsewhere = Collection.from_records("elsewhere", DOCUMENTS, {"q0": "a", "q4": "b"}, {"q0": QRELS["q0"]})
    with pytest.raises(UserError, match="query 'q4' has another text than in elsewhere"):
        judged(elsewhere, f"{folder}#train")
    others = {**DOCUMENTS, "d4-1": "another text"}
    elsewhere = Collection.from_records("elsewhere", others, QUERIES, {"q0": QRELS["q0"]})
    with pytest.raises(UserError, match="document 'd4-1' has another text than in elsewhere"):
        judged(elsewhere, f"{folder}#train")


def test_test_queries_from_a_file(tmp_path):
    path = tmp_path / "ids.txt"
    path.write_text("q3 anything\n\nq4\n")
    what = judged(COLLECTION, test_queries=path)
    assert what.test == ("q3", "q4")
    made = plan_training("tiny-cls", backbone(tmp_path), what, FIRST, QUICK, queries=10)
    assert set(made.splits[0].test) == {"q3", "q4"}
    assert len(made.splits[0].train) + len(made.splits[0].validation) == 10
    path.write_text("q3\nq99\n")
    with pytest.raises(UserError, match="query 'q99' is not judged"):
        judged(COLLECTION, test_queries=path)


def test_a_query_without_a_relevant_document_teaches_nothing_and_is_tested_as_0(tmp_path):
    grades = {**QRELS, "q2": {"d2-0": 0, "elsewhere": 3}, "q3": {"d3-0": 0}}
    made = training(tmp_path, collection=Collection.from_records("small", DOCUMENTS, QUERIES, grades), epochs=1)
    assert made.plan.material.dropped_queries == 0 and made.plan.material.missing_documents == 1
    tested = by_seed(training_result(made, made.run(), "BM25").models)[0]["nDCG@20"]
    assert len(tested) == 13 and tested["q2"] == tested["q3"] == 0.0
    for fold in (1, 2, 3):
        assert not {"q2", "q3"} & {pair.qid for pair in made.plan.pairs(fold).epoch(0, 1)}


def test_settings_are_told_in_full(tmp_path):
    given = plain(plan(tmp_path).all_settings)
    assert given["model"]["max_length"] == 24 and given["model"]["margin"] == 1.0
    assert given["training"]["epochs"] == 3 and given["training"]["clip"] == 1.0
    assert json.loads(json.dumps(given))["training"]["measures"] == ["P@20", "nDCG@20"]


def test_the_epoch_is_chosen_by_the_first_candidates_and_the_test_is_of_all(tmp_path):
    few = training(
        tmp_path, model="tiny-cls", folds=1, epochs=1, validation_depth=3, start=still_backbone(tmp_path)
    )
    (fitted,) = few.run()
    split = few.plan.splits[0]
    ranker = few._ranker(few.plan.new_network(0).eval())
    run = {
        qid: {
            row.docno: float(score)
            for row in FIRST[qid][:3]
            for score in ranker.scores([(QUERIES[qid], DOCUMENTS[row.docno])]).values
        }
        for qid in split.validation
    }
    judged_ones = {qid: QRELS[qid] for qid in split.validation}
    expected = fmean(value for _, _, value in per_query(run, judged_ones, ["nDCG@5"]))
    assert fitted.history.epochs[0].validation == pytest.approx(expected, abs=1e-6)
    assert all(len(scores) == len(FIRST[qid]) > 3 for qid, scores in fitted.scores.items())
    with pytest.raises(UserError, match="validation_depth"):
        plan(tmp_path, validation_depth=0)


def test_a_network_whose_scores_are_nan_stops_in_all_processes_alike(tmp_path, monkeypatch):
    """The ranker refuses by itself, which must not leave other processes waiting for its scores."""

    def refused(ranker, pairs, progress=None):
        raise ScoreNotFinite("a score is nan")

    monkeypatch.setattr(Trained, "scores", refused)
    with pytest.raises(UserError, match="a validation score after epoch 0 is nan of fold1-seed7"):
        training(tmp_path, folds=1, seeds=(7,)).run()
