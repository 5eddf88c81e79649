"""Ordinary least squares on standardised columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyrank.evaluation.bootstrap import resample
from whyrank.evaluation.interval import Interval

#: A column whose deviation is less than this part of its mean is constant but for rounding.
ROUNDING = 1e-12
#: Draws for the intervals of coefficients, each a fit of its own.
DRAWS = 500


@dataclass(frozen=True, eq=False)
class Linear:
    """y = level + sum over j of weights_j (x_j - means_j) / deviations_j.

    Means and deviations are the training part's, so `level` is its mean y. Columns that depend on each other leave
    the solution open: the shortest is taken, and `rank` says how many columns count.
    """

    level: float
    weights: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    rank: int

    @classmethod
    def fit(cls, x: np.ndarray, y: np.ndarray) -> Linear:
        means, deviations = x.mean(axis=0), x.std(axis=0)
        deviations = np.where(deviations > ROUNDING * np.abs(means), deviations, 1.0)
        level = float(y.mean())
        weights, _, rank, _ = np.linalg.lstsq((x - means) / deviations, y - level, rcond=None)
        return cls(level, weights, means, deviations, int(rank))

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.intercept + x @ self.slopes

    @property
    def slopes(self) -> np.ndarray:
        """What a column's own unit adds."""
        return self.weights / self.deviations

    @property
    def intercept(self) -> float:
        """The prediction where all columns are 0."""
        return float(self.level - self.slopes @ self.means)

    def intervals(
        self, x: np.ndarray, y: np.ndarray, clusters: Sequence[str], draws: int = DRAWS, seed: int = 0
    ) -> list[Interval]:
        """95% intervals of the weights: the fit again on whole clusters drawn from the training part.

        A fit needs only sums over clusters of z z^T and z y, so a draw costs one small system.
        """
        z = np.column_stack([(x - self.means) / self.deviations, np.ones(len(x))])
        names, numbers = np.unique(np.asarray(clusters), return_inverse=True)
        each = [np.flatnonzero(numbers == number) for number in range(len(names))]
        squares = np.stack([z[rows].T @ z[rows] for rows in each])
        products = np.stack([z[rows].T @ y[rows] for rows in each])

        def again(weights: np.ndarray) -> np.ndarray:
            fits = [_solve(np.tensordot(times, squares, axes=1), times @ products) for times in weights]
            return np.stack(fits)[:, :-1]

        return resample(again, len(names), draws=draws, seed=seed).intervals()


def _solve(squares: np.ndarray, products: np.ndarray) -> np.ndarray:
    return np.linalg.pinv(squares, rcond=1e-10, hermitian=True) @ products
