"""CEDR-KNRM against loops over layers, chunks, query pieces, document pieces and kernels."""

import math

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
from tests.learning.test_kernels import literal_kernel_sums
from tests.tiny import ARCHITECTURES
from whyrank.core.errors import UserError
from whyrank.learning.models.cedr import CedrSettings


def cosine(x, y):
    dot = sum(a * b for a, b in zip(x, y, strict=True))
    return dot / math.sqrt(sum(a * a for a in x)) / math.sqrt(sum(b * b for b in y))


def literal_features(query, text, most, first):
    """phi of layer 0, ..., phi of layer L, and the mean [CLS]."""
    chunks = literal_chunks(query, text, most)
    states = [literal_states(ids, asked) for ids, asked, _ in chunks]
    features = []
    for layer in range(len(states[0])):
        phi = [0.0] * 11
        for i in range(chunks[0][1]):
            row = []
            for c, (_, asked, given) in enumerate(chunks):
                q = states[0 if first else c][layer][1 + i]
                row += [cosine(q, states[c][layer][asked + 2 + j]) for j in range(given)]
            phi = [old + math.log(max(k, 1e-10)) for old, k in zip(phi, literal_kernel_sums(row), strict=True)]
        features += phi
    return features + [sum(s[-1][0][i] for s in states) / len(states) for i in range(len(states[0][-1][0]))]


@pytest.mark.parametrize(("most", "first"), [(1, False), (3, False), (3, True)])
def test_the_score_is_linear_in_all_layers_kernels_and_the_cls(tmp_path, most, first):
    network = built("cedr-knrm", tmp_path, chunks=most, query_states="first" if first else "own")
    weight, bias = network.score.weight[0].tolist(), network.score.bias.item()
    pairs = [*PAIRS, ("cat", ""), ("", "the cat")]
    expected = [
        sum(w * x for w, x in zip(weight, literal_features(*pair, most, first), strict=True)) + bias
        for pair in pairs
    ]
    torch.testing.assert_close(scores(network, pairs), expected, rtol=1e-4, atol=1e-3)


def test_special_tokens_and_padding_are_in_no_kernel(tmp_path):
    """States of [CLS], separators and padding may be anything, and phi stays as it is."""
    network = built("cedr-knrm", tmp_path)
    chunks = network.read(PAIRS)
    with torch.no_grad():
        states = network.backbone(chunks.inputs)
        plain = network._kernels(states[1], chunks)
        words = (chunks.query | chunks.document)[..., None]
        noise = torch.where(words, states[1], torch.randn_like(states[1]) * 100)
        assert torch.equal(network._kernels(noise, chunks), plain)
        assert (~words[..., 0]).sum() > 3 * len(chunks)


@pytest.mark.parametrize("part", ["query", "document"])
def test_every_word_is_in_a_kernel(tmp_path, part):
    network = built("cedr-knrm", tmp_path)
    chunks = network.read(PAIRS)
    states = [state.detach().requires_grad_() for state in network.backbone(chunks.inputs)]
    network.head(states, chunks).scores.sum().backward()
    assert bool((states[0].grad.abs().sum(dim=2) > 0)[getattr(chunks, part)].all())


def test_own_and_first_query_states_differ_over_several_chunks(tmp_path):
    own, first = (scores(built("cedr-knrm", tmp_path, query_states=kind), PAIRS) for kind in ("own", "first"))
    assert own[0] == pytest.approx(first[0], abs=1e-4) and abs(own[1] - first[1]) > 1e-3


def test_batch_mates_do_not_matter(tmp_path):
    check_batch_mates(built("cedr-knrm", tmp_path, log_scale=0.1), PAIRS + ODD)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_state_scores_the_same_on_every_architecture(tmp_path, architecture):
    check_round_trip(built("cedr-knrm", tmp_path, architecture), tmp_path, architecture)


def test_all_of_it_learns(tmp_path):
    check_learning(built("cedr-knrm", tmp_path))


@pytest.mark.parametrize("wrong", [{"query_states": "last"}, {"chunks": 0}, {"log_scale": -1.0}])
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(UserError):
        CedrSettings(**wrong)
