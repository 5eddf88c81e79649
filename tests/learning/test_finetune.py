"""Fine-tuning: what each condition changes, which epoch is kept, and that a stop costs nothing but time."""

import json
from dataclasses import replace

import numpy as np
import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file

from tests.learning.small import COLLECTION, DOCUMENTS, FIRST, QUERIES, cross_encoder
from whyrank.collections.idf import TokenIdf
from whyrank.core.errors import UserError
from whyrank.evaluation.measures import per_query
from whyrank.learning.finetuning import pointwise
from whyrank.learning.finetuning.conditions import CONDITIONS, AlignedEmbeddings, parse_conditions
from whyrank.learning.finetuning.jobs import FineTuneSettings
from whyrank.learning.finetuning.results import MEASURES
from whyrank.learning.finetuning.tuner import FineTuner
from whyrank.learning.judgements import Judged
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.load import load
from whyrank.rankers.rerank import rerank

SETTINGS = FineTuneSettings(("full",), seeds=1, epochs=3, rate=3e-3, batch=8, depth=8)
#: With a split on which this helps.
HELPED = replace(SETTINGS, seed=1)
W_E = "bert.embeddings.word_embeddings.weight"


@pytest.fixture
def ranker(tmp_path):
    return cross_encoder(tmp_path / "start")


def tuning(ranker, folder, settings=SETTINGS):
    return FineTuner.of(ranker, Judged(COLLECTION), FIRST, settings, folder, folder / "work")


def weights(folder, name):
    return load_file(folder / "models" / name / "model.safetensors")


def epoch_weights(folder):
    """What a kept epoch holds after its first line, the header."""
    return safetensors.torch.load((folder / "model.safetensors").read_bytes().split(b"\n", 1)[1])


def changed(ranker, found):
    start = ranker.model.state_dict()
    assert start.keys() == found.keys()
    return {name for name in start if not torch.equal(start[name], found[name])}


def test_each_condition_changes_what_it_says(ranker, tmp_path, monkeypatch):
    kept = {}
    forget = FineTuner.forget
    monkeypatch.setattr(
        "whyrank.learning.checkpoints.Checkpoints.forget",
        lambda self: kept.update({self.folder.name: epoch_weights(self.folder / "epoch-0001")}),
    )
    settings = replace(SETTINGS, conditions=tuple(CONDITIONS), epochs=1)
    one = tuning(ranker, tmp_path, settings)
    one.run()
    names = set(ranker.model.state_dict())
    assert changed(ranker, kept["embeddings-seed0"]) == {W_E}
    assert changed(ranker, kept["aligned-embeddings-seed0"]) == {W_E}
    assert changed(ranker, kept["full-seed0"]) == names == changed(ranker, kept["aligned-full-seed0"])
    step = (kept["embeddings-seed0"][W_E] - ranker.encoder.word_embeddings).abs().max()
    moved = (kept["aligned-embeddings-seed0"][W_E] - one.aligned.rows).abs().max()
    assert 0 < step < 0.05 and 0 < moved < 0.05, "each starts where its condition says"
    forget(one)


def test_aligning_changes_nothing_but_the_u0_component(ranker):
    matrix = ranker.encoder.word_embeddings.detach().double().numpy()
    aligned = AlignedEmbeddings.of(ranker, COLLECTION)
    counted = TokenIdf.counted(ranker.pieces.tokenizer, DOCUMENTS.values(), "x").bm25
    idf = np.full(len(matrix), np.nan)
    idf[: len(counted)] = counted
    known = np.isfinite(idf)
    assert aligned.tokens == known.sum() > 10

    _, values, right = np.linalg.svd(matrix, full_matrices=False)
    before, after = matrix @ right.T, aligned.rows.double().numpy() @ right.T
    np.testing.assert_allclose(after[:, 1:], before[:, 1:], atol=1e-5)
    np.testing.assert_array_equal(aligned.rows[~known].numpy(), matrix[~known].astype(np.float32))
    sign = -np.sign(np.corrcoef(before[known, 0], idf[known])[0, 1])
    old, new = sign * before[known, 0] / values[0], sign * after[known, 0] / values[0]
    assert np.corrcoef(new, idf[known])[0, 1] == pytest.approx(-1, abs=1e-6)
    np.testing.assert_allclose([new.mean(), new.std()], [old.mean(), old.std()], rtol=1e-4)
    assert np.abs(new - old).max() > 0.05, "and it does change that"


def test_the_chosen_model_is_saved_and_tested_and_loads_as_any_other(ranker, tmp_path):
    one = tuning(ranker, tmp_path, HELPED)
    (trained,) = one.run()
    best = trained.history.best
    assert best > 0, "training helps here, or this test shows nothing"
    assert trained.history.epochs[best].validation == max(epoch.validation for epoch in trained.history.epochs)
    saved = load(str(tmp_path / "models" / "full-seed1"))
    assert saved.kind == "cross-encoder" and saved.max_length == ranker.max_length
    for qids, expected in (
        (one.split.test, trained.test),
        (one.split.validation, {"nDCG@10": trained.history.epochs[best].validation}),
    ):
        run = rerank(saved, COLLECTION, {qid: FIRST[qid] for qid in qids}, k=8).run
        found = per_query(run, {qid: COLLECTION.qrels[qid] for qid in qids}, MEASURES)
        for measure, values in expected.items():
            mine = {value.qid: value.value for value in found if value.measure == measure}
            if isinstance(values, dict):
                assert mine == pytest.approx(values)
            else:
                assert np.mean(list(mine.values())) == pytest.approx(values)


def test_a_training_that_only_hurts_keeps_the_model_it_began_with(ranker, tmp_path, monkeypatch):
    falling = iter([0.9, 0.5, 0.4, 0.3])
    monkeypatch.setattr("whyrank.learning.finetuning.tuner.fmean", lambda values: next(falling))
    (trained,) = tuning(ranker, tmp_path).run()
    assert trained.history.best == 0
    assert changed(ranker, weights(tmp_path, "full-seed0")) == set()


def test_the_same_seed_gives_the_same_and_another_another(ranker, tmp_path):
    first, again, other = (
        tuning(ranker, tmp_path / name, replace(HELPED, seeds=seeds)).run()
        for name, seeds in (("a", 1), ("b", 2), ("c", 2))
    )
    assert first == again[:1] and again == other
    assert again[0].history != again[1].history
    assert changed(ranker, weights(tmp_path / "a", "full-seed1"))
    for name, weight in weights(tmp_path / "a", "full-seed1").items():
        assert torch.equal(weight, weights(tmp_path / "b", "full-seed1")[name])


class Stopped(Exception):
    pass


@pytest.mark.parametrize("condition", ["full", "aligned-embeddings"])
def test_stopped_at_any_step_it_goes_on_and_ends_with_the_same(ranker, tmp_path, condition):
    settings = replace(SETTINGS, conditions=(condition,), seeds=2)
    moments = []
    whole = tuning(ranker, tmp_path / "whole", settings).run(moments.append)
    before = {name: weight.clone() for name, weight in ranker.model.state_dict().items()}
    given = iter(range(10**6))

    def stop_now_and_then(moment):
        if next(given) % (len(moments) // 5) == 7:
            raise Stopped

    stops = 0
    while True:
        try:
            parted = tuning(ranker, tmp_path / "parted", settings).run(stop_now_and_then)
            break
        except Stopped:
            stops += 1
            assert all(torch.equal(weight, before[name]) for name, weight in ranker.model.state_dict().items())
    assert stops >= 4
    assert parted == whole
    for seed in (0, 1):
        one, other = (weights(tmp_path / name, f"{condition}-seed{seed}") for name in ("whole", "parted"))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_the_bar_moves_over_all_steps_once(ranker, tmp_path):
    one = tuning(ranker, tmp_path, replace(SETTINGS, seeds=2))
    moments = []
    one.run(moments.append)
    steps = [moment.done for moment in moments if moment.losses]
    assert steps == list(range(1, one.steps + 1))
    assert [moment.epoch for moment in moments if not moment.losses and not moment.over] == [0, 1, 2, 3] * 2


def test_the_ranker_comes_back_as_it_was(ranker, tmp_path):
    pairs = [(QUERIES["q0"], text) for text in DOCUMENTS.values()]
    before, print_before = ranker.score(pairs), ranker.fingerprint()
    tuning(ranker, tmp_path, replace(SETTINGS, conditions=("embeddings", "full"), epochs=1)).run()
    np.testing.assert_array_equal(ranker.score(pairs), before)
    assert ranker.fingerprint() == print_before
    assert all(parameter.requires_grad and parameter.grad is None for parameter in ranker.model.parameters())
    assert not ranker.model.training


def test_a_loss_that_is_no_number_stops_with_where_and_keeps_the_last_good_epoch(ranker, tmp_path, monkeypatch):
    whole = tuning(ranker, tmp_path / "whole").run()
    honest, calls = pointwise.mse_on_sigmoid, iter(range(10**6))
    steps = tuning(ranker, tmp_path / "x").pairs.steps(8)

    def broken(logits, labels):
        return honest(logits, labels) * (float("nan") if next(calls) == steps + 1 else 1.0)

    monkeypatch.setattr(pointwise, "mse_on_sigmoid", broken)
    with pytest.raises(UserError, match=r"the loss is nan in epoch 2, step 2 of full-seed0.*lower rate"):
        tuning(ranker, tmp_path / "y").run()
    kept = sorted(path.name for path in (tmp_path / "y" / "work" / "full-seed0").glob("epoch-*"))
    assert kept[-1] == "epoch-0001"
    monkeypatch.undo()
    assert tuning(ranker, tmp_path / "y").run() == whole


def test_finished_work_is_not_done_again_and_leaves_only_models(ranker, tmp_path):
    one = tuning(ranker, tmp_path)
    whole = one.run()
    assert sorted(path.name for path in one.work.iterdir() if not path.name.startswith(".")) == ["full-seed0.json"]
    assert one.run(lambda moment: pytest.fail("nothing is left to train")) == whole
    one.forget()
    assert [path.name for path in tmp_path.iterdir() if path.name != "start"] == ["models"]
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["full-seed0"]
    about = json.loads((tmp_path / "models" / "full-seed0" / "whyrank.json").read_text())
    assert about["source"].startswith("fine-tuning (full-seed0, epoch ")


def test_conditions_are_told_by_name():
    assert [str(one) for one in parse_conditions("aligned-full, full,full")] == ["aligned-full", "full"]
    with pytest.raises(UserError, match="did you mean aligned-full"):
        parse_conditions("aligned-ful")
    with pytest.raises(UserError, match="choose of full, aligned-full"):
        parse_conditions(" ,")


def test_a_learning_rate_that_cannot_be_meant_is_refused():
    for rate in (0.0, -1e-5, 2.0, float("nan")):
        with pytest.raises(UserError, match="learning rate"):
            replace(SETTINGS, rate=rate)


def test_a_validation_score_that_is_not_finite_stops_with_the_epoch_and_the_rate(ranker, tmp_path, monkeypatch):
    read_out, loss, started = CrossEncoder.read_out, pointwise.mse_on_sigmoid, []
    monkeypatch.setattr(pointwise, "mse_on_sigmoid", lambda *some: started.append(1) or loss(*some))
    monkeypatch.setattr(
        CrossEncoder, "read_out", lambda *some: read_out(*some) * (float("nan") if started else 1.0)
    )
    with pytest.raises(UserError, match=r"a validation score after epoch 1 is not finite.*lower rate"):
        tuning(ranker, tmp_path / "y").run()
