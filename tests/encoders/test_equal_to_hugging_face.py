"""Our forward pass returns what Hugging Face's own model returns, for every architecture, length and padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.tiny import ARCHITECTURES, LONGEST, hugging_face_arguments, random_inputs, tiny_model
from whyrank.core.errors import UserError
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.site import Site

lengths = some.lists(some.integers(1, LONGEST), min_size=1, max_size=4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@settings(max_examples=25, deadline=None)
@given(lengths=lengths, seed=some.integers(0, 9))
def test_last_hidden_states(architecture, lengths, seed):
    model, inputs = tiny_model(architecture), random_inputs(architecture, lengths, seed)
    with torch.no_grad():
        theirs = model(**hugging_face_arguments(architecture, inputs)).last_hidden_state
        ours = open_encoder(model).run(inputs).hidden
    real = inputs.attention_mask
    torch.testing.assert_close(ours[real], theirs[real], atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_longest_input_that_the_model_takes(architecture):
    model, inputs = tiny_model(architecture), random_inputs(architecture, [LONGEST, LONGEST])
    encoder = open_encoder(model)
    assert encoder.max_length == LONGEST
    with torch.no_grad():
        theirs = model(**hugging_face_arguments(architecture, inputs)).last_hidden_state
        torch.testing.assert_close(encoder.run(inputs).hidden, theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@settings(max_examples=15, deadline=None)
@given(lengths=lengths, rows=some.sets(some.integers(0, LONGEST - 1), min_size=1, max_size=5))
def test_only_the_rows_asked_for(architecture, lengths, rows):
    inputs = random_inputs(architecture, lengths)
    rows = sorted(row for row in rows if row < min(lengths)) or [0]
    encoder = open_encoder(tiny_model(architecture))
    with torch.no_grad():
        whole, some_rows = encoder.run(inputs).hidden, encoder.run(inputs, rows=rows).hidden
    torch.testing.assert_close(some_rows, whole[:, rows], atol=1e-5, rtol=0)


def test_rows_come_in_the_order_asked_for_whatever_else_is_read():
    encoder, inputs = open_encoder(tiny_model("bert")), random_inputs("bert", [2])
    with torch.no_grad():
        plain = encoder.run(inputs, rows=[1, 0]).hidden
        read = encoder.run(inputs, rows=[1, 0], read=[Site.parse("L2.attn")]).hidden
        torch.testing.assert_close(read, plain, atol=1e-5, rtol=0)
        torch.testing.assert_close(encoder.run(inputs).hidden[:, [1, 0]], plain, atol=1e-5, rtol=0)


def test_a_site_that_the_pass_does_not_come_by_is_refused():
    encoder, inputs = open_encoder(tiny_model("bert")), random_inputs("bert", [5])
    state = encoder.run(inputs, stop=1).hidden
    with pytest.raises(ValueError, match="not on the way"):
        encoder.run(inputs, start=1, state=state, read=[Site.parse("L0.attn")])
    with pytest.raises(ValueError, match="not on the way"):
        encoder.run(inputs, stop=2, read=[Site.parse("L2.attn")])
    with pytest.raises(UserError, match="positions here are 0 to 4"):
        encoder.run(inputs, read=[Site.parse("L0.attn@17")])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("layer", [0, 1, 2, 3])
def test_stop_at_any_layer_and_start_again_from_its_state(architecture, layer):
    inputs = random_inputs(architecture, [9, 5])
    encoder = open_encoder(tiny_model(architecture))
    with torch.no_grad():
        state = encoder.run(inputs, stop=layer).hidden
        resumed = encoder.run(inputs, start=layer, state=state).hidden
        torch.testing.assert_close(resumed, encoder.run(inputs).hidden, atol=1e-6, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_flow_to_the_checkpoints_own_parameters(architecture):
    model = tiny_model(architecture)
    open_encoder(model).run(random_inputs(architecture, [7, 4])).hidden.square().sum().backward()
    missing = [name for name, p in model.named_parameters() if p.grad is None and "pooler" not in name]
    model.zero_grad()
    assert not missing


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_changed_parameter_changes_the_opened_encoder(architecture):
    model, inputs = tiny_model(architecture), random_inputs(architecture, [6])
    encoder = open_encoder(model)
    row = encoder.word_embeddings[inputs.ids[0, 2]]
    with torch.no_grad():
        before = encoder.run(inputs).hidden
        row += torch.arange(len(row))
        after = encoder.run(inputs).hidden
        theirs = model(**hugging_face_arguments(architecture, inputs)).last_hidden_state
        row -= torch.arange(len(row))
    assert (after - before).abs().max() > 1e-3
    torch.testing.assert_close(after, theirs, atol=1e-5, rtol=0)
