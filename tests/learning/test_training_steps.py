"""A training step against plain transformers and torch, the loss by hand, the schedule against theirs."""

import math
import random

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.learning.schedules import begun
from tests.learning.small import COLLECTION, DOCUMENTS, FIRST, QUERIES, checkpoint, cross_encoder
from tests.tiny import ARCHITECTURES
from whyrank.learning.finetuning.pointwise import PairsToLearn, PointwiseEpochs, module_logits, mse_on_sigmoid
from whyrank.learning.material import Material
from whyrank.learning.optimisation import Learner, parameter_groups, rate_share, seeded
from whyrank.rankers.load import load

MATERIAL = Material.of(COLLECTION, FIRST)
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def test_the_loss_is_the_squared_error_of_the_sigmoid_by_hand():
    def sigmoid(x):
        return 1 / (1 + math.exp(-x))

    by_hand = ((sigmoid(0.0) - 1) ** 2 + (sigmoid(2.0) - 0) ** 2 + (sigmoid(-3.0) - 1) ** 2) / 3
    found = mse_on_sigmoid(torch.tensor([0.0, 2.0, -3.0]), torch.tensor([1.0, 0.0, 1.0]))
    assert found.item() == pytest.approx(by_hand, abs=1e-6)
    assert by_hand == pytest.approx((0.25 + 0.775803 + 0.907397) / 3, abs=1e-5)


@pytest.mark.parametrize("labels", [1, 2])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_is_trained_is_what_ranks(tmp_path, architecture, labels):
    ranker = cross_encoder(tmp_path, architecture, labels)
    pairs = [(query, text) for query in list(QUERIES.values())[:2] for text in ("cat", DOCUMENTS["d0-0"])]
    with torch.no_grad():
        logits = module_logits(ranker, ranker.batch(ranker.pieces.pairs(pairs)))
    assert logits.std() > 0.001, "the scores must differ, or this test shows nothing"
    np.testing.assert_allclose(ranker.score(pairs), logits, atol=2e-5)


def test_an_epoch_is_a_plain_loop_of_transformers_and_torch(tmp_path):
    folder = checkpoint(tmp_path, **STILL)
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "classifier.weight": 20 * weights["classifier.weight"]}, folder / "model.safetensors")
    ranker = load(str(folder))
    pairs = PairsToLearn.of(MATERIAL, ["q0", "q1", "q2"])
    steps = 2 * pairs.steps(5)
    learner = Learner.of(ranker.model, ranker.model.parameters(), 3e-3, steps)
    epochs = PointwiseEpochs(ranker, MATERIAL, pairs, batch=5, seed=4)
    losses = [epochs.train(learner, epoch) for epoch in (1, 2)]

    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    named = list(model.named_parameters())
    plain = [p for name, p in named if name.endswith("bias") or "LayerNorm" in name]
    rest = [p for name, p in named if not (name.endswith("bias") or "LayerNorm" in name)]
    optimiser = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0}], 3e-3
    )
    schedule = begun(optimiser, 0.1, steps)
    clipped = False
    for epoch, expected in zip((1, 2), losses, strict=True):
        examples, total = pairs.epoch(4, epoch), 0.0
        for start in range(0, len(examples), 5):
            some = examples[start : start + 5]
            encoded = tokenizer(
                [QUERIES[one.qid] for one in some], [DOCUMENTS[one.docno] for one in some],
                padding=True, truncation=True, return_tensors="pt",
            )  # fmt: skip
            loss = torch.nn.functional.mse_loss(
                model(**encoded).logits.squeeze(1).sigmoid(), torch.tensor([one.label for one in some])
            )
            loss.backward()
            clipped |= bool(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) > 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            total += loss.item() * len(some)
        assert expected == pytest.approx(total / len(examples), abs=1e-6)
    assert clipped, "some gradient is long, or clipping was not tested"
    start = load(str(folder)).model.state_dict()
    for name, weight in model.state_dict().items():
        assert not torch.equal(weight, start[name]), f"{name} learned nothing"
        if not name.endswith(
            "key.bias"
        ):  # the softmax cancels it: its gradient is rounding, which AdamW magnifies
            torch.testing.assert_close(ranker.model.state_dict()[name], weight, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("steps", [1, 2, 7, 10, 33, 100])
def test_the_learning_rate_follows_the_usual_schedule_from_its_second_step_on(steps):
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([weight], lr=1.0)
    theirs = begun(optimiser, 0.1, steps)
    for step in range(steps):
        assert rate_share(step, steps) == pytest.approx(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step()


def test_a_training_of_one_step_learns(tmp_path):
    ranker = cross_encoder(tmp_path)
    learner = Learner.of(ranker.model, ranker.model.parameters(), 1e-3, 1)
    before = ranker.model.classifier.weight.clone()
    learner.step(module_logits(ranker, ranker.batch(ranker.pieces.pairs([("cat", "the cat")]))).sum())
    assert (ranker.model.classifier.weight - before).abs().max() > 1e-4


def test_biases_and_norms_do_not_decay(tmp_path):
    model = cross_encoder(tmp_path).model
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decaying, still = parameter_groups(model.parameters())
    assert decaying["weight_decay"] == 0.01 and still["weight_decay"] == 0.0
    assert all(names[id(p)].endswith("bias") or "LayerNorm" in names[id(p)] for p in still["params"])
    assert not any(names[id(p)].endswith("bias") or "LayerNorm" in names[id(p)] for p in decaying["params"])
    assert len(still["params"]) + len(decaying["params"]) == len(names)


def test_training_drops_out_and_the_seed_decides_how(tmp_path):
    ranker = cross_encoder(tmp_path)
    pairs = PairsToLearn.of(MATERIAL, ["q0"])
    epochs = PointwiseEpochs(ranker, MATERIAL, pairs, batch=8, seed=0)
    examples = pairs.epoch(0, 1)
    ranker.model.eval()
    calm = epochs.loss(examples).item()
    ranker.model.train()
    with seeded(0, 1):
        first = epochs.loss(examples).item()
    with seeded(0, 1):
        again = epochs.loss(examples).item()
    with seeded(0, 2):
        other = epochs.loss(examples).item()
    assert first == again
    assert len({calm, first, other}) == 3


def test_the_users_own_random_numbers_go_on_undisturbed():
    def draw():
        return torch.rand(1).item(), random.random(), float(np.random.rand())

    torch.manual_seed(7), random.seed(7), np.random.seed(7)
    expected = [draw(), draw()]
    torch.manual_seed(7), random.seed(7), np.random.seed(7)
    found = [draw()]
    with seeded(3, 1):
        assert draw() not in expected
    assert [*found, draw()] == expected
