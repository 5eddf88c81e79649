"""What each head of a circuit is for: by what it looks at, not by its name.

A head that reaches the logits and whose CLS row reads the query more than the median head outside the circuit does
is a scoring head. Any other is a contextualization or a matching head if the r of that test lies, with its whole
interval, above the mean r of the heads outside the circuit; of two such tests the one counts in which it stands
out more, in deviations of those other heads. A head that passes none is `other`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whyrank.circuits.attention_tests import TESTS, AttentionTests, pearson_json
from whyrank.circuits.circuit import LOGITS, ROLES, Circuit
from whyrank.circuits.head import Head
from whyrank.evaluation.correlation import Pearson
from whyrank.interventions.statistics import finite

if TYPE_CHECKING:
    import numpy as np

#: Roles that a test of attention alone decides.
BY_TEST = ("contextualization", "matching")


def assign_roles(circuit: Circuit, tests: AttentionTests, seed: int = 0) -> dict[str, list[Head]]:
    """The heads of each role."""
    found = tests.correlations(seed)["pooled"]
    heads, mass = tests.heads(), tests.query_mass()
    members = set(circuit.heads)
    others = [i for i, head in enumerate(heads) if head not in members]
    usual_mass = sorted(mass[others])[len(others) // 2] if others else 0.0
    to_logits = {e.sender for step in circuit.steps for e in step.kept() if step.receivers == (LOGITS,)}
    roles: dict[str, list[Head]] = {name: [] for name in ROLES}
    for i, head in enumerate(heads):
        if head not in members:
            continue
        if str(head) in to_logits and mass[i] > usual_mass:
            roles["scoring"].append(head)
        else:
            roles[_by_test(i, others, found)].append(head)
    return roles


def _by_test(i: int, others: Sequence[int], found: Mapping[str, Sequence[Pearson]]) -> str:
    best, distance = "other", 0.0
    for name in BY_TEST:
        usual = [found[name][j].r for j in others if math.isfinite(found[name][j].r)]
        if len(usual) < 2 or not found[name][i].interval.low > sum(usual) / len(usual):
            continue
        mean = sum(usual) / len(usual)
        spread = math.sqrt(sum((r - mean) ** 2 for r in usual) / (len(usual) - 1))
        away = (found[name][i].r - mean) / spread if spread else math.inf
        if away > distance:
            best, distance = name, away
    return best


def roles_json(circuit: Circuit, tests: AttentionTests, seed: int = 0) -> dict[str, Any]:
    """Each test's r of every head, and for the heads of the test's role together against all others."""
    heads, mass = tests.heads(), tests.query_mass()
    told: dict[str, Any] = {
        "heads": [
            {"head": str(head), "role": circuit.role_of(head), "query_mass": float(mass[i])}
            for i, head in enumerate(heads)
        ]
    }
    for kind, found in tests.correlations(seed).items():
        for name, values in found.items():
            for row, value in zip(told["heads"], values, strict=True):
                row.setdefault(kind, {})[name] = pearson_json(value)
    told["by_idf"] = {str(head): tests.by_idf(head) for head in circuit.role("scoring")}
    told["roles"] = {name: _group(circuit.role(name), name, tests, heads, seed) for name in TESTS}
    return told


def _group(members: Sequence[Head], test: str, tests: AttentionTests, heads: Sequence[Head], seed: int) -> Any:
    """The mean r of a role's heads and of all other heads, with the interval of both and of their difference."""
    import numpy as np

    moments = tests.pooled[test]
    points = np.array([one.r for one in moments.correlations(seed=seed)])
    inside = np.array([head in set(members) for head in heads])
    told: dict[str, Any] = {"test": test, "heads": [str(head) for head in members]}
    told["others"] = _mean_r(points[~inside], moments.drawn(seed=seed)[:, ~inside])
    told["role"] = _mean_r(points[inside], moments.drawn(seed=seed)[:, inside]) if inside.any() else None
    told["absolute"] = (
        _mean_r(abs(points[inside]), abs(moments.drawn(seed=seed)[:, inside])) if inside.any() else None
    )
    return told


def _mean_r(points: np.ndarray, drawn: np.ndarray) -> dict[str, float | None]:
    import numpy as np

    low, high = np.nanquantile(np.nanmean(drawn, axis=1), [0.025, 0.975])
    return {"r": finite(float(np.nanmean(points))), "low": finite(float(low)), "high": finite(float(high))}
