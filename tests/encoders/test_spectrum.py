"""Singular vectors against numpy's own SVD."""

import numpy as np
import pytest
import torch

from whyrank.encoders.spectrum import Spectrum


@pytest.fixture
def matrix():
    generator = torch.Generator().manual_seed(3)
    return torch.randn(60, 7, generator=generator) * torch.tensor([9, 5, 3, 2, 1, 0.5, 0.1]) + 0.4


def same_up_to_sign(ours, theirs):
    return max(min(np.abs(a - b).max(), np.abs(a + b).max()) for a, b in zip(ours, theirs, strict=True))


def test_it_is_the_svd(matrix):
    u, s, vt = np.linalg.svd(matrix.double().numpy(), full_matrices=False)
    ours = Spectrum.of(matrix)
    np.testing.assert_allclose(ours.values, s, rtol=1e-10)
    assert same_up_to_sign(ours.left.T.numpy(), u.T) < 1e-9
    assert same_up_to_sign(ours.right.numpy(), vt) < 1e-9
    np.testing.assert_allclose((ours.left * ours.values) @ ours.right, matrix.double(), atol=1e-10)


def test_the_first_few_are_the_first_of_all(matrix):
    few, all_of_them = Spectrum.of(matrix, 3), Spectrum.of(matrix)
    assert few.left.shape == (60, 3) and few.right.shape == (3, 7)
    torch.testing.assert_close(few.left, all_of_them.left[:, :3])
    assert Spectrum.of(matrix, 100).left.shape == (60, 7)


def test_orientation_makes_every_correlation_negative_and_changes_nothing_else(matrix):
    generator = np.random.default_rng(0)
    rarity = generator.normal(size=60)
    rarity[::4] = np.nan
    known = np.isfinite(rarity)
    plain = Spectrum.of(matrix)
    turned = plain.oriented(torch.from_numpy(rarity))
    flipped = 0
    for i in range(7):
        r = np.corrcoef(turned.left[known, i].numpy(), rarity[known])[0, 1]
        assert r < 0
        flipped += bool((turned.left[:, i] == -plain.left[:, i]).all())
    assert 0 < flipped < 7, "some signs must need turning, or this shows nothing"
    np.testing.assert_allclose((turned.left * turned.values) @ turned.right, matrix.double(), atol=1e-10)
    again = plain.oriented(torch.from_numpy(-rarity))
    torch.testing.assert_close(again.left, -turned.left)


def test_rarity_of_fewer_tokens_than_rows_is_that_of_the_first(matrix):
    rarity = torch.linspace(0, 1, 40).double()
    padded = torch.cat([rarity, torch.full((20,), torch.nan)])
    spectrum = Spectrum.of(matrix, 2)
    torch.testing.assert_close(spectrum.oriented(rarity).left, spectrum.oriented(padded).left)


def test_a_row_moved_along_the_direction_moves_u0_by_as_much(matrix):
    spectrum = Spectrum.of(matrix)
    moved = matrix.double().clone()
    moved[5] += 0.37 * spectrum.direction
    before, after = (w.double() @ spectrum.right[0] / spectrum.values[0] for w in (matrix, moved))
    assert float(after[5] - before[5]) == pytest.approx(0.37, abs=1e-12)
    others = (w.double() @ spectrum.right[1:].T for w in (matrix, moved))
    torch.testing.assert_close(*others)


def test_directions_that_the_matrix_does_not_have_are_empty():
    columns = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    matrix = torch.cat([columns, columns @ torch.tensor([[1.0, 0.0], [1.0, 2.0]])], dim=1)  # rank 2
    spectrum = Spectrum.of(matrix)
    assert torch.isfinite(spectrum.left).all() and spectrum.left.abs().max() < 1.0001
    np.testing.assert_allclose((spectrum.left * spectrum.values) @ spectrum.right, matrix.double(), atol=1e-7)


def test_the_matrix_is_left_as_it_is(matrix):
    weight = torch.nn.Parameter(matrix.clone())
    spectrum = Spectrum.of(weight)
    assert not spectrum.left.requires_grad and torch.equal(weight.data, matrix)
