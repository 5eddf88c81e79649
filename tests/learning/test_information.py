"""Estimators of mutual information against normal variables, whose information is known, and against numpy."""

import math

import numpy as np
import pytest
import torch

from whyrank.learning.models.information import Club, InfoNCE, Mine

RHO = 0.8
TRUE = -0.5 * math.log(1 - RHO**2)


def normals(count, seed):
    """Pairs of standard normal numbers with correlation RHO."""
    generator = torch.Generator().manual_seed(seed)
    x, noise = torch.randn(2, count, 1, generator=generator)
    return x, RHO * x + math.sqrt(1 - RHO**2) * noise


def others(count):
    return ~torch.eye(count, dtype=torch.bool)


def trained(estimator, steps=400, batch=64):
    optimiser = torch.optim.Adam(estimator.parameters(), lr=5e-3)
    for step in range(steps):
        optimiser.zero_grad()
        (-estimator.objective(*normals(batch, seed=step), others(batch))).backward()
        optimiser.step()
    return estimator.eval()


def estimate(estimator, batches=10, size=256):
    with torch.no_grad():
        found = [float(estimator(*normals(size, seed=10_000 + i), others(size))) for i in range(batches)]
    return sum(found) / batches


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("kind", [Mine, InfoNCE])
def test_a_lower_bound_rises_to_the_information_of_normals(kind):
    estimator = kind(1, 32)
    before = estimate(estimator)
    after = estimate(trained(estimator))
    assert before < 0.1
    assert TRUE - 0.1 < after < TRUE + 0.03


def test_clubs_bound_comes_down_upon_the_information_of_normals():
    """Of the true conditional distribution it is rho^2 / (1 - rho^2), which lies above the information."""
    found = estimate(trained(Club(1, 32)))
    assert found > TRUE
    assert found == pytest.approx(RHO**2 / (1 - RHO**2), rel=0.25)


@pytest.mark.parametrize("kind", [Mine, InfoNCE, Club])
def test_independent_numbers_have_none(kind):
    estimator = kind(1, 32)
    optimiser = torch.optim.Adam(estimator.parameters(), lr=5e-3)
    for step in range(200):
        x, y = normals(64, seed=step)[0], normals(64, seed=step + 5000)[0]
        optimiser.zero_grad()
        (-estimator.objective(x, y, others(64))).backward()
        optimiser.step()
    with torch.no_grad():
        found = [float(estimator(normals(256, i)[0], normals(256, i + 900)[0], others(256))) for i in range(10)]
    assert abs(sum(found) / 10) < 0.05


def made_up(size=5, width=3):
    torch.manual_seed(1)
    x, y = torch.randn(2, size, width, dtype=torch.float64)
    queries = torch.tensor([0, 1, 2, 0, 1])
    return x, y, queries[:, None] != queries[None]


def values_of(critic, x, y):
    """T by loops."""
    weights = {name: weight.detach().numpy() for name, weight in critic.named_parameters()}
    T = np.empty((len(x), len(y)))
    for i, one in enumerate(x.numpy()):
        for j, other in enumerate(y.numpy()):
            hidden = weights["left.weight"] @ one + weights["left.bias"] + weights["right.weight"] @ other
            T[i, j] = weights["value.weight"][0] @ np.maximum(hidden, 0) + weights["value.bias"][0]
    return critic.clip * np.tanh(T / critic.clip)


def test_mine_is_the_bound_of_donsker_and_varadhan_over_pairs_of_different_queries():
    mine, (x, y, apart) = Mine(3, 8).double(), made_up()
    T = values_of(mine.critic, x, y)
    marginal = [math.exp(T[i, j]) for i in range(5) for j in range(5) if i % 3 != j % 3]
    assert len(marginal) == int(apart.sum()) == 25 - 5 - 4
    assert mine(x, y, apart).item() == pytest.approx(np.diag(T).mean() - math.log(np.mean(marginal)))


def test_infonce_compares_each_pair_with_those_of_different_queries():
    infonce, (x, y, apart) = InfoNCE(3, 8).double(), made_up()
    T = values_of(infonce.critic, x, y)
    each = []
    for i in range(5):
        compared = [math.exp(T[i, j]) for j in range(5) if j == i or i % 3 != j % 3]
        each.append(T[i, i] - math.log(sum(compared) / len(compared)))
    assert infonce(x, y, apart).item() == pytest.approx(np.mean(each))
    assert infonce(x, y, apart).item() < math.log(5)


def test_club_is_the_difference_of_likelihoods():
    club, (x, y, apart) = Club(3, 8).double(), made_up()
    with torch.no_grad():
        likelihood = [
            [
                float(torch.distributions.Normal(club.mean(a), (club.spread(a) / 2).exp()).log_prob(b).sum())
                for b in y
            ]
            for a in x
        ]
    marginal = [likelihood[i][j] for i in range(5) for j in range(5) if apart[i, j]]
    assert club(x, y, apart).item() == pytest.approx(np.trace(likelihood) / 5 - np.mean(marginal))
    assert club.objective(x, y, apart).item() == pytest.approx(np.trace(likelihood) / 5)


def test_mines_gradient_is_divided_by_the_moving_average():
    mine, (x, y, apart) = Mine(3, 8, rate=0.25).double().train(), made_up()
    mine.objective(x, y, apart)
    first = float(mine.average)
    T = values_of(mine.critic, x, y)
    assert first == pytest.approx(np.exp(T)[apart.numpy()].mean())  # starts at what it first sees
    mine.objective(x + 1, y - 1, apart)
    second = float(mine.average)
    assert second == pytest.approx(
        0.75 * first + 0.25 * np.exp(values_of(mine.critic, x + 1, y - 1))[apart].mean()
    )
    moving = x.clone().requires_grad_()
    mine(moving, y, apart).backward()
    assert float(mine.average) == second  # the estimate does not move it
    expected = x.clone().requires_grad_()
    values = mine.critic(expected, y)
    (values.diagonal().mean() - values[apart].exp().mean() / second).backward()
    torch.testing.assert_close(moving.grad, expected.grad)


def test_mines_average_rests_while_evaluating():
    mine, (x, y, apart) = Mine(3, 8).double().eval(), made_up()
    mine.objective(x, y, apart)
    assert float(mine.average) == 0


@pytest.mark.parametrize("kind", [Mine, InfoNCE, Club])
def test_gradients_are_finite_differences(kind):
    """Mine's before its average has moved, where it is the bound's own."""
    estimator, (x, y, apart) = kind(3, 8).double(), made_up()
    inputs = (x.requires_grad_(), y.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, y: estimator(x, y, apart), inputs)


def test_a_critics_value_stays_within_its_clip():
    mine = Mine(3, 8, clip=2.0)
    x = 1e4 * torch.randn(6, 3)
    assert mine.critic(x, x).abs().max() <= 2
