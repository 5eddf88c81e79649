"""Which senders are strong enough to belong to a circuit.

Three cut-offs on |share of the gap|, of which the highest holds: a part of the largest share (`relative`, 0.3 by
default), a quantile of all shares, and an absolute share of the gap, below which nothing is followed whatever the
largest is. 'Top 30% of causal importance' in the paper may be any of these.

The interval decides: a sender above the cut-off is kept when its interval excludes 0, and is borderline when
not. `sure` is stricter: it must be above the cut-off in 97.5% of the bootstrap's draws, in each of which the
cut-off is taken anew; `point` asks for nothing more than the cut-off. With fewer than 6 queries there is no
interval, and the cut-off is all that decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from whyrank.core.errors import UserError
from whyrank.evaluation.bootstrap import Resampled
from whyrank.evaluation.interval import SMALL_SAMPLE

if TYPE_CHECKING:
    import numpy as np

KEPT, BORDERLINE, LEFT = "kept", "borderline", "left"
#: The part of the draws that must agree.
SURE = 0.975
DECIDERS = ("interval", "sure", "point")


@dataclass(frozen=True)
class Threshold:
    """Cut-offs on |share|; None: not used."""

    relative: float | None = 0.3
    quantile: float | None = None
    share: float | None = 0.01
    decide: str = "interval"

    def __post_init__(self) -> None:
        for name in ("relative", "quantile", "share"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise UserError(f"a threshold {name}={value:g}", todo="give a number from 0 to 1")
        if self.decide not in DECIDERS:
            raise UserError(f"cannot decide by '{self.decide}'", todo=f"choose {' or '.join(DECIDERS)}")

    @classmethod
    def parse(cls, text: str, decide: str = "interval") -> Threshold:
        """`relative=0.3,share=0.01`, `quantile=0.95`: what is not named is not used."""
        known = [field.name for field in fields(cls) if field.name != "decide"]
        values: dict[str, float | None] = dict.fromkeys(known)
        for part in text.split(","):
            name, _, number = part.strip().partition("=")
            try:
                values[name] = float(number)
            except ValueError:
                raise UserError(f"'{part}' is not a threshold", todo="write relative=0.3,share=0.01") from None
            if name not in known:
                raise UserError(f"no threshold is called '{name}'", todo=f"there are {', '.join(known)}")
        return cls(**values, decide=decide)

    def __str__(self) -> str:
        used = {"relative": self.relative, "quantile": self.quantile, "share": self.share}
        return ",".join(f"{name}={value:g}" for name, value in used.items() if value is not None)

    def cutoff(self, shares: np.ndarray) -> np.ndarray:
        """The least |share| that counts, for one map [sites] or each of several [draws, sites]."""
        import numpy as np

        sizes = np.abs(np.nan_to_num(shares))
        found = [np.zeros(sizes.shape[:-1])]
        if self.relative is not None:
            found.append(self.relative * sizes.max(axis=-1))
        if self.quantile is not None:
            found.append(np.quantile(sizes, self.quantile, axis=-1))
        if self.share is not None:
            found.append(np.full(sizes.shape[:-1], self.share))
        return np.max(found, axis=0)

    def decisions(self, found: Resampled, heads: np.ndarray) -> tuple[list[str], np.ndarray, float]:
        """For each site kept, borderline or left; the part of the draws in which it is above the cut-off, with the
        sign that it has on all pairs (NaN without draws); and the cut-off, which is taken from the sites marked as
        `heads` only (the embeddings send nearly everything)."""
        import numpy as np

        shares, drawn = found.value, found.drawn
        if not heads.any():
            heads = np.ones(len(shares), dtype=bool)
        cutoff = float(self.cutoff(shares[heads]))
        above = np.isfinite(shares) & (np.abs(np.nan_to_num(shares)) >= cutoff) & (shares != 0)
        if not len(drawn):
            return [KEPT if one else LEFT for one in above], np.full(len(shares), math.nan), cutoff
        same = np.sign(drawn) == np.sign(shares)
        support = ((np.abs(np.nan_to_num(drawn)) >= self.cutoff(drawn[:, heads])[:, None]) & same).mean(axis=0)
        agreeing = {"point": np.ones(len(shares)), "interval": same.mean(axis=0), "sure": support}[self.decide]
        sure = above & (agreeing >= SURE)
        if self.decide != "point":  # of few queries the draws alone are too sure
            wide = np.array([interval.leaves_out_zero for interval in found.intervals()])
            sure &= wide | (found.clusters > SMALL_SAMPLE)
        words = np.where(sure, KEPT, np.where(above, BORDERLINE, LEFT))
        return [str(word) for word in words], support, cutoff
