"""Which effects are large enough to belong to a circuit, and which of these the other half of the queries
confirms.

Of each candidate (a head, or a sender to some receivers) and set of pairs: m = mean effect on the score per pair,
with the sign of the set's gap, so that a positive m goes with it. On the *selection* half of the queries

    usual(set)    = 1.4826 median over candidates |m|
    cut-off(set)  = max(c usual,  share |mean whole|)
    standing      = min over sets |m| / usual, 0 where the sets' signs differ
    chosen        = m has one sign, and |m| >= cut-off, in every set that decides

The median says what a head does that does nothing in particular (noise included): the weaker half sets the scale.
c is by default where one of n normal effects of that scale would be by chance, Phi^-1(1 - 1 / (2 n)): 2.70 for 144
heads. `whole` is what there is to have a share of: the gap, or what the receivers carry of it. A set whose gap, or
whole, may be 0 decides nothing, nor does one with fewer than 6 queries on a side where another has them.

On the *confirmation* half each chosen candidate is tested in each deciding set: Student's t of its share of the
whole (the ratio of sums, not the mean effect, which is unsure wherever the gap differs much between queries), with
the jackknife's error over Q queries and 2/3 (Q - 1) degrees of freedom, since queries differ in size; one-sided in
the direction chosen. Every set must reject, so the largest p counts (intersection-union), and Holm's correction is
over all that were chosen.

    kept           confirmed, and there, too, at least the cut-off in every set
    borderline     confirmed to go this way, but below the cut-off there
    not confirmed  the other half does not show it
    untested       fewer than 6 queries on a side in every set: chosen on all of them, and confirmed by none

tests/circuits/test_criterion.py simulates how often a candidate that does nothing is confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from whyrank.circuits.query_sums import QuerySums
from whyrank.circuits.threshold import BORDERLINE, KEPT
from whyrank.core.errors import UserError
from whyrank.evaluation.estimate import is_significant
from whyrank.evaluation.interval import FEWEST_QUERIES, TOO_FEW
from whyrank.evaluation.significance import holm

if TYPE_CHECKING:
    import numpy as np

UNCONFIRMED, UNTESTED = "not confirmed", "untested"
#: The part of Q - 1 degrees of freedom that queries of unequal size leave.
FREEDOM = 2 / 3
#: An error below this part of the share is rounding.
ALIKE = 1e-9
#: A normal's deviation by its median absolute value.
SPREAD = 1.4826
Sums = Mapping[str, QuerySums]


@dataclass(frozen=True)
class Criterion:
    """The cut-off: in usual effects (None: by the number of candidates), and as a share of the whole: of the gap
    for a head, of what the receivers carry for an edge."""

    deviations: float | None = None
    share: float = 0.01
    edge: float = 0.05

    def __post_init__(self) -> None:
        if self.deviations is not None and not self.deviations >= 0:
            raise UserError(f"a threshold deviations={self.deviations:g}", todo="give 0 or more; 2.7 is usual")
        for name in ("share", "edge"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"a threshold {name}={getattr(self, name):g}", todo="give a number from 0 to 1")

    @classmethod
    def parse(cls, text: str) -> Criterion:
        """`share=0.01,edge=0.05`, `deviations=2.7`; what is not named is as by default."""
        values: dict[str, float] = {}
        for part in text.split(","):
            name, _, number = part.strip().partition("=")
            try:
                values[name] = float(number)
            except ValueError:
                raise UserError(f"'{part}' is not a threshold", todo="write share=0.01,edge=0.05") from None
            if name not in ("deviations", "share", "edge"):
                todo = "there are deviations, share, edge; relative and quantile belong to select 'gap'"
                raise UserError(f"no threshold is called '{name}'", todo=todo)
        return cls(**values)

    def __str__(self) -> str:
        first = [] if self.deviations is None else [f"deviations={self.deviations:g}"]
        return ",".join([*first, f"share={self.share:g}", f"edge={self.edge:g}"])

    def of_edges(self) -> Criterion:
        """The same, with the share that an edge must have."""
        return replace(self, share=self.edge)

    def least(self, candidates: int) -> float:
        """c for so many candidates."""
        from scipy.special import ndtri

        return float(ndtri(1 - 1 / (2 * max(candidates, 2)))) if self.deviations is None else self.deviations

    def choose(self, sets: Sums, usual: np.ndarray, tested: bool = True) -> Choice:
        """The candidates that pass on the selection half. `usual` marks those that the scale is taken from (the
        embeddings send nearly everything); without `tested` a set decides if it has a gap at all."""
        import numpy as np

        refused = {name: _why_not(one, tested) for name, one in sets.items()}
        deciding = tuple(name for name, why in refused.items() if why is None)
        means = {name: one.direction * one.effect.sum(axis=0) / one.pairs.sum() for name, one in sets.items()}
        scales = {name: SPREAD * float(np.median(np.abs(some[usual]))) for name, some in means.items()}
        c = self.least(int(usual.sum()))
        wholes = {name: abs(float(one.whole.sum() / one.pairs.sum())) for name, one in sets.items()}
        cutoffs = {name: max(c * scales[name], self.share * wholes[name]) for name in sets}
        sign, standing = np.zeros(len(usual)), np.zeros(len(usual))
        if deciding:
            signs = np.stack([np.sign(means[name]) for name in deciding])
            one_sign = np.where((signs == signs[0]).all(axis=0), signs[0], 0.0)
            above = np.stack([np.abs(means[name]) >= cutoffs[name] for name in deciding]).all(axis=0)
            sign = np.where(above, one_sign, 0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                heights = np.stack([np.abs(means[name]) / scales[name] for name in deciding])
            standing = np.where(one_sign != 0, np.nan_to_num(heights, posinf=np.inf).min(axis=0), 0.0)
        directions = {name: one.direction for name, one in sets.items()}
        return Choice(deciding, refused, cutoffs, scales, directions, sign, standing)


@dataclass(frozen=True, eq=False)
class Choice:
    """What the selection half says: which sets decide (and why others do not), the cut-offs and the usual effects
    in units of the score, and for each candidate the sign with which it was chosen (0: it was not) and how far it
    stands out [n]."""

    deciding: tuple[str, ...]
    refused: Mapping[str, str | None]
    cutoffs: Mapping[str, float]
    scales: Mapping[str, float]
    directions: Mapping[str, float]
    sign: np.ndarray
    standing: np.ndarray

    @property
    def chosen(self) -> np.ndarray:
        """The numbers of the candidates chosen, the most outstanding first."""
        import numpy as np

        found = np.flatnonzero(self.sign)
        return found[np.argsort(-self.standing[found], kind="stable")]

    def untested(self) -> list[Confirmation]:
        """What is known of the chosen where there are too few queries to confirm any."""
        return [Confirmation(int(i), UNTESTED, None, None, {}) for i in self.chosen]

    def confirmed(self, sets: Sums) -> list[Confirmation]:
        """The verdict of the confirmation half, whose sums have the chosen candidates only, in their order."""
        import numpy as np

        chosen = self.chosen
        by_set = {
            name: one_sided(self.sign[chosen] * self.directions[name] * sets[name].effect, sets[name].whole)
            for name in self.deciding
        }
        largest = np.max(list(by_set.values()), axis=0) if by_set else np.ones(len(chosen))
        corrected = holm(largest.tolist())
        found = []
        for place, number in enumerate(chosen):
            p_values = {name: float(p[place]) for name, p in by_set.items()}
            status = self._status(int(number), place, corrected[place], sets)
            found.append(Confirmation(int(number), status, float(largest[place]), corrected[place], p_values))
        return found

    def _status(self, number: int, place: int, p_holm: float, sets: Sums) -> str:
        if not is_significant(p_holm):
            return UNCONFIRMED
        there = (
            self.sign[number] * self.directions[name] * sets[name].effect[:, place].sum() / sets[name].pairs.sum()
            >= self.cutoffs[name]
            for name in self.deciding
        )
        return KEPT if all(there) else BORDERLINE


class Confirmation(NamedTuple):
    """One chosen candidate: p in each deciding set, the largest of them, and that corrected."""

    number: int
    status: str
    p: float | None
    p_holm: float | None
    by_set: dict[str, float]


def one_sided(effect: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """p that each column of effects [Q, n] goes with its sign, up, as a share of the whole [Q]; of shares that are
    the same without any query, that of the queries' signs alone."""
    import numpy as np
    from scipy.special import stdtr

    count, above, below = len(effect), effect.sum(axis=0), whole.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        share, without = above / below, (above - effect) / (below - whole)[:, None]
        error = np.sqrt((count - 1) / count * ((without - share) ** 2).sum(axis=0))
        t = np.sign(above) * np.abs(share / error)
        p = stdtr(FREEDOM * (count - 1), -t)
    alike = error <= ALIKE * np.abs(share)
    signs = np.where(above > 0, 2.0**-count, 1.0)
    return np.where(alike, signs, np.where(np.isfinite(t), p, 1.0))


def _why_not(one: QuerySums, tested: bool) -> str | None:
    """Why a set decides nothing; None for one that does."""
    if tested and one.queries < FEWEST_QUERIES:
        return TOO_FEW
    for what, sums in (("gap", one.gap), ("whole", one.whole)):
        there = one.mean(sums).is_sure if tested else one.is_there(sums)
        if not there:
            return f"its {what} may be 0" if tested else f"it has no {what}"
    return None
