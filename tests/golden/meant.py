"""Every difference from the frozen results that is meant, and why."""

from typing import NamedTuple


class Meant(NamedTuple):
    """Cases and differences by `fnmatch` patterns of their names and lines."""

    case: str
    what: str
    why: str


#: Per-query values stood in evaluation.json and in per_query.parquet.
ONCE = "the values per query are in per_query.parquet alone"
MEANT = [
    Meant("eval", "evaluation.json: per_query.*", ONCE),
    Meant("eval", "name q*", ONCE),
]
