"""What each head of a circuit is for: by what it looks at, not by its name.

A head passes a test if it is among the highest tenth of the heads outside the circuit, or above: for scoring in
the part of CLS's attention that the query gets (and it must reach the logits), for contextualization and matching
in the r of that test, whose interval (where there are queries enough for one) must also lie above those heads'
mean. Of two tests that it passes, the one counts in which it stands out more, in deviations of those other heads.
A head that passes none is `other`. By this rule a tenth of the circuit's heads would pass each test if the circuit
were nothing special.
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
from whyrank.evaluation.correlation import Pearson
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    import numpy as np

#: The part of the heads outside a circuit that a head of it must equal.
TENTH = 0.1
#: Roles that a test of attention alone decides.
BY_TEST = (CONTEXTUALIZATION, MATCHING)
#: The heads of each role.
Roles = Mapping[str, Sequence[Head]]


def assign_roles(circuit: Found, tests: AttentionTests, seed: int = 0) -> dict[str, list[Head]]:
    """The heads of each role."""
    found = tests.correlations(seed)["pooled"]
    heads, mass = tests.heads(), tests.query_mass()
    members = set(circuit.heads)
    others = [i for i, head in enumerate(heads) if head not in members]
    high_mass = _highest_tenth([float(mass[i]) for i in others])
    to_logits = {edge.sender for edge in circuit.edges if edge.is_kept and edge.receivers == (LOGITS,)}
    roles: dict[str, list[Head]] = {name: [] for name in ROLES}
    for i, head in enumerate(heads):
        if head not in members:
            continue
        if str(head) in to_logits and mass[i] > high_mass:
            roles[SCORING].append(head)
        else:
            roles[_by_test(i, others, found)].append(head)
    return roles


def _by_test(i: int, others: Sequence[int], found: Mapping[str, Sequence[Pearson]]) -> str:
    best, distance = OTHER, 0.0
    for name in BY_TEST:
        usual = [found[name][j].r for j in others if math.isfinite(found[name][j].r)]
        if len(usual) < 2 or not found[name][i].r >= _highest_tenth(usual):
            continue
        mean = sum(usual) / len(usual)
        interval = found[name][i].interval
        if interval and not interval.low > mean:
            continue
        spread = math.sqrt(sum((r - mean) ** 2 for r in usual) / (len(usual) - 1))
        away = (found[name][i].r - mean) / spread if spread else math.inf
        if away > distance:
            best, distance = name, away
    return best


def _highest_tenth(values: Sequence[float]) -> float:
    """The value from which on the highest tenth begins; nothing is above that of none."""
    import numpy as np

    return float(np.quantile(values, 1 - TENTH)) if len(values) else -math.inf


def attention_summary(roles: Roles, tests: AttentionTests, seed: int = 0) -> AttentionSummary:
    """Each test's r of every head, and for the heads of the test's role together against all others."""
    heads, mass = tests.heads(), tests.query_mass()
    role_of = {head: name for name, members in roles.items() for head in members}
    found = {
        kind: [
            dict(zip(by_test, map(_estimate, values), strict=True))
            for values in zip(*by_test.values(), strict=True)
        ]
        for kind, by_test in tests.correlations(seed).items()
    }
    return AttentionSummary(
        tuple(
            HeadTests(str(head), role_of.get(head), float(mass[i]), found["pooled"][i], found["within"][i])
            for i, head in enumerate(heads)
        ),
        {str(head): tests.by_idf(head) for head in roles.get(SCORING, [])},
        {name: _role_test(roles.get(name, []), name, tests, seed) for name in TESTS},
    )


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
