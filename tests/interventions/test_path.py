"""Path patching against plain hooks on the Hugging Face module that freeze every head by hand."""

from contextlib import ExitStack

import pytest
import torch

from tests.encoders.test_sites import hook
from tests.tiny import ARCHITECTURES, hugging_face_arguments, random_inputs, tiny_model
from whyrank.core.errors import UserError
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.path import path_states
from whyrank.interventions.recording import Recording

LAYERS, HEADS = 3, 4
ALL_HEADS = [Site("z", layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def sets(sites):
    return [SiteSet((site,)) for site in sites]


def runs(architecture):
    return [random_inputs(architecture, [7], seed=seed) for seed in (5, 6)]


def read_by_hooks(model, architecture, inputs, sites):
    seen = {}
    with torch.no_grad(), ExitStack() as stack:
        for site in sites:
            stack.enter_context(
                hook(model, architecture, site, lambda x, site=site: seen.setdefault(site, x.clone()))
            )
        out = model(**hugging_face_arguments(architecture, inputs)).last_hidden_state
    return out, seen


def frozen_by_hooks(model, architecture, target, source, sender, freeze_mlp, watch=()):
    """Step 1 by hand: every head held at the target's value, the sender at the source's."""
    mlps = [Site("mlp", layer) for layer in range(LAYERS)] if freeze_mlp else []
    _, held = read_by_hooks(model, architecture, target, [*ALL_HEADS, *mlps])
    _, sent = read_by_hooks(model, architecture, source, [sender])
    seen = {}
    with torch.no_grad(), ExitStack() as stack:
        for site in [*ALL_HEADS, *mlps]:
            stack.enter_context(hook(model, architecture, site, lambda x, site=site: held[site]))
        stack.enter_context(hook(model, architecture, sender, lambda x: sent[sender]))
        for site in watch:
            stack.enter_context(
                hook(model, architecture, site, lambda x, site=site: seen.setdefault(site, x.clone()))
            )
        out = model(**hugging_face_arguments(architecture, target)).last_hidden_state
    return out, seen


SENDERS = [
    Site.parse(name)
    for name in ("L0.H1.z", "L1.H2.z", "L2.H3.z", "L0.attn", "L1.attn", "L0.mlp", "L1.mlp", "L2.mlp")
]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("freeze_mlp", [False, True])
def test_senders_to_the_logits(architecture, freeze_mlp):
    model, (target, source) = tiny_model(architecture), runs(architecture)
    encoder = open_encoder(model)
    with torch.no_grad():
        recordings, first_only = (
            [Recording.of(encoder, run, rows) for run in (target, source)] for rows in (None, [0])
        )
        whole = path_states(*recordings, sets(SENDERS), freeze_mlp=freeze_mlp)
        first = path_states(*first_only, sets(SENDERS), freeze_mlp=freeze_mlp)
    for number, sender in enumerate(SENDERS):
        theirs, _ = frozen_by_hooks(model, architecture, target, source, sender, freeze_mlp)
        torch.testing.assert_close(whole[number], theirs[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(first[number], theirs[0, :1], atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("freeze_mlp", [False, True])
@pytest.mark.parametrize("receivers", ["L2.H1.v+L2.H3.v", "L2.H0.q", "L1.H2.k", "L1.H0.v+L2.H2.q+L2.H2.k"])
def test_senders_to_heads(architecture, freeze_mlp, receivers):
    model, (target, source) = tiny_model(architecture), runs(architecture)
    encoder, received = open_encoder(model), SiteSet.parse(receivers)
    senders = [Site.parse(name) for name in ("L0.H1.z", "L0.H3.z", "L0.attn", "L0.mlp")]
    with torch.no_grad():
        recordings, first_only = (
            [Recording.of(encoder, run, rows) for run in (target, source)] for rows in (None, [0])
        )
        whole = path_states(*recordings, sets(senders), received, freeze_mlp=freeze_mlp)
        first = path_states(*first_only, sets(senders), received, freeze_mlp=freeze_mlp)
    plain = model(**hugging_face_arguments(architecture, target)).last_hidden_state
    for number, sender in enumerate(senders):
        _, seen = frozen_by_hooks(model, architecture, target, source, sender, freeze_mlp, watch=list(received))
        with torch.no_grad(), ExitStack() as stack:
            for site in received:
                stack.enter_context(hook(model, architecture, site, lambda x, site=site, seen=seen: seen[site]))
            theirs = model(**hugging_face_arguments(architecture, target)).last_hidden_state
        torch.testing.assert_close(whole[number], theirs[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(first[number], theirs[0, :1], atol=1e-5, rtol=0)
        assert (theirs - plain).abs().max() > 1e-4, "the path must matter, or this test shows nothing"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_residual_stream_sends_too(architecture):
    """With all heads frozen, sending the whole stream at layer l gives what the frozen layers above make of it."""
    encoder, (target, source) = open_encoder(tiny_model(architecture)), runs(architecture)
    with torch.no_grad():
        recordings = [Recording.of(encoder, run) for run in (target, source)]
        senders = [SiteSet.parse(name) for name in ("L2.resid", "embed", "L0.resid")]
        sent = path_states(*recordings, senders)
        h = source_state = recordings[1].resid[2][None]
        by_hand = encoder.anatomy.final_norm(encoder.after_heads(2, h, recordings[0].z[2][None]))
        torch.testing.assert_close(sent[0], by_hand[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(sent[1], sent[2], atol=1e-6, rtol=0)
        assert source_state is h
        same = path_states(recordings[0], recordings[0], sets(SENDERS))
        torch.testing.assert_close(same, encoder.run(target).hidden.expand_as(same), atol=1e-5, rtol=0)


def test_a_sender_that_reaches_no_receiver_is_refused():
    encoder, (target, source) = open_encoder(tiny_model("bert")), runs("bert")
    recordings = [Recording.of(encoder, run) for run in (target, source)]
    with pytest.raises(UserError, match="below layer 1"):
        path_states(*recordings, [SiteSet.parse("L1.H0.z")], SiteSet.parse("L1.H2.v"))
    with pytest.raises(UserError, match="cannot receive"):
        path_states(*recordings, [SiteSet.parse("L0.H0.z")], SiteSet.parse("L1.mlp"))
