"""What each head is for: by what it looks at, not by its name. All heads of the model are tested, whether they are
in a circuit or not, and a head may have several roles.

    scoring            sends to the logits directly (a kept edge of step 0, for which all heads were tried), and
                       CLS's attention to query tokens follows their IDF, either way: r is not 0
    contextualization  query-to-query attention follows IDF: r is in the highest tenth of all heads, and surely
                       above the usual head's
    matching           query-to-document attention follows the cosine of the embeddings: the same of that r

'Surely': Student's t of d = atanh r (less the median over all heads, for the last two) over G queries, by the
jackknife, both around the value and by pseudo-values, whichever is nearer 0; with 2/3 (G - 1) degrees of freedom,
since queries differ in size, and Holm's correction over all heads of the model in each test. Simulated, some head
of 144 that are all alike passes in 0 to 4% of runs (tests/circuits/test_roles.py). With fewer than 6 queries the
highest tenth is all that is asked, for scoring an |r| above the usual head's, and no head counts as tested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from whyrank.circuits.attention_tests import AttentionTests
from whyrank.circuits.head import Head
from whyrank.circuits.results import (
    CONTEXTUALIZATION,
    LOGITS,
    MATCHING,
    OTHER,
    ROLES,
    SCORING,
    TESTS,
    AttentionSummary,
    Found,
    HeadTests,
    RoleTest,
)
from whyrank.evaluation.bootstrap import SURE
from whyrank.evaluation.correlation import Pearson
from whyrank.evaluation.estimate import Estimate, finite, is_significant
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.evaluation.significance import holm

if TYPE_CHECKING:
    import numpy as np

    from whyrank.evaluation.bootstrap import Resampled

#: The part of all heads that counts as high in a test.
TENTH = 0.1
#: The part of G - 1 degrees of freedom that queries of unequal size leave.
FREEDOM = 2 / 3
#: Roles that stand out against the usual head; scoring has its paths to the logits for that.
AGAINST_USUAL = (CONTEXTUALIZATION, MATCHING)
#: The heads of each role.
Roles = Mapping[str, Sequence[Head]]


class RolesOfHeads:
    """The roles that all heads of a model pass, and the p-values that say so."""

    def __init__(self, found: Found, tests: AttentionTests) -> None:
        self.heads = tests.heads()
        self.to_logits = {
            Head.parse(edge.sender) for edge in found.edges if edge.is_kept and edge.receivers == (LOGITS,)
        }
        self.r: dict[str, np.ndarray] = {}
        self.p: dict[str, list[float]] = {}
        for name in TESTS:
            moments = tests.pooled[name].left_out()
            self.r[name] = moments.value
            self.p[name] = holm(p_values(moments, against_usual=name in AGAINST_USUAL))

    def of(self, head: Head) -> tuple[str, ...]:
        """The roles of a head, by what it passes."""
        place = self.heads.index(head)
        return tuple(name for name in TESTS if self._passes(name, place, head))

    def _passes(self, name: str, place: int, head: Head) -> bool:
        import numpy as np

        p, r = self.p[name][place], float(self.r[name][place])
        if name == SCORING:
            sure = abs(r) > self._quantile(np.abs(self.r[name]), 0.5) if math.isnan(p) else is_significant(p)
            return head in self.to_logits and bool(sure)
        is_high = r > 0 and r >= self._quantile(self.r[name], 1 - TENTH)
        return bool(is_high) and (math.isnan(p) or is_significant(p))

    def _quantile(self, values: np.ndarray, part: float) -> float:
        """Of the heads that have a value; nothing is above that of none."""
        import numpy as np

        known = values[np.isfinite(values)]
        return float(np.quantile(known, part)) if len(known) else math.inf

    def in_circuit(self, members: Sequence[Head]) -> dict[str, list[Head]]:
        """The heads of a circuit by role; `other` are those that pass no test."""
        passed = {head: self.of(head) or (OTHER,) for head in members}
        return {role: [head for head in members if role in passed[head]] for role in ROLES}


def p_values(moments: Resampled, *, against_usual: bool) -> list[float]:
    """p of each r [heads]: one-sided that it is above the median of all heads, or two-sided that it is not 0; NaN
    below 6 queries, and where r is not defined."""
    import numpy as np
    from scipy.special import stdtr

    count = len(moments.left_out)
    if count < FEWEST_QUERIES:
        return [math.nan] * len(moments.value)
    with np.errstate(invalid="ignore", divide="ignore"):
        value, without = (np.arctanh(np.clip(one, -SURE, SURE)) for one in (moments.value, moments.left_out))
        known = np.isfinite(value) & np.isfinite(without).all(axis=0)
        if against_usual and known.any():
            value = value - np.median(value[known])
            without = without - np.median(without[:, known], axis=1, keepdims=True)
        around = value / np.sqrt((count - 1) / count * ((without - value) ** 2).sum(axis=0))
        pseudo = count * value - (count - 1) * without
        by_pseudo = pseudo.mean(axis=0) / (pseudo.std(axis=0, ddof=1) / math.sqrt(count))
        t = np.where(np.abs(around) < np.abs(by_pseudo), around, by_pseudo)
    freedom = FREEDOM * (count - 1)
    p = stdtr(freedom, -t) if against_usual else 2 * stdtr(freedom, -np.abs(t))
    return [float(one) if math.isfinite(one) else math.nan for one in p]


def attention_summary(
    roles: Roles, passed: RolesOfHeads, found: Found, tests: AttentionTests, seed: int = 0
) -> AttentionSummary:
    """Each test's r of every head, and for the heads of the circuit with the test's role together against all
    other heads of the model."""
    heads, mass, inside = tests.heads(), tests.query_mass(), set(found.heads)
    shares = next((step.shares for step in found.steps if step.number == 0), {})
    rs = {
        kind: [
            dict(zip(by_test, map(_estimate, values), strict=True))
            for values in zip(*by_test.values(), strict=True)
        ]
        for kind, by_test in tests.correlations(seed).items()
    }
    return AttentionSummary(
        tuple(
            HeadTests(
                str(head), passed.of(head), head in inside, float(mass[i]), rs["pooled"][i], rs["within"][i],
                {name: finite(passed.p[name][i]) for name in TESTS}, shares.get(str(head)),
                head in passed.to_logits,
            )
            for i, head in enumerate(heads)
        ),
        {str(head): tests.by_idf(head) for head in roles.get(SCORING, [])},
        {name: _role_test(roles.get(name, []), name, tests, seed) for name in TESTS},
    )  # fmt: skip


def _estimate(found: Pearson) -> Estimate:
    return Estimate.of(*found)


def _role_test(members: Sequence[Head], test: str, tests: AttentionTests, seed: int) -> RoleTest:
    """The mean r of a role's heads and of all other heads, with the interval of both and of their difference; the
    same of |r|."""
    import numpy as np

    moments = tests.pooled[test]
    every, inside = moments.resampled(seed=seed), np.array([head in set(members) for head in tests.heads()])
    size = (moments.observations, int(every.clusters.max(initial=0)))
    found: dict[str, Estimate] = {}
    for name, values in (("", every), ("_absolute", every.map(np.abs))):
        sides = [values.columns(some).map(_row_means) if some.any() else None for some in (inside, ~inside)]
        for side, one in zip(("role", "others"), sides, strict=True):
            if one is not None:
                found[side + name] = Estimate.of(float(one.value[0]), one.interval(correlation=True), *size)
        if all(sides):
            difference = values.map(partial(_difference, inside))
            found[f"difference{name}"] = Estimate.of(float(difference.value[0]), difference.interval(), *size)
    return RoleTest(test, tuple(map(str, members)), **found)


def _difference(inside: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return _row_means(rows[:, inside]) - _row_means(rows[:, ~inside])


def _row_means(rows: np.ndarray) -> np.ndarray:
    """[rows, heads] -> [rows, 1]; NaN of no head that has an r."""
    import numpy as np

    known = np.isfinite(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.where(known, rows, 0.0).sum(axis=1) / known.sum(axis=1))[:, None]
