"""Paired tests of two rankings over the same queries, and the correction for making many of them.

The t-test and the randomisation test are the two that Smucker, Allan and Carterette (CIKM 2007) find fit for
information retrieval; they should agree, and it is worth a look when they do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whyrank.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np

#: How many signs are drawn at a time, so that memory does not grow with queries x permutations.
CHUNK = 1_000_000
#: Sums that differ by less than this part of their size are equal but for rounding.
ROUNDING = 1e-12


class Significance(NamedTuple):
    """A test's statistic and its two-sided p-value; p is NaN where the test is not defined, as with a NaN among
    the values."""

    statistic: float
    p: float


def paired_t_test(a: Sequence[float], b: Sequence[float]) -> Significance:
    """Student's t of the differences a - b: t = mean / (s / sqrt(n)), n - 1 degrees of freedom.

    Without any difference p is 1; a single pair has no p. Differences that are all the same have no spread to
    divide by: p is that of the signs alone, 2 / 2^n, and not 0.
    """
    from scipy.special import stdtr

    differences = _differences(a, b)
    n, total = len(differences), float(differences.sum())
    if n < 2:
        return Significance(math.nan, math.nan)
    spread = float(differences.std(ddof=1)) / math.sqrt(n)
    if spread <= ROUNDING * abs(total / n):
        alike = math.copysign(math.inf, total)
        return Significance(alike, 2.0 ** (1 - n)) if total else Significance(0.0, 1.0)
    t = total / n / spread
    return Significance(t, float(2 * stdtr(n - 1, -abs(t))))


def randomisation_test(a: Sequence[float], b: Sequence[float], n: int = 10_000, seed: int = 0) -> Significance:
    """Fisher's randomisation test: how often random signs give a mean difference as large as the one seen.

    With k pairs whose 2^k signs are no more than `n` all of them are tried and p is exact. Otherwise `n` are
    drawn, and p = (as large + 1) / (n + 1), which is never 0 and keeps the test's level.
    """
    import numpy as np

    if n < 1:
        raise UserError(f"{n} permutations", todo="ask for 1 or more; 10000 is usual")
    differences = _differences(a, b)
    seen = abs(float(differences.sum()))
    if not math.isfinite(seen):
        return Significance(math.nan, math.nan)
    least = seen - ROUNDING * float(np.abs(differences).sum())
    exact = len(differences) < 60 and 2 ** len(differences) <= n
    signs = _all_signs(len(differences)) if exact else _drawn_signs(len(differences), n, seed)
    as_large = sum(int((np.abs(chunk @ differences) >= least).sum()) for chunk in signs)
    p = as_large / 2 ** len(differences) if exact else (as_large + 1) / (n + 1)
    return Significance(float(differences.mean()), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the i-th smallest of m times m - i + 1, made monotone, at most 1.

    Holds the chance of any false finding among the m whatever their dependence. NaN stays NaN and is not
    counted.
    """
    order = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    adjusted, highest = list(p_values), 0.0
    for step, (p, i) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - step)))
        adjusted[i] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's step-up correction: the i-th smallest of m times m / i, made monotone, at most 1.

    Holds the share of false findings among those found. NaN stays NaN and is not counted.
    """
    order = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    adjusted, lowest = list(p_values), 1.0
    for step in range(len(order), 0, -1):
        p, i = order[step - 1]
        lowest = min(lowest, p * len(order) / step)
        adjusted[i] = lowest
    return adjusted


def _differences(a: Sequence[float], b: Sequence[float]) -> np.ndarray:
    import numpy as np

    if len(a) != len(b) or not len(a):
        raise UserError(f"a paired test of {len(a)} and {len(b)} values", todo="give one of each for every query")
    return np.asarray(a, dtype=float) - np.asarray(b, dtype=float)


def _all_signs(pairs: int) -> Iterator[np.ndarray]:
    """All 2^pairs rows of signs."""
    import numpy as np

    bits = (np.arange(2**pairs)[:, None] >> np.arange(pairs)) & 1
    yield 1.0 - 2.0 * bits


def _drawn_signs(pairs: int, n: int, seed: int) -> Iterator[np.ndarray]:
    """`n` rows of random signs, in chunks."""
    import numpy as np

    generator = np.random.default_rng(seed)
    step = max(1, CHUNK // pairs)
    for start in range(0, n, step):
        bits = generator.integers(0, 2, size=(min(step, n - start), pairs), dtype=np.int8)
        yield 1.0 - 2.0 * bits
