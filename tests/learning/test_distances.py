"""The triangle of distances against its equations in plain numpy."""

import numpy as np
import pytest
import torch

from whyrank.learning.models.distances import distance_loss

NAMES = ("query_words", "document_words", "cls", "related")


def made_up(seed=0, pairs=3, width=5):
    random = np.random.default_rng(seed)
    return {name: random.normal(size=(2 * pairs, width)) for name in NAMES}


def cosine(a, b):
    return a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)


def by_hand(parts, kind, literal=False):
    """Pair by pair, as Eq. 18 to 20 mean it; `literal`: each as Eq. 18 is printed, whatever the labels."""
    different = -1 if literal else 1
    pairs, total = len(parts["cls"]) // 2, 0.0
    for better in range(pairs):
        worse = better + pairs
        point = 1 - cosine(parts["query_words"][better], parts["document_words"][better])
        point += 1 + different * cosine(parts["query_words"][worse], parts["document_words"][worse])
        cosines = [cosine(parts[name][better], parts[name][worse]) for name in ("cls", "related")]
        pair = sum(1 + different * one for one in cosines) / 2
        total += {"point": point, "pair": pair, "triangle": point + pair}[kind]
    return total / pairs


def tensors(parts):
    return {name: torch.tensor(part, requires_grad=True) for name, part in parts.items()}


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("kind", ["point", "pair", "triangle"])
def test_the_loss_is_the_mean_over_pairs(kind, literal):
    parts = made_up()
    assert distance_loss(tensors(parts), kind, literal).item() == pytest.approx(by_hand(parts, kind, literal))


def test_without_a_decomposition_a_pair_is_its_cls_vectors():
    parts = made_up()
    del parts["related"]
    expected = np.mean([1 + cosine(parts["cls"][i], parts["cls"][i + 3]) for i in range(3)])
    assert distance_loss(tensors(parts), "pair").item() == pytest.approx(expected)


def test_going_down_pulls_the_query_to_the_better_document_and_the_worse_one_away():
    parts = tensors(made_up())
    optimiser = torch.optim.SGD(parts.values(), lr=0.5)
    for _ in range(200):
        optimiser.zero_grad()
        distance_loss(parts, "triangle").backward()
        optimiser.step()
    cosines = torch.cosine_similarity(parts["query_words"], parts["document_words"])
    assert cosines[:3].min() > 0.9 and cosines[3:].max() < -0.9
    for name in ("cls", "related"):
        assert torch.cosine_similarity(*parts[name].chunk(2)).max() < -0.9


def test_the_printed_distance_does_not_tell_labels_apart():
    parts = tensors(made_up())
    swapped = {name: torch.cat(part.chunk(2)[::-1]) for name, part in parts.items()}
    as_printed = [distance_loss(some, "triangle", literal=True).item() for some in (parts, swapped)]
    assert as_printed[0] == pytest.approx(as_printed[1])
    ours = [distance_loss(some, "triangle").item() for some in (parts, swapped)]
    assert ours[0] != pytest.approx(ours[1])


def test_gradients_are_finite_differences():
    parts = tensors(made_up(pairs=1))
    assert torch.autograd.gradcheck(
        lambda *some: distance_loss(dict(zip(NAMES, some, strict=True)), "triangle"), tuple(parts.values())
    )


def test_a_zero_vector_has_a_finite_gradient():
    parts = {name: torch.zeros(2, 4, requires_grad=True) for name in NAMES}
    distance_loss(parts, "triangle").backward()
    assert all(torch.isfinite(part.grad).all() for part in parts.values())
