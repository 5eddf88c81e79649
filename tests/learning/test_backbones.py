"""What models stand on: every architecture that can be opened, and the real checkpoints by their short names."""

import pytest
import torch

from tests.learning.baselines import built, check_batch_mates, check_round_trip
from tests.tiny import ARCHITECTURES
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.plan import backbone_checkpoint

ON_CHUNKS = {
    "dgre": {"max_length": 20, "chunks": 3},
    "lgre": {"max_length": 20, "chunks": 3},
    "bert-maxp": {"max_length": 20, "passage": 6, "stride": 3, "chunks": 3},
    "parade": {"max_length": 20, "passage": 6, "overlap": 2, "chunks": 3},
}
PAIRS = [
    ("how many people live in berlin", "berlin has 3.5 million inhabitants, most of them in the east"),
    ("cat", "the cat sat on the mat " * 12),
]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", ON_CHUNKS)
def test_models_stand_on_any_architecture(tmp_path, name, architecture):
    network = built(name, tmp_path, architecture, **ON_CHUNKS[name])
    check_batch_mates(network)
    check_round_trip(network, tmp_path, architecture)


@pytest.mark.parametrize(
    ("name", "layers"), [("bi-minilm-l3", 3), ("bi-minilm-l6", 6), ("bi-bge-small", 12), ("ce-minilm-l12", 12)]
)
def test_the_real_ones_have_the_states_of_their_own_module_and_of_the_ranker(real, name, layers):
    ranker, backbone = real(name), Backbone.of(backbone_checkpoint(name)).eval()
    assert backbone.layers == layers
    inputs = Chunker(backbone.pieces, 64, 2).of(PAIRS).inputs
    with torch.no_grad():
        states, opened = backbone(inputs), backbone.opened_states(inputs)
        of_ranker = ranker.encoder.run(inputs).hidden
    assert len(states) == len(opened) == backbone.layers + 1
    real_tokens = inputs.attention_mask.bool()
    for own, ours in zip(states, opened, strict=True):
        torch.testing.assert_close(ours[real_tokens], own[real_tokens], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(states[-1][real_tokens], of_ranker[real_tokens], rtol=1e-4, atol=1e-4)
