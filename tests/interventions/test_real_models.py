"""Every method against plain hooks on real weights: first and last layer, one-token texts, multi-piece terms."""

import pytest
import torch

from tests.interventions.hooks import PlainHooks
from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.interventions.prepared import PreparedPair

RANKERS = ["ce-minilm-l12", "bi-minilm-l6", "bi-bge-small"]
TEXT = "Yellow leaves can have many causes; too much water is the usual one, and light comes second."
PAIRS = [
    MinimalPair(
        "append", "why do houseplants yellow", f"{TEXT} a", f"{TEXT} houseplants", term="houseplants"
    ).fillable(),
    MinimalPair("one-token", "tea", "a", "tea", term="tea"),
]


def sites_of(encoder):
    last = encoder.layers - 1
    names = [
        "0.1", "2.3", f"{last}.2", f"{last - 1}.0", "L0.attn", f"L{last}.attn", "L1.mlp", f"L{last}.mlp",
        "L0.H1.q", f"L{last}.H3.q", "L1.H2.k", f"L{last}.H0.k", "L2.H4.v", f"L{last}.H5.v", "L1.resid",
        f"L{last}.resid",
        "0.1@inj+1.6@inj", "L0.H1.q+L0.H1.k+L2.mlp", "3.1@cls", "2.0@0", "2.0@1", f"L{last}.resid@1", "L1.attn@2",
        f"{last}.1@0", f"{last}.1@1", "L2.mlp@1", "L1.resid@inj", "embed",
        "embed@1", "embed@inj+2.3",
    ]  # fmt: skip
    return [SiteSet.parse(name) for name in names]


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.id)
@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_activation_patching(real, name, pair, direction):
    ranker = real(name)
    opened = OpenedPair.of(ranker, pair)
    patches = sites_of(ranker.encoder)
    ours = Activation(direction).scores(opened, patches)
    with torch.no_grad():
        plain = PlainHooks(ranker, pair)
        assert [float(plain.run(side)) for side in (0, 1)] == pytest.approx(
            [opened.baseline, opened.perturbed], abs=1e-4
        )
        theirs = [plain.patched(patch, direction) for patch in patches]
    assert ours.tolist() == pytest.approx(theirs, abs=1e-4)
    assert abs(opened.perturbed - opened.baseline) > 0.01, "the pair must matter, or this shows nothing"


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("freeze_mlp", [False, True])
@pytest.mark.parametrize("to", ["logits", "L4.H1.v,L4.H3.v", "L3.H0.q,L5.H2.k"])
def test_path_patching(real, name, freeze_mlp, to):
    ranker, pair = real(name), PAIRS[freeze_mlp]
    direction = "noise" if freeze_mlp else "denoise"
    how = PathPatching.to(to, freeze_mlp=freeze_mlp, direction=direction)
    last = ranker.encoder.layers - 1
    senders = [SiteSet.parse(text) for text in ("0.1", "L0.attn", "L1.mlp", "L1.resid", "embed", "1.2@cls")]
    senders += [SiteSet.parse(f"{last}.3"), SiteSet.parse(f"L{last}.mlp")] if to == "logits" else []
    ours = how.scores(OpenedPair.of(ranker, pair), senders)
    with torch.no_grad():
        plain = PlainHooks(ranker, pair)
        receivers = list(how.receivers or ())
        theirs = [plain.path(one.sites[0], receivers, freeze_mlp, direction) for one in senders]
    assert ours.tolist() == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-bge-small"])
@pytest.mark.parametrize("direction", ["denoise", "noise"])
@pytest.mark.parametrize("freeze_mlp", [False, True])
def test_all_heads_of_several_pairs_to_the_logits_together(real, name, direction, freeze_mlp):
    ranker = real(name)
    senders = [SiteSet.parse(f"{layer}.{head}") for layer in (11, 0, 6) for head in (0, 7)]
    how = PathPatching(freeze_mlp=freeze_mlp, direction=direction)
    (group,) = PreparedPair.groups(ranker, PAIRS)
    together = how.measure(group, [senders] * len(PAIRS))
    for pair, measured in zip(PAIRS, together, strict=True):
        opened = OpenedPair.of(ranker, pair)
        assert (measured.baseline, measured.perturbed) == pytest.approx(
            (opened.baseline, opened.perturbed), abs=1e-5
        )
        assert measured.patched.tolist() == pytest.approx(how.scores(opened, senders).tolist(), abs=1e-5)
        with torch.no_grad():
            theirs = PlainHooks(ranker, pair).path(senders[0].sites[0], (), freeze_mlp, direction)
        assert float(measured.patched[0]) == pytest.approx(theirs, abs=1e-4)


@pytest.mark.parametrize("name", RANKERS)
@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_attribution_is_the_derivative_along_the_patch(real, name, direction):
    """d score / d alpha of the module with alpha of the difference added by a plain hook, at alpha = 0."""
    ranker, pair = real(name), PAIRS[0]
    last = ranker.encoder.layers - 1
    names = [
        "0.1",
        f"{last}.2",
        "L2.attn",
        f"L{last}.mlp",
        "L1.H2.q",
        f"L{last}.H3.k",
        "L1.H4.v",
        "L3.resid",
        "1.3@inj",
    ]
    patches = [SiteSet.parse(text) for text in [*names, "0.1+L2.attn"]]
    opened = OpenedPair.of(ranker, pair)
    ours = Attribution(direction).scores(opened, patches)
    own = opened.baseline if direction == "denoise" else opened.perturbed
    plain, slopes = PlainHooks(ranker, pair), {}
    target, source = (0, 1) if direction == "denoise" else (1, 0)
    for patch in patches[:-1]:
        (site,) = patch
        whole = Site(site.part, site.layer, site.head)
        with torch.no_grad():
            here, there = plain.read([whole], target)[whole], plain.read([whole], source)[whole]
            change = plain._cut(torch.zeros_like(here), there - here, site)
        alpha = torch.zeros((), requires_grad=True)
        with plain.at(whole, lambda x, change=change, alpha=alpha: x + alpha * change):
            (slope,) = torch.autograd.grad(plain.run(target), alpha)
        slopes[str(patch)] = float(slope)
    expected = [own + slopes[str(patch)] for patch in patches[:-1]]
    expected.append(own + slopes["L0.H1.z"] + slopes["L2.attn"])
    assert ours.tolist() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", RANKERS)
def test_integrated_gradients_of_the_embeddings_sum_to_the_gap(real, name):
    opened = OpenedPair.of(real(name), PAIRS[0])
    (estimate,) = Attribution(steps=40).scores(opened, [SiteSet.parse("embed")])
    assert float(estimate) == pytest.approx(opened.perturbed, abs=0.02 * abs(opened.perturbed - opened.baseline))


@pytest.mark.parametrize("name", RANKERS)
def test_zero_and_mean_ablation(real, name):
    ranker, pair = real(name), PAIRS[0]
    patches = [
        SiteSet.parse(text) for text in ("0.1+2.3", "L1.mlp", f"{ranker.encoder.layers - 1}.2", "L2.attn@cls")
    ]
    opened = OpenedPair.of(ranker, pair)
    with torch.no_grad():
        plain = PlainHooks(ranker, pair)
        nothing = {site: torch.zeros(()) for patch in patches for site in patch}
        theirs = [plain.patched(patch, values=nothing) for patch in patches]
    assert Ablation("zero").scores(opened, patches).tolist() == pytest.approx(theirs, abs=1e-4)
    mean = Ablation("mean").with_reference(PAIRS).prepared(ranker, patches, "document")
    with torch.no_grad():
        values = mean_by_hand(ranker, {site for patch in patches for site in patch}, plain)
        theirs = [plain.patched(patch, values=values) for patch in patches]
    assert mean.scores(opened, patches).tolist() == pytest.approx(theirs, abs=1e-4)


def mean_by_hand(ranker, sites, plain):
    """Each token's value: the mean of its category's tokens over the baselines of both pairs."""
    found = {}
    for site in sites:
        whole, tokens = Site(site.part, site.layer, site.head), {}
        for pair in PAIRS:
            other = PlainHooks(ranker, pair, padding=0)
            for name, row in zip(other.names, other.read([whole], 0)[whole][0], strict=True):
                tokens.setdefault(name, []).append(row)
        rows = [torch.stack(tokens[name]).mean(0) for name in plain.names]
        padded = rows + [rows[0]] * (plain.ids.shape[1] - len(rows))
        found[site] = torch.stack(padded)[None]
    return found
