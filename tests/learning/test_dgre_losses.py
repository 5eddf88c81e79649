"""DGRe's losses together, and that its critics only ever go up."""

from itertools import pairwise

import pytest
import torch

from tests.learning.graph_models import PAIRS, QUERIES, dgre
from whyrank.learning.models.distances import distance_loss
from whyrank.learning.models.information import Club, Critics, InfoNCE, Mine, different

KINDS = ["mine", "infonce", "club"]


def test_the_total_is_the_rank_loss_and_lambda_times_the_others():
    model = dgre(weight=0.5)
    output = model.output(model.read(PAIRS)).detached()
    losses = model.losses(output, QUERIES)
    assert list(losses) == ["rank", "distance", "information"]
    f = torch.sigmoid(output.scores)
    hinge = sum(max(0.0, 1 - float(f[i]) + float(f[i + 2])) for i in range(2)) / 2
    assert float(losses["rank"]) == pytest.approx(hinge)
    assert float(losses["distance"]) == pytest.approx(0.5 * float(distance_loss(output.parts, "triangle")))
    assert float(losses["information"]) == pytest.approx(0.5 * float(model.critics.loss(output.parts, QUERIES)))


def test_what_is_switched_off_is_no_loss():
    model = dgre(distance="none", information="none")
    assert list(model.losses(model.output(model.read(PAIRS)), QUERIES)) == ["rank"]
    assert model.critics is None


@pytest.mark.parametrize("normal", [True, False])
def test_information_is_i_rn_and_i_qn_less_i_qr(normal):
    model = dgre(information="infonce", critic_norm=normal)
    parts = model.output(model.read(PAIRS)).detached().parts
    vectors = {
        name: torch.nn.functional.layer_norm(parts[name], parts[name].shape[1:]) if normal else parts[name]
        for name in ("query", "related", "unrelated")
    }
    apart, estimators = different(QUERIES), model.critics.estimators
    expected = (
        estimators["related_unrelated"](vectors["related"], vectors["unrelated"], apart)
        + estimators["query_unrelated"](vectors["query"], vectors["unrelated"], apart)
        - estimators["query_related"](vectors["query"], vectors["related"], apart)
    )
    assert model.critics.loss(parts, QUERIES).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("kind", KINDS)
def test_the_losses_leave_the_critics_alone(kind):
    model = dgre(information=kind).train()
    before = {name: value.clone() for name, value in model.critics.state_dict().items()}
    output = model.output(model.read(PAIRS))
    model.losses(output, QUERIES)["information"].backward()
    assert all(weight.grad is None for weight in model.critics.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.critics.state_dict().items())
    assert float(model.gated.new_word.weight.grad.abs().sum()) > 0  # it moves the vectors


@pytest.mark.parametrize("kind", KINDS)
def test_the_critics_own_loss_leaves_the_model_alone(kind):
    model = dgre(information=kind).train()
    output = model.output(model.read(PAIRS))
    model.critic_loss(output.detached(), QUERIES).backward()
    of_critics = {id(weight) for weight in model.critics.parameters()}
    assert all((weight.grad is not None) == (id(weight) in of_critics) for weight in model.parameters())
    assert not of_critics & {id(weight) for weight in [*model.fast(), *model.slow()]}


@pytest.mark.parametrize("kind", KINDS)
def test_critics_never_lower_their_bounds(kind):
    """Every estimator's own objective is higher after its steps, also where the encoder wants the bound low."""
    model = dgre(information=kind).train()
    output = model.output(model.read(PAIRS)).detached()
    optimiser = torch.optim.SGD(model.critics.parameters(), lr=1e-3)
    bounds = []
    for _ in range(20):
        bounds.append(_each(model, output))
        optimiser.zero_grad()
        model.critic_loss(output, QUERIES).backward()
        optimiser.step()
    bounds.append(_each(model, output))
    for earlier, later in pairwise(bounds):
        assert all(b >= a - 1e-9 for a, b in zip(earlier, later, strict=True))
    assert all(b > a for a, b in zip(bounds[0], bounds[-1], strict=True))


def _each(model, output):
    """Every estimator's objective, the moving averages at rest."""
    model.critics.eval()
    parts = {name: torch.nn.functional.layer_norm(part, part.shape[1:]) for name, part in output.parts.items()}
    apart, found = different(QUERIES), model.critics.estimators
    with torch.no_grad():
        objectives = [
            float(found["related_unrelated"].objective(parts["related"], parts["unrelated"], apart)),
            float(found["query_unrelated"].objective(parts["query"], parts["unrelated"], apart)),
            float(found["query_related"].objective(parts["query"], parts["related"], apart)),
        ]
    model.critics.train()
    return objectives


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_one_query_says_nothing_of_information(kind):
    model = dgre(information=kind).train()
    output = model.output(model.read(PAIRS))
    losses = model.losses(output, [7, 7, 7, 7])
    assert losses["information"].item() == 0
    sum(losses.values()).backward()
    before = {name: value.clone() for name, value in model.critics.state_dict().items()}
    assert model.critic_loss(output.detached(), [7, 7, 7, 7]) is None
    assert all(torch.equal(value, before[name]) for name, value in model.critics.state_dict().items())


def test_documents_of_one_query_are_never_drawn_apart():
    assert different([3, 5, 3]).tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def test_club_estimates_what_goes_up_from_below():
    kinds = {name: type(one) for name, one in Critics(4, "club").estimators.items()}
    assert kinds == {"related_unrelated": Club, "query_unrelated": Club, "query_related": InfoNCE}
    assert {type(one) for one in Critics(4, "mine").estimators.values()} == {Mine}
    assert {type(one) for one in Critics(4, "infonce").estimators.values()} == {InfoNCE}


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_steps_put_the_better_documents_first(kind):
    torch.manual_seed(0)
    model = dgre(information=kind, dropout=0.0).float()
    learner = torch.optim.Adam([*model.fast(), *model.slow()], lr=3e-3)
    of_critics = torch.optim.Adam(model.critics.parameters(), lr=3e-3)
    batch = model.read([*PAIRS[2:], *PAIRS[:2]])  # as untrained it may have them right already
    first = model.losses(model.output(batch), QUERIES)["rank"].item()
    for _ in range(30):
        output = model.train().output(batch)
        for optimiser, loss in (
            (learner, sum(model.losses(output, QUERIES).values())),
            (of_critics, model.critic_loss(output.detached(), QUERIES)),
        ):
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    better, worse = model.eval()(batch).chunk(2)
    assert (better > worse).all()
    assert model.losses(model.output(batch), QUERIES)["rank"].item() < 0.5 * first
