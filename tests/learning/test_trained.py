"""A trained model as a ranker: its scores, its opened pass, its folder, against the network and plain hooks."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from tests.interventions.hooks import PlainHooks
from tests.learning.small import COLLECTION, DOCUMENTS, QUERIES
from tests.learning.tiny_networks import TinyCls, TinyLayers, TinySettings, backbone_of, register
from tests.tiny import ARCHITECTURES
from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.api import patch
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.learning.models.catalogue import MODELS, model_class
from whyrank.learning.models.network import Ingredients
from whyrank.learning.saved import model_card, save_trained
from whyrank.learning.trained import Trained, TrainedOnWords, as_ranker
from whyrank.papers.term_frequency.flow import FinalStates
from whyrank.rankers.load import load

MAT = "the dog sat on the mat"
PAIR = MinimalPair("1", "how many people", f"{MAT} a", f"{MAT} people", term="people")
LONG = " ".join(["the cat sat on a red mat"] * 6)
PAIRS = [
    (query, text) for query in list(QUERIES.values())[:3] for text in ["cat", LONG, *list(DOCUMENTS.values())[:3]]
]


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    register(monkeypatch)


def network(folder, kind=TinyCls, architecture="bert", **settings):
    """A tiny network with a large random head."""
    backbone = backbone_of(save(folder / f"backbone-{architecture}", architecture))
    made = kind.of(TinySettings(max_length=24, **settings), Ingredients(backbone))
    torch.manual_seed(0)
    with torch.no_grad():
        for weight in made.fast():
            weight.copy_(torch.randn_like(weight))
    return made.eval(), backbone


@pytest.mark.parametrize("kind", [TinyCls, TinyLayers])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_scores_are_the_networks_own(tmp_path, architecture, kind):
    made, backbone = network(tmp_path, kind, architecture, chunks=3)
    ranker = as_ranker(made, backbone)
    done = []
    found = ranker.scores(PAIRS, done.append)
    with torch.no_grad():
        expected = [made(made.read([pair])).item() for pair in PAIRS]
    assert np.std(expected) > 0.01, "the scores must differ, or this test shows nothing"
    np.testing.assert_allclose(found.values, expected, atol=2e-5)
    assert sum(done) == len(PAIRS)
    assert found.cut == sum(made.read([pair]).cut for pair in PAIRS)


def test_scoring_neither_drops_out_nor_keeps_gradients(tmp_path):
    made, backbone = network(tmp_path, dropout=0.5)
    ranker = as_ranker(made.train(), backbone)
    np.testing.assert_array_equal(ranker.score(PAIRS), ranker.score(PAIRS))
    assert all(weight.grad is None for weight in made.parameters())


@pytest.mark.parametrize("kind", [TinyCls, TinyLayers])
def test_a_trace_gives_the_same_score_and_its_gradients(tmp_path, kind):
    made, backbone = network(tmp_path, kind)
    ranker = as_ranker(made, backbone)
    some = [("how many cat", "the cat sat"), ("red", "a blue house runs fast")]
    trace = ranker.trace(some, read=[Site("z", 1, 2), Site("logits"), Site("resid", 1)])
    np.testing.assert_allclose(trace.scores.detach().numpy(), ranker.score(some), atol=1e-5)
    assert set(map(str, trace.values)) == {"L1.H2.z", "logits", "L1.resid"}
    trace.scores.sum().backward()
    assert ranker.encoder.word_embeddings.grad.abs().sum() > 0


class AllLayerHooks(PlainHooks):
    """Plain hooks where the head reads the inputs of all blocks, as any change leaves them, and the last state."""

    def run(self, side):
        seen, at = [], slice(side, side + 1)
        handles = [
            block.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
            for block in self.module.encoder.layer
        ]
        last = self.module(
            input_ids=self.ids[at], attention_mask=self.mask[at].long(), token_type_ids=self.types[at]
        ).last_hidden_state
        for handle in handles:
            handle.remove()
        states = [state[:, : self.length] for state in (*seen, last)]
        text = PAIR.baseline if side == 0 else PAIR.perturbed
        return self.ranker.network.head(states, self.ranker.network.read([(PAIR.query, text)])).scores[0]


SITES = [
    "0.1", "1.2", "2.3", "L0.attn", "L1.mlp", "L2.mlp", "L1.resid", "L2.resid", "embed", "L0.H1.q", "L1.H3.k",
    "L2.H0.v", "0.1+1.2+L2.mlp", "1.2@3", "2.3@0", "L1.resid@inj", "0.3@inj", "L2.attn@query",
]  # fmt: skip


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_patching_a_model_that_reads_all_layers_equals_plain_hooks(tmp_path, direction):
    ranker = as_ranker(*network(tmp_path, TinyLayers))
    assert ranker.reads_all_layers and ranker.rows is None
    opened, hooks = OpenedPair.of(ranker, PAIR), AllLayerHooks(ranker, PAIR)
    patches = [SiteSet.parse(name) for name in SITES]
    ours = Activation(direction).scores(opened, patches)
    with torch.no_grad():
        theirs = [hooks.patched(one, direction) for one in patches]
    assert np.ptp(theirs) > 0.01
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)
    np.testing.assert_allclose([opened.baseline, opened.perturbed], ranker.score(_texts(PAIR)), atol=1e-5)


def test_a_path_in_a_model_that_reads_all_layers_equals_plain_hooks(tmp_path):
    ranker = as_ranker(*network(tmp_path, TinyLayers))
    opened, hooks = OpenedPair.of(ranker, PAIR), AllLayerHooks(ranker, PAIR)
    senders = [SiteSet.parse(name) for name in ("0.1", "1.2", "2.3", "L0.mlp")]
    with torch.no_grad():
        for freeze in (False, True):
            ours = PathPatching(None, freeze).scores(opened, senders[:3])
            theirs = [hooks.path(one.sites[0], freeze_mlp=freeze) for one in senders[:3]]
            np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)
        receivers = SiteSet.parse("L2.H0.v+L2.H3.q")
        ours = PathPatching(receivers).scores(opened, senders[:2])
        theirs = [hooks.path(one.sites[0], list(receivers)) for one in senders[:2]]
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)


def test_ablating_and_attributing_in_a_model_that_reads_all_layers(tmp_path):
    ranker = as_ranker(*network(tmp_path, TinyLayers))
    opened, hooks = OpenedPair.of(ranker, PAIR), AllLayerHooks(ranker, PAIR)
    patches = [SiteSet.parse(name) for name in ("0.1", "L1.mlp", "2.3@inj", "L1.resid")]
    with torch.no_grad():
        zeroed = [hooks.patched(one, values=dict.fromkeys(one, torch.zeros(()))) for one in patches]
    np.testing.assert_allclose(Ablation("zero").scores(opened, patches).numpy(), zeroed, atol=1e-5)
    attributed = Attribution().scores(opened, patches)
    for one, score in zip(patches, attributed, strict=True):
        assert score.item() == pytest.approx(_by_gradient(hooks, one), abs=1e-4)
    whole = Attribution(steps=300).scores(opened, [SiteSet.parse("embed")])
    assert whole.item() == pytest.approx(opened.perturbed, abs=1e-3), "integrated, the embeddings explain the gap"


def _by_gradient(hooks, sites):
    """score + sum over the sites of (source - target) . gradient, by finite steps along the difference."""
    with torch.no_grad():
        source, target = hooks.read(list(sites), 1), hooks.read(list(sites), 0)
        step = 2e-2
        moved = []
        for sign in (1, -1):
            values = {site: target[site] + sign * step * (source[site] - target[site]) for site in sites}
            moved.append(hooks.patched(sites, values=values))
        return float(hooks.run(0)) + (moved[0] - moved[1]) / (2 * step)


def test_a_cls_model_is_opened_by_the_fast_engine(tmp_path):
    ranker = as_ranker(*network(tmp_path, TinyCls))
    assert ranker.rows == (0,) and not ranker.reads_all_layers
    opened, hooks = OpenedPair.of(ranker, PAIR), PlainHooks(ranker, PAIR)
    patches = [SiteSet.parse(name) for name in SITES]
    with torch.no_grad():
        theirs = [hooks.patched(one) for one in patches]
    np.testing.assert_allclose(Activation().scores(opened, patches).numpy(), theirs, atol=1e-5)


def test_a_document_of_several_chunks_is_scored_and_not_opened(tmp_path):
    made, backbone = network(tmp_path, TinyLayers, chunks=4)
    folder = save_trained(made, backbone, tmp_path / "saved", {})
    ranker = load(str(folder))
    assert len(ranker.score([("cat", LONG)])) == 1
    with pytest.raises(UserError, match=r"more than one chunk cannot be opened.*max_length=24"):
        ranker.trace([("cat", LONG)])
    long = MinimalPair("1", "cat", f"{LONG} a", f"{LONG} cat", term="cat")
    with pytest.raises(UserError, match=r"more than one chunk.*max_length=24.*drop such pairs \(skip\)"):
        patch(ranker, [long])
    short = MinimalPair("2", "cat", "the dog a", "the dog cat", term="cat")
    effects = patch(ranker, [long, short], skip=True)
    assert set(effects.frame["pair"]) == {"2"} and list(effects.dropped.values()) == [1]
    shorter = load(str(folder), max_length=24)
    assert shorter.network.chunker.most == 1
    assert len(patch(shorter, [long])) == 12
    short = [(query, text) for query, text in PAIRS if text != LONG]
    np.testing.assert_allclose(shorter.score(short), ranker.score(short), atol=1e-5)


@pytest.mark.parametrize("name", [*MODELS, "tiny-cls", "tiny-layers", "tiny-critic"])
def test_every_model_comes_back_from_its_folder(tmp_path, name):
    backbone = backbone_of(save(tmp_path / "backbone"))
    kind = model_class(name)
    made = kind.of(kind.Settings(max_length=24), Ingredients(backbone, COLLECTION))
    facts = {"collection": "small", "fold": "1 of 5", "seed": 3, "test": {"P@20": 0.25}, "test_queries": 7}
    folder = save_trained(made, backbone, tmp_path / "saved", facts)
    ranker = load(str(folder))
    assert ranker.kind == "trained" and isinstance(ranker, Trained | TrainedOnWords)
    assert type(ranker.network) is kind
    np.testing.assert_allclose(ranker.score(PAIRS), as_ranker(made, backbone).score(PAIRS), atol=1e-6)
    assert load(str(folder)).fingerprint() == ranker.fingerprint()
    if isinstance(ranker, Trained):
        short = [pair for pair in PAIRS if pair[1] != LONG]
        with torch.no_grad():
            np.testing.assert_allclose(ranker.trace(short).scores.numpy(), ranker.score(short), atol=1e-5)
    config = json.loads((folder / "config.json").read_text())
    kept = ["BertForSequenceClassification", "bert"] if name == "bert" else [kind.__name__, f"whyrank-{name}"]
    assert [*config["architectures"], config["model_type"]] == kept
    assert config["whyrank"]["model"] == name and config["whyrank"]["training"] == facts
    card = (folder / "README.md").read_text()
    assert "small" in card and "1 of 5" in card and "0.2500" in card and "7 test queries" in card
    assert {path.name for path in folder.iterdir()} == {
        "model.safetensors", "config.json", "README.md", "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip


def test_a_card_says_what_was_learned_from_and_whether_anything_was():
    facts = {"collection": "small", "candidates": "BM25, 100 a query", "judgements": "umbrela", "epoch": 2}
    card = model_card("bert", "tiny", {}, facts)
    assert "trained with whyrank on small" in card and "| candidates | BM25, 100 a query |" in card
    assert "| judgements | umbrela |" in card
    card = model_card("bert", "tiny", {}, {**facts, "epoch": 0})
    assert "Untrained: no epoch on small did better" in card and "trained with whyrank" not in card


def test_another_weight_is_another_ranker(tmp_path):
    made, backbone = network(tmp_path)
    before = as_ranker(made, backbone).fingerprint()
    with torch.no_grad():
        made.score.bias += 1
    assert as_ranker(made, backbone).fingerprint() != before


@pytest.mark.parametrize("name", ["dgre", "bert-maxp", "drmm"])
def test_the_same_weights_told_otherwise_are_another_ranker(tmp_path, name):
    backbone, kind = backbone_of(save(tmp_path / "backbone")), model_class(name)
    others = {"dgre": {"masking": "heuristic"}, "bert-maxp": {"stride": 5}, "drmm": {"max_length": 2}}
    made = [
        kind.of(kind.Settings(**{"max_length": 24, **more}), Ingredients(backbone, COLLECTION))
        for more in ({}, {}, others[name])
    ]
    for one in made[1:]:
        one.load_state_dict(made[0].state_dict())
    first, same, other = (as_ranker(one.eval(), backbone) for one in made)
    assert first.fingerprint() == same.fingerprint() != other.fingerprint()


def test_a_damaged_folder_is_refused_with_the_reason(tmp_path):
    made, backbone = network(tmp_path)
    folder = save_trained(made, backbone, tmp_path / "saved", {})
    weights = load_file(folder / "model.safetensors")
    save_file({**weights, "score.bias": torch.tensor([float("nan")])}, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"NaN or infinity in score.bias"):
        load(str(folder))
    save_file(
        {name: weight for name, weight in weights.items() if name != "score.bias"}, folder / "model.safetensors"
    )
    with pytest.raises(UserError, match=r"cannot be loaded.*score.bias"):
        load(str(folder))
    config = json.loads((folder / "config.json").read_text())
    config["whyrank"]["settings"]["chunk"] = 3
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"no setting is called 'chunk'.*chunks"):
        load(str(folder))


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_the_last_states_of_a_model_that_reads_all_layers_can_be_exchanged(tmp_path, direction):
    """By the module's own states and the head, with the last state of the chosen tokens of the other side."""
    ranker = as_ranker(*network(tmp_path, TinyLayers))
    opened = OpenedPair.of(ranker, PAIR)
    names = [name for name, mask in opened.categories.items() if mask.any()]
    ours = FinalStates(direction).scores(opened, [SiteSet.parse(f"L2.mlp@{name}") for name in names])
    with torch.no_grad():
        both = [ranker.network.read([pair]) for pair in _texts(PAIR)]
        target, source = [ranker.network.backbone(one.inputs) for one in both][
            :: 1 if direction == "denoise" else -1
        ]
        theirs = []
        for name in names:
            last = target[-1].clone()
            last[:, opened.categories[name]] = source[-1][:, opened.categories[name]]
            read = both[0 if direction == "denoise" else 1]
            theirs.append(float(ranker.network.head([*target[:-1], last], read).scores))
    assert len(names) > 3 and np.ptp(theirs) > 0.01
    np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-5)


def _texts(pair):
    return [(pair.query, pair.baseline), (pair.query, pair.perturbed)]


def test_a_backbone_without_a_pooler_is_saved_and_opened_without_one(tmp_path):
    folder = save(tmp_path / "backbone-bert")
    path = folder / "model.safetensors"
    kept = {name: weight for name, weight in load_file(path).items() if not name.startswith("pooler.")}
    save_file(kept, path, metadata={"format": "pt"})
    backbone = backbone_of(folder)
    made = TinyCls.of(TinySettings(max_length=24), Ingredients(backbone)).eval()
    saved = save_trained(made, backbone, tmp_path / "saved", {})
    assert not any("pooler" in name for name in load_file(saved / "model.safetensors"))
    np.testing.assert_allclose(load(str(saved)).score(PAIRS), as_ranker(made, backbone).score(PAIRS), atol=1e-6)
