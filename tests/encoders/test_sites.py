"""Sites print as they parse; each can be read and replaced, as a hook on the original module would."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from tests.plain_hooks import hooked
from tests.tiny import ARCHITECTURES, hugging_face_arguments, random_inputs, tiny_model
from whyrank.core.errors import UserError
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.site import BLOCK_PARTS, HEAD_PARTS, Site, SiteSet
from whyrank.text.categories import CATEGORIES

positions = some.none() | some.integers(0, 600) | some.sampled_from(CATEGORIES)
numbers = some.integers(0, 40)
sites = some.one_of(
    some.builds(Site, some.sampled_from(["embed", "logits"]), at=positions),
    some.builds(Site, some.sampled_from(BLOCK_PARTS), numbers, at=positions),
    some.builds(Site, some.sampled_from(HEAD_PARTS), numbers, numbers, positions),
)


@given(sites)
def test_a_site_parses_as_it_prints(site):
    assert Site.parse(str(site)) == site


@given(some.lists(sites, min_size=1, max_size=4))
def test_a_set_of_sites_parses_as_it_prints(several):
    assert SiteSet.parse(str(SiteSet(tuple(several)))).sites == tuple(several)


def test_the_short_form_is_a_heads_output():
    assert str(Site.parse("4.9")) == "L4.H9.z"
    assert str(SiteSet.parse("0.9@inj+1.6@qterm++L2.mlp")) == "L0.H9.z@inj+L1.H6.z@qterm++L2.mlp"


@pytest.mark.parametrize(
    "text", ["", "L4", "L4.H9", "L4.H9.w", "H9.z", "L4.resid@middle", "L1.H2.mlp", "4.9+", "4.9 1.2"]
)
def test_what_is_not_a_site_is_refused_with_the_ways_to_write_one(text):
    with pytest.raises(UserError, match=r"L4|join"):
        SiteSet.parse(text)


def test_a_site_the_model_lacks_names_the_range():
    encoder, inputs = open_encoder(tiny_model("bert")), random_inputs("bert", [4])
    with pytest.raises(UserError, match="layers are 0 to 2"):
        encoder.run(inputs, read=[Site.parse("L3.resid")])
    with pytest.raises(UserError, match="heads are 0 to 3"):
        encoder.run(inputs, read=[Site.parse("2.4")])


def hidden_modules(model, architecture, layer):
    """The original modules whose outputs are the sites attn, mlp, q, k, v; and the one that z goes into."""
    if architecture == "distilbert":
        block = model.transformer.layer[layer]
        a = block.attention
        return {"attn": a.out_lin, "mlp": block.ffn.lin2, "q": a.q_lin, "k": a.k_lin, "v": a.v_lin, "z": a.out_lin}
    if architecture == "modernbert":
        block = model.layers[layer]
        return {"attn": block.attn.Wo, "mlp": block.mlp.Wo, "qkv": block.attn.Wqkv, "z": block.attn.Wo}
    block = model.encoder.layer[layer]
    if architecture == "mpnet":
        a = block.attention.attn
        return {"attn": a.o, "mlp": block.output.dense, "q": a.q, "k": a.k, "v": a.v, "z": a.o}
    inner, out = block.attention.self, block.attention.output.dense
    return {"attn": out, "mlp": block.output.dense, "q": inner.query, "k": inner.key, "v": inner.value, "z": out}


def hook(model, architecture, site, change):
    """A plain hook that puts change(value) in the place of the site's value."""
    modules = hidden_modules(model, architecture, site.layer)
    width = model.config.hidden_size // model.config.num_attention_heads
    columns = slice(None) if site.head is None else slice(width * site.head, width * (site.head + 1))
    if site.part in ("q", "k", "v") and architecture == "modernbert":
        shift = model.config.hidden_size * "qkv".index(site.part)
        columns, module = slice(columns.start + shift, columns.stop + shift), modules["qkv"]
    else:
        module = modules[site.part]
    return hooked(module, columns, change, before=site.part == "z")


SITES = ["L0.attn", "L1.mlp", "L2.mlp", "L0.H1.q", "L1.H3.k", "L2.H0.v", "L1.H2.z", "L2.H3.z", "L2.attn"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", SITES)
def test_reading_and_replacing_equals_a_plain_hook(architecture, name):
    model, site = tiny_model(architecture), Site.parse(name)
    inputs, other = random_inputs(architecture, [8, 5], seed=1), random_inputs(architecture, [8, 5], seed=2)
    encoder, seen = open_encoder(model), []

    def record(x):
        seen.append(x.clone())
        return x

    with torch.no_grad():
        with hook(model, architecture, site, record):
            model(**hugging_face_arguments(architecture, other))
        read = encoder.run(other, read=[site]).values[site]
        torch.testing.assert_close(read, seen[0], atol=1e-5, rtol=0)
        with hook(model, architecture, site, lambda _: seen[0]):
            theirs = model(**hugging_face_arguments(architecture, inputs)).last_hidden_state
        ours = encoder.run(inputs, replace={site: read}).hidden
        plain = encoder.run(inputs).hidden
    real = inputs.attention_mask
    torch.testing.assert_close(ours[real], theirs[real], atol=1e-5, rtol=0)
    assert (ours - plain)[real].abs().max() > 1e-3, "the replacement must matter, or this test shows nothing"


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_residual_stream_and_pattern_equal_hugging_faces_own_outputs(architecture):
    model, inputs = tiny_model(architecture), random_inputs(architecture, [9, 6])
    model.set_attn_implementation("eager")
    with torch.no_grad():
        out = model(
            **hugging_face_arguments(architecture, inputs), output_hidden_states=True, output_attentions=True
        )
    model.set_attn_implementation("sdpa" if architecture != "mpnet" else "eager")
    residual = [Site("resid", layer) for layer in range(3)]
    patterns = [Site("pattern", layer, head) for layer in range(3) for head in range(4)]
    with torch.no_grad():
        values = open_encoder(model).run(inputs, read=[*residual, *patterns]).values
    real = inputs.attention_mask
    for site in residual:
        torch.testing.assert_close(values[site][real], out.hidden_states[site.layer][real], atol=1e-5, rtol=0)
    for site in patterns:
        torch.testing.assert_close(
            values[site][real], out.attentions[site.layer][:, site.head][real], atol=1e-5, rtol=0
        )


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_pattern_replaced_by_another_inputs_moves_exactly_its_head(architecture):
    encoder = open_encoder(tiny_model(architecture))
    inputs, other = random_inputs(architecture, [7], seed=3), random_inputs(architecture, [7], seed=4)
    pattern, v, z = Site.parse("L1.H2.pattern"), Site.parse("L1.H2.v"), Site.parse("L1.H2.z")
    with torch.no_grad():
        theirs = encoder.run(other, read=[pattern]).values[pattern]
        run = encoder.run(inputs, read=[v, z], replace={pattern: theirs})
    torch.testing.assert_close(run.values[z], theirs @ run.values[v], atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["embed", "L1.resid", "L2.attn", "L2.H1.z"])
@pytest.mark.parametrize("at", [None, 3, "cls", "inj"])
def test_a_position_or_a_category_cuts_the_replacement_down(name, at):
    encoder, inputs = open_encoder(tiny_model("bert")), random_inputs("bert", [6, 4])
    inj = torch.zeros(2, 6, dtype=torch.bool)
    inj[0, 1:3] = inj[1, 2] = True
    whole = Site.parse(name)
    site = Site(whole.part, whole.layer, whole.head, at)
    with torch.no_grad():
        before = encoder.run(inputs, read=[whole]).values[whole]
        after = encoder.run(inputs, read=[whole], replace={site: 7.0}, categories={"inj": inj}).values[whole]
        cut = encoder.run(inputs, read=[site], replace={site: 7.0}, categories={"inj": inj}).values[site]
    expected = torch.zeros(2, 6, dtype=torch.bool)
    expected |= {None: torch.ones(2, 6, dtype=torch.bool), "inj": inj}.get(at, expected)
    expected[:, [at] if isinstance(at, int) else [0] if at == "cls" else []] = True
    torch.testing.assert_close(
        after, torch.where(expected[..., None], torch.tensor(7.0), before), atol=1e-6, rtol=0
    )
    assert (cut == 7).all()


def test_an_unknown_category_is_refused():
    encoder, inputs = open_encoder(tiny_model("bert")), random_inputs("bert", [4])
    with pytest.raises(UserError, match="inj"):
        encoder.run(inputs, read=[Site.parse("L1.resid@inj")])
