"""What each head of a circuit is for: by what it looks at, not by its name.

A head passes a test if it is among the highest tenth of the heads outside the circuit, or above: for scoring in
the part of CLS's attention that the query gets (and it must reach the logits), for contextualization and matching
in the r of that test, whose interval (where there are queries enough for one) must also lie above those heads'
mean. Of two tests that it passes, the one counts in which it stands out more, in deviations of those other heads.
A head that passes none is `other`. How many heads outside the circuit come that far is told beside: by the rule a
tenth, if the circuit were nothing special.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from whyrank.circuits.attention_tests import TESTS, AttentionTests, pearson_json
from whyrank.circuits.circuit import LOGITS, ROLES, Circuit
from whyrank.circuits.head import Head
from whyrank.evaluation.bootstrap import Resampled
from whyrank.evaluation.correlation import Pearson
from whyrank.interventions.statistics import finite

if TYPE_CHECKING:
    import numpy as np

#: The part of the heads outside a circuit that a head of it must equal.
TENTH = 0.1
#: Roles that a test of attention alone decides.
BY_TEST = ("contextualization", "matching")


def assign_roles(circuit: Circuit, tests: AttentionTests, seed: int = 0) -> dict[str, list[Head]]:
    """The heads of each role."""
    found = tests.correlations(seed)["pooled"]
    heads, mass = tests.heads(), tests.query_mass()
    members = set(circuit.heads)
    others = [i for i, head in enumerate(heads) if head not in members]
    high_mass = _highest_tenth([float(mass[i]) for i in others])
    to_logits = {e.sender for step in circuit.steps for e in step.kept() if step.receivers == (LOGITS,)}
    roles: dict[str, list[Head]] = {name: [] for name in ROLES}
    for i, head in enumerate(heads):
        if head not in members:
            continue
        if str(head) in to_logits and mass[i] > high_mass:
            roles["scoring"].append(head)
        else:
            roles[_by_test(i, others, found)].append(head)
    return roles


def _by_test(i: int, others: Sequence[int], found: Mapping[str, Sequence[Pearson]]) -> str:
    best, distance = "other", 0.0
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

    every = tests.pooled[test].resampled(seed=seed)
    inside = np.array([head in set(members) for head in heads])
    told: dict[str, Any] = {"test": test, "heads": [str(head) for head in members]}
    for name, found in (("", every), ("_absolute", every.map(np.abs))):
        sides = [found.columns(some).map(_row_means) if some.any() else None for some in (inside, ~inside)]
        told |= {f"{side}{name}": _json(one, True) for side, one in zip(("role", "others"), sides, strict=True)}
        if all(sides):
            told[f"difference{name}"] = _json(found.map(partial(_difference, inside)))
    return told


def _json(found: Resampled | None, correlation: bool = False) -> dict[str, Any] | None:
    """A mean over heads, and its interval; None of no head."""
    if found is None:
        return None
    return {"r": finite(float(found.value[0])), **found.interval(correlation=correlation).to_json()}


def _difference(inside: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return _row_means(rows[:, inside]) - _row_means(rows[:, ~inside])


def _row_means(rows: np.ndarray) -> np.ndarray:
    """[rows, heads] -> [rows, 1]; NaN of no head that has an r."""
    import numpy as np

    known = np.isfinite(rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (np.where(known, rows, 0.0).sum(axis=1) / known.sum(axis=1))[:, None]
