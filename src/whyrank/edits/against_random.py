"""An edit against edits of the same size along random directions: their mean, their spread, and what is the edit's
own.

One random direction says little: what it does depends on the draw. What the edit does beyond the mean of many is
an estimate with an interval over queries and directions (`evaluation/crossed.py`), beside it how far the single
directions go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyrank.evaluation.crossed import crossed_mean
from whyrank.evaluation.estimate import Estimate

#: The ends of what is called the middle of the random directions.
MIDDLE = (0.05, 0.95)


@dataclass(frozen=True)
class AgainstRandom:
    """What `drawn` random directions do: the mean, the ends (`least`, `most`) and the middle 90% (`low`, `high`)
    of the directions' means; `edit_less`: the edit less their mean; `as_far`: directions that go at least as far
    as the edit to the side that is meant."""

    drawn: int
    mean: Estimate
    least: float
    low: float
    high: float
    most: float
    edit_less: Estimate
    as_far: int

    @classmethod
    def of(
        cls, edit: np.ndarray, randoms: np.ndarray, queries: Sequence[str], sign: int = 1, seed: int = 0
    ) -> AgainstRandom:
        """From the values of the edit [n] and of the directions [n, R]; `sign`: the side that is meant."""
        means = randoms.mean(axis=0)
        low, high = np.quantile(means, MIDDLE)
        return cls(
            randoms.shape[1], crossed_mean(randoms, queries, seed), float(means.min()), float(low), float(high),
            float(means.max()), crossed_mean(edit[:, None] - randoms, queries, seed),
            int((sign * means >= sign * edit.mean()).sum()),
        )  # fmt: skip

    def text(self, form: str = "+.3f") -> str:
        """`mean of 20 random directions -0.021 [-0.1, 0.05], from -0.21 to +0.11`."""
        ends = " to ".join(f"{end:{form}}" if "%" not in form else f"{end:.1%}" for end in (self.least, self.most))
        return f"the mean of {self.drawn} random directions {self.mean.text(form)}, from {ends}"
