"""The term-frequency paper's TAS-B is on the hub only: a random DistilBERT of its exact shape stands in for it.

6 layers x 12 heads, d 768, 30,522 word pieces, 512 positions; CLS pooling, dot product.
"""

import pytest
import torch
import transformers

from tests.checkpoints import tokenizer
from tests.interventions.test_activation import with_hooks
from tests.tiny import hugging_face_arguments
from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.activation import Activation
from whyrank.interventions.opened import OpenedPair
from whyrank.rankers.load import load

SHAPE = {"n_layers": 6, "n_heads": 12, "dim": 768, "hidden_dim": 3072, "vocab_size": 30522}
BODY = "the dog sat on the mat in a red house"
PAIR = MinimalPair("1", "people in berlin", f"{BODY} a", f"{BODY} berlin", term="berlin")


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(**SHAPE, max_position_embeddings=512, initializer_range=0.05)
    folder = tmp_path_factory.mktemp("tas-b")
    transformers.DistilBertModel(config).save_pretrained(folder)
    tokenizer("distilbert").save_pretrained(folder)
    return load(str(folder), kind="bi-encoder", pooling="cls", normalise=False)


def module_of(ranker):
    return ranker.encoder.anatomy.module


def test_its_encoder_has_the_papers_heads(ranker):
    assert (ranker.encoder.layers, ranker.encoder.heads, ranker.encoder.width) == (6, 12, 768)
    assert ranker.encoder.max_length == 512


def test_the_longest_padded_batch_gives_what_hugging_face_gives(ranker):
    ids = torch.randint(5, 30522, (2, 512), generator=torch.Generator().manual_seed(1))
    mask = torch.arange(512) < torch.tensor([[512], [300]])
    inputs = Inputs(ids, torch.zeros_like(ids), mask)
    with torch.no_grad():
        theirs = module_of(ranker)(**hugging_face_arguments("distilbert", inputs)).last_hidden_state
        ours = ranker.encoder.run(inputs).hidden
    torch.testing.assert_close(ours[mask], theirs[mask], atol=1e-5, rtol=0)


@pytest.mark.parametrize("direction", ["denoise", "noise"])
def test_every_head_patched_equals_plain_hooks(ranker, direction):
    opened = OpenedPair.of(ranker, PAIR)
    patches = [SiteSet((Site("z", layer, head),)) for layer in range(6) for head in range(12)]
    ours = Activation(direction).scores(opened, patches)
    target, source = (run.inputs for run in opened.runs(direction))
    for patch, score in zip(patches, ours, strict=True):
        states = with_hooks(module_of(ranker), "distilbert", target, source, patch)
        with torch.no_grad():
            theirs = opened.read_out(states[:, :1], target)
        torch.testing.assert_close(score, theirs[0], atol=1e-5, rtol=1e-5)
    assert ours.std() > 1e-2, "the heads of a random model differ"
