"""Eq. 2 of the paper: one alpha per head, shared by what it matches and by that times IDF.

    y = b + a F + sum over k of alpha_k (beta X_k + gamma Z_k)

with F = sum over tokens of f, X_k = sum of MS_k and Z_k = sum of f MS_k. So the slopes of X and of Z are one
vector times beta and gamma: K + 3 free numbers, not the 1 + 2 K slopes and b of the free fit. It is linear in each
of (a, alpha) and (a, beta, gamma) when the other is held: these are solved in turn, and no turn raises the loss.
Several starts, since the whole is not convex; (beta, gamma) has length 1 and beta is not negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whyrank.circuits.semantic_bm.regression import ROUNDING, Linear

#: Directions of (beta, gamma) to start from, on half a circle.
STARTS = 12
#: Turns at most; and the part of the loss below which a turn gains nothing.
TURNS, GAIN = 2000, 1e-13


@dataclass(frozen=True, eq=False)
class Bilinear:
    """The fit in the columns' own units; `losses` are mean squared errors of the training part, after each turn of
    the best start, and `free` that of the fit without the constraint."""

    intercept: float
    u0: float
    alphas: np.ndarray
    match: float
    interaction: float
    losses: tuple[float, ...]
    free: float

    @classmethod
    def fit(cls, x: np.ndarray, y: np.ndarray) -> Bilinear:
        """`x` has the columns F, X_1 .. X_K, Z_1 .. Z_K."""
        problem = _Problem.of(x, y)
        a, alphas, (match, interaction), losses = min(
            (problem.solve(math.pi * i / STARTS) for i in range(STARTS)), key=lambda one: one[3][-1]
        )
        slopes = np.concatenate([[a], match * alphas, interaction * alphas])
        intercept = float(y.mean() - x.mean(axis=0) @ slopes)
        return cls(intercept, a, alphas, match, interaction, losses, problem.free)

    @property
    def slopes(self) -> np.ndarray:
        return np.concatenate([[self.u0], self.match * self.alphas, self.interaction * self.alphas])

    def linear(self, x: np.ndarray, y: np.ndarray) -> Linear:
        """The same as a fit with standardised columns; its rank counts what was free."""
        means, deviations = x.mean(axis=0), x.std(axis=0)
        deviations = np.where(deviations > ROUNDING * np.abs(means), deviations, 1.0)
        return Linear(float(y.mean()), self.slopes * deviations, means, deviations, 2 + len(self.alphas))


def fit_bilinear(x: np.ndarray, y: np.ndarray) -> Linear:
    """Eq. 2 as a linear model of all columns."""
    return Bilinear.fit(x, y).linear(x, y)


@dataclass(frozen=True, eq=False)
class _Problem:
    """The centred columns as a triangle R with Q^T y: least squares in it are those of all n rows. Every head has
    a unit of its own (`units`: of F and of each head), and Z one more: what is solved for is of one size."""

    triangle: np.ndarray
    target: np.ndarray
    rest: float
    units: np.ndarray
    products: float
    n: int

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> _Problem:
        centred, deviations = x - x.mean(axis=0), x.std(axis=0)
        k = (x.shape[1] - 1) // 2
        heads = np.where(deviations[1 : 1 + k] > 0, deviations[1 : 1 + k], 1.0)
        ratios = deviations[1 + k :] / heads
        products = float(np.median(ratios[ratios > 0])) if (ratios > 0).any() else 1.0
        units = np.concatenate([[deviations[0] or 1.0], heads, products * heads])
        centred_y = y - y.mean()
        q, triangle = np.linalg.qr(centred / units)
        target = q.T @ centred_y
        rest = float(centred_y @ centred_y - target @ target)
        return cls(triangle, target, max(rest, 0.0), units[: 1 + k], products, len(x))

    @property
    def free(self) -> float:
        """The mean squared error of all slopes free."""
        found = np.linalg.lstsq(self.triangle, self.target, rcond=None)[0]
        return self._loss(self.triangle @ found)

    def solve(self, angle: float) -> tuple[float, np.ndarray, tuple[float, float], tuple[float, ...]]:
        """Turns from one start: a, alphas, (beta, gamma) in the columns' own units, and the loss after each."""
        r, k = self.triangle, len(self.units) - 1
        f, matching, products = r[:, :1], r[:, 1 : 1 + k], r[:, 1 + k :]
        pair, losses = np.array([math.cos(angle), math.sin(angle)]), []
        for _ in range(TURNS):
            found = _least(np.column_stack([f, pair[0] * matching + pair[1] * products]), self.target)
            alphas = found[1:]
            inner = np.column_stack([f, matching @ alphas, products @ alphas])
            a, *both = _least(inner, self.target)
            if not np.any(both):
                both = [1.0, 0.0]
            pair = np.array(both)
            losses.append(self._loss(inner @ np.array([a, *both])))
            if len(losses) > 1 and losses[-2] - losses[-1] <= GAIN * losses[0]:
                break
        return self._own_units(float(a), alphas, pair, tuple(losses))

    def _own_units(
        self, a: float, alphas: np.ndarray, pair: np.ndarray, losses: tuple[float, ...]
    ) -> tuple[float, np.ndarray, tuple[float, float], tuple[float, ...]]:
        match, interaction = float(pair[0]), float(pair[1]) / self.products
        size = math.copysign(math.hypot(match, interaction) or 1.0, match)
        return float(a / self.units[0]), alphas / self.units[1:] * size, (match / size, interaction / size), losses

    def _loss(self, fitted: np.ndarray) -> float:
        left = self.target - fitted
        return float(left @ left + self.rest) / self.n


def _least(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(x, y, rcond=None)[0]
