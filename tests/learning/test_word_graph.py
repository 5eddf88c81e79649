"""The word graph: by loops over words, in blocks and dense, alone and among others."""

import pytest
import torch

from tests.learning.graph_models import PAIRS, dgre, literal, state_arrays
from whyrank.learning.models.sides import Sides
from whyrank.learning.models.word_graph import (
    rectified_blocks,
    rectified_graph,
    similarities,
    softmax_blocks,
    softmax_graph,
)

SHAPES = [
    {"masking": masking, "norm": norm, "specials": specials}
    for masking in ("heuristic", "adaptive", "learned")
    for norm in ("element", "row")
    for specials in (False, True)
    if masking != "heuristic" or norm == "element"
]
DENSE = [
    {"masking": "none"},
    {"masking": "heuristic", "neighbours": True},
    {"masking": "adaptive", "neighbours": True, "specials": True},
    {"masking": "adaptive", "norm": "row", "neighbours": True},
]


def graph_of(model, batch, layer=0):
    scene = model.scene(batch)
    state = model.backbone(batch.inputs)[-model.refined_layers :][layer]
    return model.graphs(layer, state, scene.sides, scene.packing), state


def whole(matrices, batch, example):
    """The blocks of an example's chunks as one matrix over all its real tokens."""
    mine = (batch.owner == example).nonzero()[:, 0]
    return torch.block_diag(*(matrices[i][batch.real[i]][:, batch.real[i]] for i in mine))


@pytest.mark.parametrize("shape", [*SHAPES, *({**one, "dense": True} for one in SHAPES), *DENSE], ids=str)
def test_the_graph_is_the_one_of_the_equations(shape):
    model = dgre(**shape)
    batch = model.read(PAIRS)
    with torch.no_grad():
        found = graph_of(model, batch, layer=1)[0].matrix()
    for example, states in enumerate(state_arrays(model, batch)):
        expected = literal(model, batch, example).graph(1, states[1])
        assert (expected > 0).sum() > len(expected)  # more than the diagonal
        torch.testing.assert_close(whole(found, batch, example), torch.tensor(expected), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks_pass_the_same_messages_as_the_dense_graph(shape):
    both = [dgre(**shape, dense=dense) for dense in (False, True)]
    batch = both[0].read(PAIRS)
    results = []
    for model in both:
        graph, state = graph_of(model, batch)
        heard = graph.messages(state)[batch.real]
        (heard * torch.linspace(-1, 1, heard.numel()).view_as(heard)).sum().backward()
        weights = [*model.graphs.parameters(), *model.backbone.parameters()]
        results.append((heard, [weight.grad for weight in weights if weight.grad is not None]))
    (blocks, of_blocks), (dense, of_dense) = results
    torch.testing.assert_close(blocks, dense, rtol=0, atol=1e-12)
    assert len(of_blocks) == len(of_dense) > 3
    largest = max(float(gradient.abs().max()) for gradient in of_dense)
    for one, other in zip(of_blocks, of_dense, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12 * largest)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_in_single_precision_blocks_and_dense_graphs_score_alike(shape):
    torch.manual_seed(0)
    blocks, dense = (dgre(**shape, dense=dense).float() for dense in (False, True))
    dense.load_state_dict(blocks.state_dict())
    batch = blocks.read(PAIRS)
    with torch.no_grad():
        found, expected = blocks(batch), dense(batch)
        heard, passed = [graph_of(model, batch)[0].matrix() for model in (blocks, dense)]
    assert found.dtype == torch.float32 and expected.abs().max() > 0.1
    assert (found - expected).abs().max() <= 1e-6 * expected.abs().max()
    assert (heard - passed).abs().max() <= 1e-6 * passed.abs().max()


def test_blocks_hold_no_square_matrix():
    model = dgre()
    graph = graph_of(model, model.read(PAIRS))[0]
    size = len(model.read(PAIRS).inputs.ids[0])
    assert graph.to_query.shape[1:] == graph.to_document.shape[1:] == (4, size)
    assert graph.own.shape[1] == size


def test_the_mask_leaves_out_exactly_what_it_says():
    model = dgre(masking="heuristic")
    batch = model.read([("red cat", "the dog")])
    found = graph_of(model, batch)[0].matrix()[0]
    #       [CLS] red cat [SEP] the dog [SEP]
    rows = ["1000000", "0100111", "0010111", "0001000", "0110100", "0110010", "0110001"]
    assert [[int(value > 0) for value in row] for row in found] == [[int(one) for one in row] for row in rows]


def test_lgre_adds_specials_and_neighbours():
    model = dgre(masking="heuristic", specials=True, neighbours=True)
    found = graph_of(model, model.read([("red cat", "the dog")]))[0].matrix()[0]
    rows = ["1001111", "0101111", "0011111", "1111100", "1111110", "1110111", "1110011"]
    assert [[int(value > 0) for value in row] for row in found] == [[int(one) for one in row] for row in rows]


@pytest.mark.parametrize("norm", ["element", "row"])
@pytest.mark.parametrize("dense", [False, True])
def test_a_word_with_no_positive_relation_hears_nothing(norm, dense):
    model = dgre(norm=norm, dense=dense)
    sides = Sides.of(model.read([("red", "the")]))
    words = torch.tensor([[[3.0, 0], [1, 0], [0, 2], [0, 0], [1, 1]]], dtype=torch.float64, requires_grad=True)
    graph = _rectified(words, sides, norm, dense)
    matrix = graph.matrix()[0]
    assert matrix[3].tolist() == [0] * 5  # 'the', whose projection is zero
    assert matrix.sum(dim=1).tolist() == pytest.approx([1, 1, 1, 0, 1])
    graph.messages(words).sum().backward()
    assert torch.isfinite(words.grad).all()


def test_a_graph_of_zeros_stays_zero():
    model = dgre()
    sides = Sides.of(model.read([("red", "the")]))
    words = torch.zeros(1, 5, 2, dtype=torch.float64, requires_grad=True)
    for dense in (False, True):
        graph = _rectified(words, sides, "element", dense)
        assert not graph.matrix().any()
        graph.messages(words + 1).sum().backward()
        assert torch.isfinite(words.grad).all()


def _rectified(words, sides, norm, dense):
    if dense:
        return rectified_graph(words @ words.mT * words.shape[-1] ** -0.5, sides, norm)
    return rectified_blocks(*similarities(words, sides), sides, norm)


@pytest.mark.parametrize("norm", ["element", "row"])
@pytest.mark.parametrize("dense", [False, True])
def test_what_stands_in_padding_is_never_heard(norm, dense):
    chunks = dgre().read([("red cat", "the dog sat"), ("red", "the")])
    sides, real = Sides.of(chunks), chunks.real[:, :, None]
    torch.manual_seed(0)
    words = torch.randn(*chunks.real.shape, 3, dtype=torch.float64)
    heard = [
        _rectified(some, sides, norm, dense).messages(some)[chunks.real]
        for some in (words * real, torch.where(real, words, 100.0))
    ]
    torch.testing.assert_close(*heard)


@pytest.mark.parametrize("norm", ["element", "row"])
@pytest.mark.parametrize("dense", [False, True])
def test_a_graph_does_not_depend_on_its_batch(norm, dense):
    model = dgre(norm=norm, dense=dense)
    batch = model.read(PAIRS)
    together = graph_of(model, batch)[0].matrix()
    for example, pair in enumerate(PAIRS):
        alone = model.read([pair])
        expected = whole(graph_of(model, alone)[0].matrix(), alone, 0)
        torch.testing.assert_close(whole(together, batch, example), expected, rtol=0, atol=1e-12)


def test_the_norm_is_of_all_chunks_of_an_example():
    """One chunk's largest relation scales the other's too: alone, a chunk has another graph."""
    model = dgre()
    batch = model.read([PAIRS[1]])
    assert len(batch) == 2
    matrices = graph_of(model, batch)[0].matrix()
    changed = 0
    for i in range(2):
        inputs = type(batch.inputs)(
            batch.inputs.ids[i : i + 1], batch.inputs.types[i : i + 1], batch.real[i : i + 1]
        )
        marks = {name: getattr(batch, name)[i : i + 1] for name in ("query", "document", "middle", "final")}
        alone = type(batch)(inputs, torch.zeros(1, dtype=torch.long), 1, **marks)
        changed += not torch.allclose(graph_of(model, alone)[0].matrix()[0], matrices[i], atol=1e-6)
    assert changed == 1  # the one without the largest element


def test_a_threshold_of_zero_is_the_adaptive_graph_and_a_high_one_leaves_words_alone():
    adaptive, learned = dgre(masking="adaptive"), dgre(masking="learned")
    batch = adaptive.read(PAIRS)
    learned.graphs.projections.load_state_dict(adaptive.graphs.projections.state_dict())
    learned.graphs.thresholds.data.zero_()
    matrix = graph_of(learned, batch)[0].matrix()
    torch.testing.assert_close(matrix, graph_of(adaptive, batch)[0].matrix())
    learned.graphs.thresholds.data.fill_(1e6)
    alone = graph_of(learned, batch)[0].matrix()[0][batch.real[0]][:, batch.real[0]]
    torch.testing.assert_close(alone, torch.eye(len(alone), dtype=alone.dtype))


@pytest.mark.parametrize("norm", ["element", "row"])
@pytest.mark.parametrize("kind", ["rectified", "softmax"])
@pytest.mark.parametrize("dense", [False, True])
def test_gradients_of_a_graph_are_its_finite_differences(kind, norm, dense):
    model = dgre()
    sides = Sides.of(model.read([("red cat", "the dog sat"), ("red", "the dog")]))
    torch.manual_seed(0)
    words = torch.randn(2, 8, 3, dtype=torch.float64, requires_grad=True)

    def messages(words, threshold):
        if kind == "softmax":
            graph = (
                softmax_graph(words @ words.mT * 3**-0.5, sides.relations())
                if dense
                else softmax_blocks(*similarities(words, sides), sides)
            )
        elif dense:
            graph = rectified_graph(words @ words.mT * 3**-0.5, sides, norm, threshold)
        else:
            graph = rectified_blocks(*similarities(words, sides), sides, norm, threshold)
        return graph.messages(words)[sides.chunks.real]

    threshold = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(messages, (words, threshold))
