"""DGRe against its equations written as loops over words, and what every one of its settings does."""

import dataclasses

import numpy as np
import pytest
import torch

from tests.learning.graph_models import PAIRS, QUERIES, dgre, literal, state_arrays
from whyrank.core.errors import UserError
from whyrank.learning.models.dgre import DGReSettings

#: Every value of every setting that changes the forward pass, at least once.
VARIANTS = [
    {},
    {"masking": "none"},
    {"masking": "heuristic"},
    {"masking": "learned", "layers": 2},
    {"steps": 3, "norm": "row"},
    {"layers": 1},
    {"embedding_state": True, "shared_projection": True},
    {"decomposition": False, "information": "none"},
    {"scale": False, "per_length": False},
    {"specials": True, "neighbours": True, "chunks": 1},
    {"gate_bias": True, "distance_of": "words"},
]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_scores_are_those_of_the_equations(settings):
    model = dgre(**settings)
    batch = model.read(PAIRS)
    with torch.no_grad():
        scores = model(batch)
    assert scores.std() > 1e-3
    for example, states in enumerate(state_arrays(model, batch)):
        assert float(scores[example]) == pytest.approx(literal(model, batch, example).score(states), abs=1e-10)


def test_parts_are_those_of_the_equations():
    model = dgre()
    batch = model.read(PAIRS)
    parts = model.output(batch).parts
    for example, states in enumerate(state_arrays(model, batch)):
        slow, last = literal(model, batch, example), len(states) - 1
        words = slow.mixed(slow.refined(last, states[last]))
        related, unrelated = slow.decomposed(words)
        expected = {
            "related": related.mean(axis=0),
            "unrelated": unrelated.mean(axis=0),
            "query": words[slow.which("query")].mean(axis=0),
            "document": words[slow.which("document")].mean(axis=0),
            "query_words": states[last][slow.which("query")].mean(axis=0),
            "document_words": states[last][slow.which("document")].mean(axis=0),
            "cls": slow.cls(states[last]),
        }
        for name, vector in expected.items():
            torch.testing.assert_close(parts[name][example], torch.tensor(vector), rtol=0, atol=1e-10)


def test_distances_of_words_are_of_every_word_with_every_word():
    model = dgre(distance_of="words", weight=1.0)
    batch = model.read(PAIRS)
    loss = model.losses(model.output(batch), QUERIES)["distance"]
    cls, asked, texts, related = [], [], [], []
    for example, states in enumerate(state_arrays(model, batch)):
        slow, last = literal(model, batch, example), len(states) - 1
        cls.append([slow.cls(states[last])])
        asked.append(states[last][slow.which("query")])
        texts.append(states[last][slow.which("document")])
        related.append(slow.decomposed(slow.mixed(slow.refined(last, states[last])))[0])

    def cosine(some, others):
        found = [a @ b / np.sqrt((a @ a) * (b @ b)) for a in some for b in others]
        return sum(found) / len(found)

    total = 0.0
    for better, worse in ((0, 2), (1, 3)):
        total += 1 - cosine(asked[better], texts[better]) + 1 + cosine(asked[worse], texts[worse])
        total += (2 + cosine(cls[better], cls[worse]) + cosine(related[better], related[worse])) / 2
    assert loss.item() == pytest.approx(total / 2, abs=1e-10)


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_padding_and_other_examples_do_not_change_a_score(settings):
    model = dgre(**settings)
    with torch.no_grad():
        together = model(model.read(PAIRS))
        alone = torch.cat([model(model.read([pair])) for pair in PAIRS])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)


@pytest.mark.parametrize("masking", ["heuristic", "adaptive", "learned"])
def test_blocks_and_dense_give_the_same_scores_and_gradients(masking):
    blocks, dense = dgre(masking=masking), dgre(masking=masking, dense=True)
    results = []
    for model in (blocks, dense):
        output = model.output(model.read(PAIRS))
        sum(model.losses(output, QUERIES).values()).backward()
        gradients = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
        results.append((output.scores, gradients))
    torch.testing.assert_close(results[0][0], results[1][0], rtol=0, atol=1e-10)
    assert results[0][1].keys() == results[1][1].keys()
    for name, gradient in results[0][1].items():
        torch.testing.assert_close(gradient, results[1][1][name], rtol=1e-6, atol=1e-10)
    single = [model.float()(model.read(PAIRS)) for model in (blocks, dense)]
    torch.testing.assert_close(*single, rtol=1e-6, atol=1e-6)


#: One chunk a document, and two.
SHORT = [("cat", "the cat"), ("dog", "red"), ("cat", "tree"), ("dog", "a mat")]
LONG = [("cat", "the cat sat on a mat in the red house"), *SHORT[1:]]


@pytest.mark.parametrize(
    ("settings", "pairs"),
    [
        ({"masking": "none", "norm": "row"}, SHORT), ({"masking": "heuristic", "norm": "row"}, SHORT),
        ({"norm": "row"}, SHORT), ({"masking": "learned", "norm": "row"}, SHORT), ({}, SHORT),
        ({"information": "club"}, SHORT), ({}, LONG), ({"norm": "row", "specials": True}, LONG),
        ({"masking": "heuristic", "specials": True, "neighbours": True}, LONG),
        ({"decomposition": False, "information": "none"}, LONG),
        ({"gate_bias": True, "distance_of": "words", "critic_norm": False}, LONG),
    ],
    ids=str,
)  # fmt: skip
def test_gradients_are_finite_differences(settings, pairs):
    """Of the losses, with respect to the states of all layers, and to every weight of the head. MINE's gradient is
    corrected, and not that of its value: it has a test of its own."""
    model = dgre(**{"information": "infonce", "max_length": 12, **settings})
    batch = model.read(pairs)
    assert len(batch) == len(pairs) + (pairs is LONG)
    states = [state.detach() for state in model.backbone(batch.inputs)]
    names = [name for name, _ in model.named_parameters() if not name.startswith(("backbone.", "critics."))]
    head = [dict(model.named_parameters())[name] for name in names]

    def losses(*given):
        all_states, weights = given[: len(states)], given[len(states) :]
        named = {f"model.{name}": weight for name, weight in zip(names, weights, strict=True)}
        return torch.func.functional_call(_Head(model), named, (list(all_states), batch, [0, 1, 0, 1]))

    inputs = [value.detach().requires_grad_() for value in (*states, *head)]
    assert torch.autograd.gradcheck(losses, inputs, fast_mode=True)


class _Head(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, states, batch, queries):
        output = self.model.head(states, batch)
        return output.scores.sum() + sum(self.model.losses(output, queries).values())


RUNS = [
    *VARIANTS,
    *({"distance": distance} for distance in ("none", "point", "pair", "triangle")),
    *({"information": kind} for kind in ("none", "mine", "infonce", "club")),
    {"literal_distance": True},
    {"critic_norm": False},
    {"rank_loss": "raw"},
    {"dense": True},
    {"dropout": 0.0},
]


@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_every_setting_trains_with_finite_gradients(settings):
    model = dgre(**settings).float().train()
    output = model.output(model.read(PAIRS))
    losses = model.losses(output, QUERIES)
    sum(losses.values()).backward()
    assert all(torch.isfinite(loss) for loss in losses.values())
    for name, weight in model.named_parameters():
        if name.startswith("critics.") or "pooler" in name:
            continue
        assert weight.grad is not None and torch.isfinite(weight.grad).all(), name
    if model.critics is not None:
        loss = model.critic_loss(output.detached(), QUERIES)
        loss.backward()
        assert all(torch.isfinite(weight.grad).all() for weight in model.critics.parameters())


def test_only_the_last_layers_are_refined():
    model, every = dgre(layers=1), dgre()
    assert (model.refined_layers, every.refined_layers, dgre(embedding_state=True).refined_layers) == (1, 3, 4)
    assert len(model.graphs.projections) == 1 and len(every.graphs.projections) == 3
    assert len(dgre(shared_projection=True).graphs.projections) == 1
    with pytest.raises(UserError, match="layers cannot be 4; this backbone has 3"):
        dgre(layers=4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"masking": "hard"}, "masking cannot be 'hard'; choose of none, heuristic, adaptive, learned"),
        ({"norm": "two"}, "norm cannot be 'two'; choose of element, row"),
        ({"distance": "far"}, "distance cannot be 'far'; choose of none, point, pair, triangle"),
        ({"information": "all"}, "information cannot be 'all'; choose of none, mine, infonce, club"),
        ({"rank_loss": "log"}, "rank_loss cannot be 'log'; choose of sigmoid, raw"),
        ({"steps": 0}, "steps cannot be 0; give 1 or more"),
        ({"layers": 0}, "layers cannot be 0; give 1 or more"),
        ({"chunks": 0}, "chunks cannot be 0; give 1 or more"),
        ({"weight": -1.0}, "weight cannot be -1.0; give 0 or more"),
        ({"critic_average": 0.0}, "critic_average cannot be 0.0; give a number above 0, up to and including 1"),
        (
            {"decomposition": False},
            "information cannot be 'mine' without the decomposition; set information to none",
        ),
    ],
)
def test_a_wrong_setting_is_refused_with_the_choices(settings, message):
    with pytest.raises(UserError) as refused:
        DGReSettings(**settings)
    assert message in str(refused.value)


def test_settings_are_plain_values_and_the_defaults_are_the_papers():
    settings = DGReSettings()
    assert all(
        isinstance(value, str | int | float | bool | None) for value in dataclasses.asdict(settings).values()
    )
    assert (settings.steps, settings.weight, settings.rank_loss) == (2, 1e-2, "sigmoid")
    assert (settings.masking, settings.distance, settings.information) == ("adaptive", "triangle", "mine")


@pytest.mark.parametrize("pair", [("cat", ""), ("", "the cat sat"), ("", "")])
@pytest.mark.parametrize("masking", ["none", "heuristic", "adaptive"])
def test_an_empty_query_or_document_has_a_finite_score(pair, masking):
    model = dgre(masking=masking)
    output = model.output(model.read([pair, PAIRS[0]]))
    sum(model.losses(output, [0, 0]).values()).backward()
    assert torch.isfinite(output.scores).all()
    assert all(torch.isfinite(w.grad).all() for w in model.parameters() if w.grad is not None)


def test_our_own_pass_through_the_backbone_gives_the_same_scores():
    model = dgre().float()
    batch = model.read(PAIRS)
    opened = model.head(model.backbone.opened_states(batch.inputs), batch).scores
    torch.testing.assert_close(opened, model(batch), rtol=0, atol=1e-5)


def test_saved_weights_give_the_same_scores_and_hold_the_moving_averages():
    model, other = dgre(), dgre()
    model.train().critic_loss(model.output(model.read(PAIRS)).detached(), QUERIES)
    saved = model.eval().state_dict()
    assert sum("average" in name and float(value) > 0 for name, value in saved.items()) == 3
    with torch.no_grad():
        for weight in other.parameters():
            weight.zero_()
    other.load_state_dict(saved)
    assert other(other.read(PAIRS)).tolist() == model(model.read(PAIRS)).tolist()


def test_the_word_graph_of_an_example_names_its_words():
    model = dgre(masking="adaptive", layers=2)
    batch = model.read([PAIRS[1]])
    found = model.word_graph(batch)
    assert found.query == ("red", "cat")
    assert " ".join(found.document).replace("[UNK]", "and") == PAIRS[1][1]
    expected = literal(model, batch, 0)
    A = torch.tensor(expected.graph(1, state_arrays(model, batch)[0][1]))
    for i, document in enumerate(expected.which("document")):
        for j in range(2):
            query = expected.which("query", expected.chunk[document])[j]
            assert float(found.relations[j, i]) == pytest.approx(float(A[query, document]), abs=1e-12)
    none = model.word_graph(batch, masking="none", layer=0)
    assert none.relations.shape == found.relations.shape and (none.relations > 0).all()
    with pytest.raises(UserError, match="learned no threshold"):
        model.word_graph(batch, masking="learned")
    with pytest.raises(UserError, match="choose of none, heuristic, adaptive, learned"):
        model.word_graph(batch, masking="hard")
    with pytest.raises(ValueError, match="4 examples"):
        model.word_graph(model.read(PAIRS))


def test_vectors_are_the_last_layers_parts():
    model = dgre()
    batch = model.read(PAIRS)
    vectors, parts = model.vectors(batch), model.output(batch).parts
    assert list(vectors) == ["query", "document", "related"]
    assert all(torch.equal(vectors[name], parts[name]) for name in vectors)
    assert list(dgre(decomposition=False, information="none").vectors(batch)) == ["query", "document"]


def test_what_is_looked_at_drops_nothing_out_and_leaves_the_model_in_training():
    model = dgre(dropout=0.5).train()
    batch = model.read(PAIRS[:1])
    seen = [model.vectors(batch), model.vectors(batch)]
    graphs = [model.word_graph(batch).relations for _ in range(2)]
    assert model.training and model.backbone.training
    model.eval()
    for name, vectors in model.vectors(batch).items():
        assert torch.equal(seen[0][name], vectors) and torch.equal(seen[1][name], vectors)
    assert torch.equal(graphs[0], graphs[1]) and torch.equal(graphs[0], model.word_graph(batch).relations)
    assert not model.training
