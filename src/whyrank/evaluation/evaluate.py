"""Several runs measured on the same judgements and compared with the first of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from whyrank.collections import Qrels
from whyrank.core.atomic import whole_file, write_json
from whyrank.core.errors import UserError
from whyrank.evaluation.estimate import p_over_queries
from whyrank.evaluation.measures import AnyRun, mean, per_query, unjudged
from whyrank.evaluation.significance import holm, randomisation_test

if TYPE_CHECKING:
    import pandas as pd

#: What is measured unless something else is asked for.
MEASURES = ("nDCG@10", "AP", "RR@10")


class Row(NamedTuple):
    """The value of a measure for a query of a run."""

    run: str
    qid: str
    measure: str
    value: float


class Comparison(NamedTuple):
    """A run against the baseline: the mean difference, and p-values, raw and Holm-corrected over the table; NaN
    where there are fewer than 6 queries."""

    run: str
    baseline: str
    measure: str
    difference: float
    t_p: float
    t_p_holm: float
    randomisation_p: float
    randomisation_p_holm: float


@dataclass(frozen=True)
class Evaluation:
    """The result of `evaluate`: means by run and measure, the rows they come from, and the comparisons.

    `unjudged` counts, for each run, the queries that were left out because no judgement is for them.
    """

    means: dict[str, dict[str, float]]
    per_query: list[Row]
    comparisons: list[Comparison]
    queries: int
    unjudged: dict[str, int]
    seed: int

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a data frame: run, qid, measure, value."""
        import pandas as pd

        return pd.DataFrame(self.per_query, columns=list(Row._fields))

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists; a p-value that is not defined is null."""
        return {
            "queries": self.queries,
            "unjudged": self.unjudged,
            "means": self.means,
            "per_query": self._by_query(),
            "comparisons": [
                {field: _plain(value) for field, value in row._asdict().items()} for row in self.comparisons
            ],
            "seed": self.seed,
        }

    def _by_query(self) -> dict[str, dict[str, dict[str, float]]]:
        """Values by run, measure and query."""
        table: dict[str, dict[str, dict[str, float]]] = {}
        for run, qid, measure, value in self.per_query:
            table.setdefault(run, {}).setdefault(measure, {})[qid] = value
        return table

    def write(self, folder: Path | str) -> list[Path]:
        """Writes evaluation.json and the rows as per_query.parquet, each whole or not at all; gives the paths."""
        summary, rows = Path(folder, "evaluation.json"), Path(folder, "per_query.parquet")
        write_json(summary, self.to_json())
        with whole_file(rows) as partial:
            self.to_pandas().to_parquet(partial, index=False)
        return [summary, rows]


def evaluate(
    runs: Mapping[str, AnyRun], qrels: Qrels, measures: Sequence[str] = MEASURES, *, seed: int = 0
) -> Evaluation:
    """Measures each run and compares each with the first, the baseline.

    All runs are measured on all judged queries (see `measures` for what counts as 0), so every comparison is
    over the same pairs. Holm's correction takes in all runs and measures of the table, for each test apart.
    """
    if not runs or not measures:
        raise UserError("nothing to evaluate", todo="give at least one run and one measure")
    values = {name: per_query(run, qrels, measures) for name, run in runs.items()}
    return Evaluation(
        means={name: mean(rows) for name, rows in values.items()},
        per_query=[Row(name, *row) for name, rows in values.items() for row in rows],
        comparisons=_compare({name: _columns(rows) for name, rows in values.items()}, seed),
        queries=len(qrels),
        unjudged={name: len(unjudged(run, qrels)) for name, run in runs.items()},
        seed=seed,
    )


def _columns(rows: Sequence[tuple[str, str, float]]) -> dict[str, list[float]]:
    """Each measure's values, in the order of the queries."""
    columns: dict[str, list[float]] = {}
    for _, measure, value in rows:
        columns.setdefault(measure, []).append(value)
    return columns


def _compare(columns: dict[str, dict[str, list[float]]], seed: int) -> list[Comparison]:
    baseline, *others = columns
    keys = [(run, measure) for run in others for measure in columns[run]]
    pairs = [(columns[run][measure], columns[baseline][measure]) for run, measure in keys]
    gaps = [[x - y for x, y in zip(a, b, strict=True)] for a, b in pairs]
    t = [p_over_queries(one) for one in gaps]
    drawn = [p_over_queries(one, randomisation_test, seed=seed) for one in gaps]
    t_holm, drawn_holm = holm(t), holm(drawn)
    return [
        Comparison(run, baseline, measure, fmean(gaps[i]), t[i], t_holm[i], drawn[i], drawn_holm[i])
        for i, (run, measure) in enumerate(keys)
    ]


def _plain(value: str | float) -> str | float | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value
