"""BERT-MaxP against passages cut by hand, each scored by itself."""

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
from whyrank.core.errors import UserError
from whyrank.learning.models.maxp import MaxPSettings

SMALL = {"passage": 8, "stride": 4}


def literal_passages(text, size, stride, most):
    """Windows of words, one every `stride`, until one reaches the end."""
    words, found, start = text.split(), [], 0
    while True:
        found.append(" ".join(words[start : start + size]))
        if start + size >= len(words) or len(found) == most:
            return found
        start += stride


@pytest.mark.parametrize("most", [2, 16])
def test_the_score_is_that_of_the_best_passage(tmp_path, most):
    network = built("bert-maxp", tmp_path, **SMALL, chunks=most)
    weight, bias = network.score.weight[0].tolist(), network.score.bias.item()
    expected = []
    for query, text in PAIRS:
        each = []
        for passage in literal_passages(text, 8, 4, most):
            [(ids, asked, _)] = literal_chunks(query, passage, 1)
            cls = literal_states(ids, asked)[-1][0]
            each.append(sum(w * x for w, x in zip(weight, cls, strict=True)) + bias)
        expected.append(max(each))
    torch.testing.assert_close(scores(network, PAIRS), expected, rtol=1e-4, atol=1e-5)


def test_only_the_best_passage_learns(tmp_path):
    network = built("bert-maxp", tmp_path, **SMALL)
    chunks = network.read(PAIRS[1:2])
    states = [state.detach().requires_grad_() for state in network.backbone(chunks.inputs)]
    network.head(states, chunks).scores.sum().backward()
    assert int((states[-1].grad.abs().sum(dim=(1, 2)) > 0).sum()) == 1 < len(chunks)


def test_batch_mates_do_not_matter(tmp_path):
    check_batch_mates(built("bert-maxp", tmp_path, **SMALL), PAIRS + ODD)


def test_a_saved_state_scores_the_same(tmp_path):
    check_round_trip(built("bert-maxp", tmp_path, **SMALL), tmp_path)


def test_all_of_it_learns(tmp_path):
    check_learning(built("bert-maxp", tmp_path, **SMALL))


def test_the_passages_are_the_papers_by_default():
    assert (MaxPSettings().passage, MaxPSettings().stride) == (150, 75)


@pytest.mark.parametrize("wrong", [{"stride": 0}, {"stride": 151}, {"chunks": 0}, {"dropout": 2.0}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(UserError):
        MaxPSettings(**wrong)
