"""LGRe against its equations written as loops over words."""

import pytest
import torch

from tests.learning.graph_models import PAIRS, QUERIES, lgre, literal, state_arrays
from whyrank.learning.models.lgre import LGReSettings

VARIANTS = [{}, {"neighbours": False}, {"specials": False, "steps": 1}, {"masking": "none", "layers": 2}]


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_scores_are_those_of_the_equations(settings):
    model = lgre(**settings)
    batch = model.read(PAIRS)
    with torch.no_grad():
        scores = model(batch)
    for example, states in enumerate(state_arrays(model, batch)):
        expected = literal(model, batch, example).score(states, dgre=False)
        assert float(scores[example]) == pytest.approx(expected, abs=1e-10)


def test_its_graph_is_a_softmax_with_the_relations_of_its_code():
    settings = LGReSettings()
    assert (settings.masking, settings.specials, settings.neighbours) == ("heuristic", True, True)


def test_padding_and_other_examples_do_not_change_a_score():
    model = lgre()
    alone = torch.cat([model(model.read([pair])) for pair in PAIRS])
    torch.testing.assert_close(model(model.read(PAIRS)), alone, rtol=0, atol=1e-10)


def test_it_trains_by_rank_and_distance_and_has_no_critics():
    model = lgre().train()
    output = model.output(model.read(PAIRS))
    losses = model.losses(output, QUERIES)
    assert list(losses) == ["rank", "distance"]
    sum(losses.values()).backward()
    assert all(w.grad is not None for name, w in model.named_parameters() if "pooler" not in name)
    assert model.critics is None
    with pytest.raises(NotImplementedError):
        model.critic_loss(output.detached(), QUERIES)
