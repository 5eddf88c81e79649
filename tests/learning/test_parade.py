"""PARADE's four aggregations against loops over the passages' [CLS]."""

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
from tests.learning.test_maxp import literal_passages
from whyrank.core.errors import UserError
from whyrank.learning.models.parade import AGGREGATIONS, ParadeSettings

SMALL = {"passage": 8, "overlap": 3}


def passage_rows(query, text, most=16):
    """The [CLS] of each passage, of 8 words of which 3 are shared with the one before."""
    chunks = [literal_chunks(query, passage, 1)[0] for passage in literal_passages(text, 8, 5, most)]
    return torch.tensor([literal_states(ids, asked)[-1][0] for ids, asked, _ in chunks])


def layer_norm(x, norm):
    return (x - x.mean(-1, keepdim=True)) / (
        x.var(-1, keepdim=True, correction=0) + 1e-5
    ).sqrt() * norm.weight + norm.bias


def transformer_layer(x, layer, heads):
    """Rows [P, d] through multi-head attention and a two-layer network, a norm after each, row by row."""
    weights, biases = layer.self_attn.in_proj_weight.chunk(3), layer.self_attn.in_proj_bias.chunk(3)
    q, k, v = (x @ weight.T + bias for weight, bias in zip(weights, biases, strict=True))
    size = x.shape[1] // heads
    mixed = torch.zeros_like(x)
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        for i in range(len(x)):
            attention = torch.stack([q[i, part] @ k[j, part] / math.sqrt(size) for j in range(len(x))]).softmax(0)
            mixed[i, part] = sum(attention[j] * v[j, part] for j in range(len(x)))
    h = layer_norm(x + mixed @ layer.self_attn.out_proj.weight.T + layer.self_attn.out_proj.bias, layer.norm1)
    inner = torch.relu(h @ layer.linear1.weight.T + layer.linear1.bias)
    return layer_norm(h + inner @ layer.linear2.weight.T + layer.linear2.bias, layer.norm2)


def together(network, rows):
    kind = network.settings.aggregation
    if kind == "avg":
        return sum(rows) / len(rows)
    if kind == "max":
        return torch.tensor([max(float(row[i]) for row in rows) for i in range(rows.shape[1])])
    if kind == "attention":
        weights = [math.exp(float(row @ network.aggregate.weigh.weight[0])) for row in rows]
        return sum(weight * row for weight, row in zip(weights, rows, strict=True)) / sum(weights)
    x = torch.cat([network.aggregate.first[None], rows])
    if network.settings.positions:
        x = torch.stack([row + network.aggregate.places[place] for place, row in enumerate(x)])
    for layer in network.aggregate.layers:
        x = transformer_layer(x, layer, heads=4)
    return x[0]


@pytest.mark.parametrize("how", [*({"aggregation": kind} for kind in AGGREGATIONS), {"positions": True}], ids=str)
@pytest.mark.parametrize("most", [2, 16])
def test_the_score_is_linear_in_the_aggregated_passages(tmp_path, how, most):
    network = built("parade", tmp_path, chunks=most, **how, **SMALL)
    with torch.no_grad():
        vectors = [together(network, passage_rows(query, text, most)) for query, text in PAIRS]
        expected = [float(network.score.weight[0] @ vector + network.score.bias[0]) for vector in vectors]
    torch.testing.assert_close(scores(network, PAIRS), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", AGGREGATIONS)
def test_batch_mates_do_not_matter(tmp_path, kind):
    check_batch_mates(built("parade", tmp_path, aggregation=kind, **SMALL), PAIRS + ODD)


@pytest.mark.parametrize("kind", AGGREGATIONS)
def test_a_saved_state_scores_the_same(tmp_path, kind):
    check_round_trip(built("parade", tmp_path, aggregation=kind, **SMALL), tmp_path)


@pytest.mark.parametrize("kind", AGGREGATIONS)
def test_all_of_it_learns(tmp_path, kind):
    check_learning(built("parade", tmp_path, aggregation=kind, **SMALL))


def test_the_papers_sizes_are_the_default():
    settings = ParadeSettings()
    assert (settings.aggregation, settings.layers) == ("transformer", 2)
    assert (settings.passage, settings.overlap, settings.chunks) == (150, 50, 16)


def test_an_unknown_aggregation_names_the_known_ones():
    with pytest.raises(UserError, match="avg, max, attention, transformer"):
        ParadeSettings(aggregation="sum")


@pytest.mark.parametrize(
    "wrong", [{"overlap": 150}, {"overlap": -1}, {"layers": 0}, {"chunks": 0}, {"dropout": 1.0}]
)
def test_settings_that_cannot_be_are_refused(wrong):
    with pytest.raises(UserError):
        ParadeSettings(**wrong)
