"""From what trainings found to a table: folds pooled, seeds averaged, paired tests, Holm over the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whyrank.learning.material import Values
from whyrank.learning.results import Training
from whyrank.learning.summary import by_seed
from whyrank.learning.tables import differences, table_row
from whyrank.papers.disentangled.variants import BM25, Row

#: Variant -> the values of each seed; the first stage has one.
Found = Mapping[str, Sequence[Values]]


def pooled(training: Training) -> list[Values]:
    """For each seed of a training the values of all folds together: every query is tested once."""
    found = by_seed(training.models)
    return [found[seed] for seed in sorted(found)]


def found_by(trainings: Mapping[str, Training], first: Values) -> dict[str, list[Values]]:
    """All trainings of a study by variant, and the first stage's values, on the same queries."""
    return {BM25: [first], **{name: pooled(one) for name, one in trainings.items()}}


def table(
    name: str,
    rows: Iterable[Row],
    pairs: Sequence[tuple[str, str]],
    found: Found,
    measures: Sequence[str],
    seed: int = 0,
) -> dict[str, Any]:
    """A table's rows, each a mean over queries with its interval (the seeds of a query averaged first, drawn
    together), and the paired t-tests of `pairs` of rows, Holm-corrected over the whole table. A row whose training
    could not be finished is `lacking`."""
    every = list(rows)
    known = [(label, variant) for label, variant in every if variant in found]
    values = {label: found[variant] for label, variant in known}
    told = [
        {**table_row(label, measure, values[label], seed), "variant": variant, "seeds": len(values[label])}
        for label, variant in known
        for measure in measures
    ]
    tested = [(one, other) for one, other in pairs if one in values and other in values]
    return {
        "rows": told, "differences": differences(name, tested, values, measures, seed),
        "lacking": [{"name": label, "variant": variant} for label, variant in every if variant not in found],
    }  # fmt: skip


def only(found: Found, qids: Iterable[str]) -> dict[str, list[Values]]:
    """The same on some of the queries."""
    kept = set(qids)
    return {
        name: [
            {measure: {qid: value for qid, value in one.items() if qid in kept} for measure, one in values.items()}
            for values in seeds
        ]
        for name, seeds in found.items()
    }
