"""Which curve describes a few points: logarithm, square root or line, two parameters each.

    log: y = a ln k + b      sqrt: y = a sqrt(k) + b      linear: y = a k + b

Fitted by least squares; compared by R2 and by AICc = n ln(RSS / n) + 2p + 2p(p + 1) / (n - p - 1), where p = 3
counts the two parameters and the variance (Burnham & Anderson 2002). With n <= 4 points AICc is not defined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CURVES = ("log", "sqrt", "linear")
PARAMETERS = 3


@dataclass(frozen=True)
class Fit:
    """One curve's parameters and how well it fits; None where not defined."""

    curve: str
    a: float
    b: float
    r2: float | None
    aicc: float | None

    def at(self, k: float) -> float:
        """The curve's value."""
        return self.a * _shape(self.curve, k) + self.b


def fit_curves(ks: Sequence[float], values: Sequence[float]) -> list[Fit]:
    """All three fits, the best by AICc (by R2 where that is not defined) first."""
    fits = [_fit(curve, ks, values) for curve in CURVES]
    return sorted(
        fits,
        key=lambda fit: (math.inf if fit.aicc is None else fit.aicc, -(fit.r2 if fit.r2 is not None else 0.0)),
    )


def _fit(curve: str, ks: Sequence[float], values: Sequence[float]) -> Fit:
    n = len(ks)
    x = [_shape(curve, k) for k in ks]
    mean_x, mean_y = math.fsum(x) / n, math.fsum(values) / n
    spread = math.fsum((one - mean_x) ** 2 for one in x)
    a = (
        math.fsum((one - mean_x) * (y - mean_y) for one, y in zip(x, values, strict=True)) / spread
        if spread
        else 0.0
    )
    b = mean_y - a * mean_x
    rest = math.fsum((y - a * one - b) ** 2 for one, y in zip(x, values, strict=True))
    total = math.fsum((y - mean_y) ** 2 for y in values)
    return Fit(curve, a, b, 1 - rest / total if total and not math.isnan(total) else None, _aicc(rest, n))


def _aicc(rest: float, n: int) -> float | None:
    if n - PARAMETERS - 1 <= 0 or math.isnan(rest):
        return None
    penalty = 2 * PARAMETERS + 2 * PARAMETERS * (PARAMETERS + 1) / (n - PARAMETERS - 1)
    return (n * math.log(rest / n) if rest > 0 else -math.inf) + penalty


def _shape(curve: str, k: float) -> float:
    return {"log": math.log, "sqrt": math.sqrt, "linear": float}[curve](k)
