"""Vanilla BERT against the original model's own [CLS], chunk by chunk."""

import pytest
import torch

from tests.learning.baselines import (
    ODD,
    PAIRS,
    built,
    check_batch_mates,
    check_learning,
    check_round_trip,
    literal_chunks,
    literal_states,
    scores,
)
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.learning.models.vanilla import VanillaSettings


@pytest.mark.parametrize("most", [1, 2, 9])
def test_the_score_is_linear_in_the_mean_cls_of_the_chunks(tmp_path, most):
    network = built("bert", tmp_path, chunks=most)
    weight, bias = network.score.weight[0].tolist(), network.score.bias.item()
    expected = []
    for query, text in PAIRS:
        rows = [literal_states(ids, m)[-1][0] for ids, m, _ in literal_chunks(query, text, most)]
        mean = [sum(row[i] for row in rows) / len(rows) for i in range(len(weight))]
        expected.append(sum(w * x for w, x in zip(weight, mean, strict=True)) + bias)
    torch.testing.assert_close(scores(network, PAIRS), expected, rtol=1e-4, atol=1e-5)


def test_batch_mates_do_not_matter(tmp_path):
    check_batch_mates(built("bert", tmp_path), PAIRS + ODD)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_state_scores_the_same_on_every_architecture(tmp_path, architecture):
    check_round_trip(built("bert", tmp_path, architecture), tmp_path, architecture)


def test_all_of_it_learns_the_backbone_at_the_lower_rate(tmp_path):
    network = built("bert", tmp_path)
    check_learning(network)
    assert {id(weight) for weight in network.fast()} == {id(network.score.weight), id(network.score.bias)}


def test_it_drops_out_in_training_only(tmp_path):
    network = built("bert", tmp_path, dropout=0.9)
    torch.manual_seed(0)
    assert scores(network, PAIRS) == scores(network, PAIRS)
    network.train()
    network.backbone.eval()
    assert scores(network, PAIRS) != scores(network, PAIRS)


@pytest.mark.parametrize("rank_loss", ["raw", "sigmoid"])
def test_the_rank_loss_is_the_hinge_of_each_better_with_its_worse(tmp_path, rank_loss):
    network = built("bert", tmp_path, rank_loss=rank_loss, margin=0.7)
    g = torch.tensor([0.5, -1.0, 0.2, 3.0])
    f = torch.sigmoid(g).tolist() if rank_loss == "sigmoid" else g.tolist()
    by_hand = (max(0, 0.7 - f[0] + f[2]) + max(0, 0.7 - f[1] + f[3])) / 2
    assert float(network.rank_loss(g)) == pytest.approx(by_hand, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"chunks": 0},
        {"dropout": 1.0},
        {"dropout": -0.1},
        {"rank_loss": "log"},
        {"margin": -1.0},
        {"max_length": 0},
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(wrong):
    with pytest.raises(UserError) as error:
        VanillaSettings(**wrong)
    assert next(iter(wrong)) in str(error.value) and error.value.todo


def test_an_unknown_loss_names_the_known_ones():
    with pytest.raises(UserError, match="sigmoid, raw"):
        VanillaSettings(rank_loss="log")
