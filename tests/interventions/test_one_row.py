"""Patching one position, against the walk that makes every row, and so against plain hooks."""

import pytest
import torch

from tests.tiny import ARCHITECTURES, random_inputs, tiny_model
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.site import SiteSet
from whyrank.interventions import one_row
from whyrank.interventions.recording import Recording
from whyrank.interventions.wavefront import patched_states

PARTS = [
    "L0.H1.z",
    "L1.H2.z",
    "L2.H3.z",
    "L0.attn",
    "L1.mlp",
    "L2.mlp",
    "L2.attn",
    "embed",
    "L1.resid",
    "L2.resid",
]


def one_row_states(target, source, sites, tokens):
    """All states together; those of sites that cannot reach what is read are the target's own."""
    last = target.encoder.anatomy.final_norm(target.state(target.encoder.layers))
    states = last.expand(len(sites), *last.shape).clone()
    for some, made in one_row.one_row_states(target, source, sites, tokens):
        states[some] = made
    return states


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rows", [None, [0]])
@pytest.mark.parametrize("length", [2, 3, 16])
def test_every_position_equals_the_whole_walk(architecture, rows, length):
    encoder = open_encoder(tiny_model(architecture))
    both = [random_inputs(architecture, [length], seed=seed) for seed in (5, 6)]
    patches = [SiteSet.parse(f"{name}@{place}") for name in PARTS for place in range(length)]
    with torch.no_grad():
        recordings = [Recording.of(encoder, run, rows) for run in both]
        ours = one_row_states(*recordings, [patch.sites[0] for patch in patches], tokens=5 * length)
        theirs = patched_states(*recordings, patches)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_attention_that_rests_on_one_token_alone_is_exact():
    """A head whose every row gives all its weight to one token: the change there is all there is."""
    model = tiny_model("bert")
    encoder = open_encoder(model)
    block = encoder.blocks[1]
    both = [random_inputs("bert", [9], seed=seed) for seed in (5, 6)]
    kept = block.key.linear.weight.detach().clone()
    try:
        with torch.no_grad():
            block.key.linear.weight *= 60  # scores of hundreds: softmax is 1 at one place, 0 elsewhere
            recordings = [Recording.of(encoder, run, [0]) for run in both]
            assert recordings[0].pattern(1).max() == 1.0
            patches = [SiteSet.parse(f"L0.H1.z@{place}") for place in range(9)]
            ours = one_row_states(*recordings, [patch.sites[0] for patch in patches], tokens=100)
            theirs = patched_states(*recordings, patches)
    finally:
        with torch.no_grad():
            block.key.linear.weight.copy_(kept)
    assert torch.isfinite(ours).all()
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


def test_at_the_top_only_the_rows_that_are_read_matter():
    encoder = open_encoder(tiny_model("bert"))
    both = [random_inputs("bert", [6], seed=seed) for seed in (5, 6)]
    with torch.no_grad():
        recordings = [Recording.of(encoder, run, [0]) for run in both]
        sites = [SiteSet.parse(f"L2.H1.z@{place}").sites[0] for place in range(6)]
        states = one_row_states(*recordings, sites, tokens=100)
        plain = encoder.run(both[0], rows=[0]).hidden[0]
    assert torch.equal(states[1:], plain.expand_as(states[1:])), "exactly 0 away from the first row"
    assert (states[0] - plain).abs().max() > 1e-3
