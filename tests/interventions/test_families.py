"""What must hold in every family of rankers, on tiny random models: identities, both sides, ablation."""

import pytest
import torch

from tests.checkpoints import save
from tests.tiny import ARCHITECTURES
from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.rankers.load import load

MAT = "the dog sat on the mat"
PAIR = MinimalPair("1", "how many people live in berlin", f"{MAT} a", f"{MAT} berlin", term="berlin")
OTHER = MinimalPair("2", "red house", "a blue tree runs fast a", "a blue tree runs fast red", term="red")
SAME = MinimalPair("3", "cat", "the dog sat", "the dog sat")
FAMILIES = {
    "cross-encoder": ("AutoModelForSequenceClassification", {}),
    "bi-encoder": ("AutoModel", {"pooling": "cls"}),
    "bi-encoder, mean": ("AutoModel", {"pooling": "mean", "normalise": True}),
    "late-interaction": ("AutoModel", {"projection": "none"}),
    "late-interaction, expanded": (
        "AutoModel",
        {"projection": "none", "expand_queries": True, "query_length": 12},
    ),
    "sparse": ("AutoModelForMaskedLM", {}),
}


@pytest.fixture(params=FAMILIES)
def ranker(request, tmp_path):
    head, settings = FAMILIES[request.param]
    model = None
    if "Classification" in head:
        import copy

        import transformers

        from tests.tiny import CONFIGS, shaken

        config = copy.deepcopy(CONFIGS["bert"])
        config.num_labels = 1
        model = shaken(transformers.AutoModelForSequenceClassification.from_config(config).eval())
    folder = save(tmp_path, head=head, model=model)
    return load(str(folder), kind=request.param.split(",")[0], **settings)


def everything(encoder):
    heads = [f"{layer}.{head}" for layer in range(encoder.layers) for head in range(encoder.heads)]
    return SiteSet.parse("+".join(["embed", *heads, *(f"L{layer}.mlp" for layer in range(encoder.layers))]))


SITES = ["0.1", "2.3", "L1.attn", "L2.mlp", "L1.H2.q", "L2.H0.k", "L0.H1.v", "L1.H1.pattern", "embed"]
SITES += ["1.2@inj", "0.3@2"]


def check_identities(ranker, side="document"):
    opened = OpenedPair.of(ranker, PAIR, side)
    for direction, start, end in (("denoise", "baseline", "perturbed"), ("noise", "perturbed", "baseline")):
        nothing, all_of_it = Activation(direction).scores(opened, [SiteSet(()), everything(ranker.encoder)])
        assert float(nothing) == pytest.approx(getattr(opened, start), abs=1e-4)
        assert float(all_of_it) == pytest.approx(getattr(opened, end), abs=1e-4)
    same = OpenedPair.of(ranker, SAME, side)
    patches = [SiteSet.parse(name) for name in SITES if "@inj" not in name]
    senders = [patch for patch in patches if patch.sites[0].part in ("z", "attn", "mlp", "resid", "embed")]
    for how, some in [(Activation(), patches), (Attribution(), patches), (PathPatching(), senders)]:
        assert how.scores(same, some).tolist() == pytest.approx([same.baseline] * len(some), abs=1e-4)
    assert abs(opened.perturbed - opened.baseline) > 1e-4, "the pair must matter, or this shows nothing"


def test_identities(ranker):
    check_identities(ranker)


def test_the_query_side(ranker):
    """The two texts that differ are queries, the pair's query the document; one pass has no sides."""
    if ranker.kind == "cross-encoder":
        with pytest.raises(UserError, match="one sequence"):
            OpenedPair.of(ranker, PAIR, "query")
        return
    check_identities(ranker, "query")
    opened = OpenedPair.of(ranker, PAIR, "query")
    scores = ranker.score([(text, PAIR.query) for text in (PAIR.baseline, PAIR.perturbed)])
    assert (opened.baseline, opened.perturbed) == pytest.approx(scores.tolist(), abs=1e-4)
    value = ranker.trace([(PAIR.perturbed, PAIR.query)], side="query", read=[Site.parse("1.2")]).values
    expected = ranker.trace([(PAIR.baseline, PAIR.query)], side="query", replace=value).scores[0]
    (ours,) = Activation().scores(opened, [SiteSet.parse("1.2")])
    assert float(ours) == pytest.approx(float(expected.detach()), abs=1e-4)


def test_every_site_equals_the_opened_pass(ranker):
    opened, texts = OpenedPair.of(ranker, PAIR), [(PAIR.query, PAIR.baseline), (PAIR.query, PAIR.perturbed)]
    patches = [SiteSet.parse(name) for name in SITES]
    ours = Activation().scores(opened, patches)
    injected = {"inj": torch.tensor([[name == "inj" for name in opened.names]])}
    for patch, score in zip(patches, ours.tolist(), strict=True):
        (site,) = patch
        whole = Site(site.part, site.layer, site.head)
        with torch.no_grad():
            value = ranker.trace([texts[1]], read=[whole]).values[whole]
            expected = ranker.trace([texts[0]], replace={site: value}, categories=injected).scores[0]
        assert score == pytest.approx(float(expected), abs=1e-4), str(patch)


def test_resampling_takes_another_querys_tokens_of_the_same_category(ranker):
    how = Ablation("resample", seed=3).with_reference([PAIR, OTHER])
    assert how.donor(PAIR) == OTHER and how.donor(OTHER) == PAIR
    opened, donor = OpenedPair.of(ranker, PAIR), OpenedPair.of(ranker, OTHER)
    tokens = how.tokens(opened, donor)
    assert tokens == how.tokens(opened, donor), "the same each time"
    for name, token in zip(opened.names, tokens, strict=True):
        assert donor.names[token] == name or name not in donor.names
    site = Site.parse("1.2")
    ours = how.scores(opened, [SiteSet((site,))])
    value = ranker.trace([(OTHER.query, OTHER.baseline)], read=[site]).values[site][:, tokens]
    expected = ranker.trace([(PAIR.query, PAIR.baseline)], replace={site: value}).scores
    assert float(ours[0]) == pytest.approx(float(expected[0].detach()), abs=1e-4)


def test_zero_ablation_of_values_in_several_sets(ranker):
    opened = OpenedPair.of(ranker, PAIR)
    patches = [SiteSet.parse("L0.H1.v"), SiteSet.parse("L0.H1.v+L1.H2.v")]
    ours = Ablation("zero").scores(opened, patches)
    for patch, score in zip(patches, ours.tolist(), strict=True):
        with torch.no_grad():
            expected = ranker.trace([(PAIR.query, PAIR.baseline)], replace=dict.fromkeys(patch, 0.0)).scores[0]
        assert score == pytest.approx(float(expected), abs=1e-4)


def test_what_cannot_be_ablated_is_refused(ranker):
    pattern = [SiteSet.parse("L1.H1.pattern")]
    Ablation("zero").check(ranker.encoder, pattern)
    with pytest.raises(UserError, match="pattern"):
        Ablation("mean").check(ranker.encoder, pattern)
    with pytest.raises(UserError, match="zero, mean, resample"):
        Ablation("nothing")
    with pytest.raises(UserError, match="two pairs"):
        Ablation("resample").with_reference([PAIR]).donor(PAIR)
    with pytest.raises(UserError, match="score itself"):
        Activation().check(ranker.encoder, [SiteSet.parse("logits")])


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_attribution_of_every_part_is_a_derivative(architecture, tmp_path):
    """Central differences along the patch, by the opened encoder's own replacement."""
    ranker = load(str(save(tmp_path, architecture)), kind="bi-encoder", pooling="cls")
    opened, text = OpenedPair.of(ranker, PAIR), (PAIR.query, PAIR.baseline)
    for name in ["0.1", "2.3", "L1.attn", "L2.mlp", "L1.H2.q", "L2.H0.k", "L0.H1.v", "L1.H1.pattern", "L1.resid"]:
        site, small = Site.parse(name), 1e-2
        here = ranker.trace([text], read=[site]).values[site]
        there = ranker.trace([(PAIR.query, PAIR.perturbed)], read=[site]).values[site]
        ends = [
            float(ranker.trace([text], replace={site: here + step * (there - here)}).scores[0].detach())
            for step in (-small, small)
        ]
        (ours,) = Attribution().scores(opened, [SiteSet((site,))])
        slope = (ends[1] - ends[0]) / (2 * small)
        assert float(ours) - opened.baseline == pytest.approx(slope, rel=0.02, abs=2e-3), name
