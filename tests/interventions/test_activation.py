"""Exact activation patching against plain hooks on the Hugging Face module, and the identities it must satisfy."""

from contextlib import ExitStack

import pytest
import torch

from tests.checkpoints import save
from tests.encoders.test_sites import hook
from tests.tiny import ARCHITECTURES, hugging_face_arguments, random_inputs, tiny_model
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.activation import Activation
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.recording import Recording
from whyrank.interventions.wavefront import patched_states
from whyrank.rankers.load import load

SETS = [
    "L0.H1.z", "L1.H2.z", "L2.H3.z", "L0.attn", "L1.mlp", "L2.mlp", "L2.attn", "L0.H1.q", "L1.H3.k", "L2.H0.v",
    "L0.H1.z+L1.H2.z+L2.mlp", "L1.H0.q+L1.H0.k", "L0.mlp+L2.H0.z", "L1.H2.z@3", "L2.H3.z@0", "L0.attn@2",
]  # fmt: skip


def two_runs(architecture, length=7):
    return [random_inputs(architecture, [length], seed=seed) for seed in (5, 6)]


def with_hooks(model, architecture, target, source, patch):
    """The oracle: every site of the set overwritten by a plain hook with what a plain hook read."""
    seen = {}
    with torch.no_grad(), ExitStack() as reading:
        for site in patch:
            reading.enter_context(
                hook(model, architecture, site, lambda x, site=site: seen.setdefault(site, x.clone()))
            )
        model(**hugging_face_arguments(architecture, source))
    with torch.no_grad(), ExitStack() as writing:
        for site in patch:

            def put(x, site=site):
                if site.at is None:
                    return seen[site]
                x = x.clone()
                x[:, site.at] = seen[site][:, site.at]
                return x

            writing.enter_context(hook(model, architecture, site, put))
        return model(**hugging_face_arguments(architecture, target)).last_hidden_state


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rows", [None, [0]])
def test_every_site_equals_plain_hooks(architecture, rows):
    model = tiny_model(architecture)
    encoder, (target, source) = open_encoder(model), two_runs(architecture)
    patches = [SiteSet.parse(name) for name in SETS]
    with torch.no_grad():
        recordings = [Recording.of(encoder, Inputs(run.ids, run.types), rows) for run in (target, source)]
        ours = patched_states(*recordings, patches)
    for number, patch in enumerate(patches):
        theirs = with_hooks(model, architecture, target, source, patch)[0]
        theirs = theirs if rows is None else theirs[rows]
        torch.testing.assert_close(ours[number], theirs, atol=1e-5, rtol=0, msg=lambda m, p=patch: f"{p}: {m}")


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("rows", [None, [0]])
def test_residual_stream_and_patterns_equal_the_opened_encoders_own_replacement(architecture, rows):
    encoder, (target, source) = open_encoder(tiny_model(architecture)), two_runs(architecture)
    names = ["embed", "L1.resid", "L2.resid", "L1.resid@4", "L0.H2.pattern", "L2.H1.pattern", "L1.H1.pattern@2"]
    patches = [SiteSet.parse(name) for name in names]
    with torch.no_grad():
        recordings = [Recording.of(encoder, run, rows) for run in (target, source)]
        ours = patched_states(*recordings, patches)
        for number, patch in enumerate(patches):
            (site,) = patch
            whole = Site(site.part, site.layer, site.head)
            value = encoder.run(source, read=[whole]).values[whole]
            theirs = encoder.run(target, rows=rows, replace={site: value}).hidden[0]
            torch.testing.assert_close(ours[number], theirs, atol=1e-5, rtol=0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_identities(architecture):
    encoder, (target, source) = open_encoder(tiny_model(architecture)), two_runs(architecture)
    everything = ["embed", *(f"L{layer}.{part}" for layer in range(3) for part in ("attn", "mlp"))]
    heads = [
        "embed",
        *(f"{layer}.{head}" for layer in range(3) for head in range(4)),
        *(f"L{i}.mlp" for i in range(3)),
    ]
    with torch.no_grad():
        recordings = [Recording.of(encoder, run) for run in (target, source)]
        patches = [SiteSet(()), *(SiteSet.parse("+".join(names)) for names in (everything, heads))]
        nothing, all_outputs, all_heads = patched_states(*recordings, patches)
        torch.testing.assert_close(nothing, encoder.run(target).hidden[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(all_outputs, encoder.run(source).hidden[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(all_heads, encoder.run(source).hidden[0], atol=1e-5, rtol=0)
        same = patched_states(recordings[0], recordings[0], [SiteSet.parse(name) for name in SETS])
        torch.testing.assert_close(same, nothing.expand_as(same), atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", ["ce-minilm-l12", "bi-minilm-l6", "bi-bge-small", "li-colbert-small"])
@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_real_rankers_equal_their_own_opened_pass(real, name, direction):
    ranker = real(name)
    (pair,) = make_pairs("TFC1", "demo", [ranker], Choices(documents=1)).pairs
    last = ranker.encoder.layers - 1
    names = [
        "L0.H3.z",
        "L2.H5.z",
        f"L{last}.H1.z",
        f"L{last}.mlp",
        "L1.attn",
        "L3.resid",
        "L2.H1.v",
        "L0.H9.z@inj+L1.H6.z@inj",
    ]
    patches = [SiteSet.parse(text) for text in names]
    result = OpenedPair.of(ranker, pair)
    patched = Activation(direction).scores(result, patches)
    texts = [(pair.query, pair.baseline), (pair.query, pair.perturbed)]
    plain = ranker.score(texts)
    assert (result.baseline, result.perturbed) == pytest.approx(plain.tolist(), abs=1e-4)
    target, source = texts if direction == "denoise" else texts[::-1]
    from whyrank.axioms.realise import token_categories

    injected = torch.tensor([[one == "inj" for one in token_categories(pair, ranker)]])
    for number, patch in enumerate(patches):
        with torch.no_grad():
            whole = {site: Site(site.part, site.layer, site.head) for site in patch}
            values = ranker.trace([source], read=list(whole.values())).values
            replace = {site: values[whole[site]] for site in patch}
            expected = ranker.trace([target], replace=replace, categories={"inj": injected}).scores[0]
        assert float(patched[number]) == pytest.approx(float(expected), abs=1e-4)


def test_a_sparse_ranker_is_patched_too(tmp_path):
    ranker = load(str(save(tmp_path, head="AutoModelForMaskedLM")), kind="sparse")
    pair = MinimalPair("1", "cat", "the dog sat a", "the dog sat cat")
    everything = "+".join(["embed", *(f"L{i}.{part}" for i in range(3) for part in ("attn", "mlp"))])
    result = OpenedPair.of(ranker, pair)
    patched = Activation().scores(result, [SiteSet(()), SiteSet.parse(everything)])
    assert patched.tolist() == pytest.approx([result.baseline, result.perturbed], abs=1e-4)
