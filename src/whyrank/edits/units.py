"""In what an edit of U_0 is counted: standard deviations of U_0 over whole words, and IDF.

    sd    the standard deviation of U_0 over the whole words of the vocabulary; it needs no collection
    idf   how much less of U_0 a word has on average whose IDF is higher by 1: minus the slope of the regression of
          U_0 on the IDF over the whole words that have one

An edit of 2 sd moves U_0 of every word equally far, wherever it was. The natural range holds the middle 98% of
whole words: beyond it the ranker has seen hardly any word.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

#: The ends of the natural range, as quantiles.
RANGE = (0.01, 0.99)


@dataclass(frozen=True)
class Units:
    """U_0 over `words` whole words: its mean, its standard deviation, how much of it one unit of IDF is, and the
    ends of its natural range (1st and 99th percentile)."""

    words: int
    mean: float
    sd: float
    idf: float
    low: float
    high: float

    @classmethod
    def of(cls, u0: np.ndarray, idf: np.ndarray) -> Units:
        """From U_0 of whole words and their IDF, NaN where a word has none."""
        import numpy as np

        known = np.isfinite(idf)
        slope = float(np.polyfit(idf[known], u0[known], 1)[0]) if known.sum() > 1 else float("nan")
        low, high = np.quantile(u0, RANGE)
        return cls(len(u0), float(u0.mean()), float(u0.std()), -slope, float(low), float(high))

    def in_sd(self, change: float) -> float:
        """A change of U_0 in standard deviations; up (towards rarer words) is positive."""
        return -change / self.sd

    def in_idf(self, change: float) -> float:
        """The same in units of IDF."""
        return -change / self.idf

    def leaves(self, before: float, after: float) -> bool:
        """Whether a change of U_0 goes out of the natural range, or farther out."""
        return (after < self.low and after < before) or (after > self.high and after > before)

    @property
    def reach(self) -> tuple[float, float]:
        """From the mean word, how many standard deviations up and down the natural range goes."""
        return (self.mean - self.low) / self.sd, (self.high - self.mean) / self.sd

    def __str__(self) -> str:
        up, down = self.reach
        return (
            f"One standard deviation of U0 over {self.words} whole words (1sd) is {self.sd:.3g} of U0, or "
            f"{self.sd / self.idf:.3g} of IDF by the regression of U0 on IDF; 98% of these words have a U0 "
            f"between {self.low:.3g} and {self.high:.3g}, {up:.2g}sd up and {down:.2g}sd down of the mean."
        )
