"""Kernel pooling against loops, and its gradient, written by hand, against finite differences."""

import math

import torch

from whyrank.learning.models.kernels import KERNELS, LOG_FLOOR, kernel_sums, soft_frequencies


def literal_kernel_sums(row, kernels=KERNELS):
    """sum_j exp(-(M_ij - mu)^2 / (2 sigma^2)) for each kernel."""
    return [sum(math.exp(-((m - mu) ** 2) / (2 * sigma**2)) for m in row) for mu, sigma in kernels]


def test_the_kernels_are_the_papers():
    assert [mu for mu, _ in KERNELS] == [-0.9, -0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]
    assert [sigma for _, sigma in KERNELS] == [0.1] * 10 + [0.001]


def test_sums_are_over_the_counted_columns_only():
    similarity = torch.rand(2, 3, 5, generator=torch.Generator().manual_seed(0)) * 2 - 1
    similarity[0, 0, 0] = 1.0
    counted = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]]).bool()
    expected = [
        [literal_kernel_sums([m for m, c in zip(row, use, strict=True) if c]) for row in rows]
        for rows, use in zip(similarity.tolist(), counted.tolist(), strict=True)
    ]
    torch.testing.assert_close(kernel_sums(similarity, counted), torch.tensor(expected), rtol=1e-4, atol=1e-6)
    assert float(kernel_sums(similarity, counted)[0, 0, -1]) >= 1


def test_the_gradient_is_that_of_finite_differences():
    near = torch.tensor([[[0.31, -0.88, 1.0005, 0.9993], [0.02, 0.55, -0.4, 0.99995]]], dtype=torch.float64)
    counted = torch.tensor([[True, True, True, False]])
    assert torch.autograd.gradcheck(lambda m: kernel_sums(m, counted), near.requires_grad_(), eps=1e-7, rtol=1e-4)


def test_the_gradient_is_autograds():
    generator = torch.Generator().manual_seed(1)
    similarity = (torch.rand(2, 4, 6, generator=generator, dtype=torch.float64) * 2 - 1).requires_grad_()
    counted = torch.rand(2, 6, generator=generator) > 0.4
    mu, sigma = (torch.tensor(column, dtype=torch.float64) for column in zip(*KERNELS, strict=True))
    plain = torch.exp(-((similarity[..., None] - mu) ** 2) / (2 * sigma**2)) * counted[:, None, :, None]
    weights = torch.randn(2, 4, 11, generator=generator, dtype=torch.float64)
    (expected,) = torch.autograd.grad((plain.sum(dim=2) * weights).sum(), similarity)
    (found,) = torch.autograd.grad((kernel_sums(similarity, counted) * weights).sum(), similarity)
    torch.testing.assert_close(found, expected)


def test_soft_frequencies_add_the_logarithms_of_the_querys_units():
    sums = torch.tensor([[[1.0, 2.0], [0.5, 0.0], [7.0, 7.0]]])
    query = torch.tensor([[True, True, False]])
    expected = [math.log(1) + math.log(0.5), math.log(2) + math.log(LOG_FLOOR)]
    torch.testing.assert_close(soft_frequencies(sums, query)[0].tolist(), expected, rtol=1e-6, atol=1e-6)
    scaled = soft_frequencies(sums, query, 0.01)[0].tolist()
    torch.testing.assert_close(scaled, [0.01 * value for value in expected], rtol=1e-6, atol=1e-6)


def test_a_query_without_units_has_frequencies_of_zero():
    assert soft_frequencies(torch.zeros(1, 2, 11), torch.zeros(1, 2, dtype=torch.bool)).abs().sum() == 0
