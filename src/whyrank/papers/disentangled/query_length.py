"""Table 6: short queries and long ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low
from typing import Any, NamedTuple

from whyrank.learning.material import Values
from whyrank.learning.tables import differences, table_row
from whyrank.papers.disentangled.tables import Found, only
from whyrank.papers.disentangled.variants import comparisons, rows_of
from whyrank.text.words import words

#: The paper's cut, and how many queries either group must have for it.
PAPERS_CUT, ENOUGH = 3, 40


class LengthGroups(NamedTuple):
    """Queries of at most `cut` words, and of more; `rule` says why the cut is there."""

    cut: int
    rule: str
    short: tuple[str, ...]
    long: tuple[str, ...]

    def named(self) -> dict[str, tuple[str, ...]]:
        return {f"at most {self.cut} words": self.short, f"more than {self.cut} words": self.long}


def length_groups(queries: Mapping[str, str]) -> LengthGroups | None:
    """At 3 words, as the paper, where both groups then have 40 queries; else at the median, or below it where no
    query is longer. None where all queries are of one length."""
    lengths = {qid: len(words(text)) for qid, text in queries.items()}
    distinct = sorted(set(lengths.values()))
    if len(distinct) < 2:
        return None
    papers = _cut_at(lengths, PAPERS_CUT, "3 words, as in the paper")
    if min(len(papers.short), len(papers.long)) >= ENOUGH:
        return papers
    middle = median_low(list(lengths.values()))
    cut = middle if middle < distinct[-1] else distinct[-2]
    place = "the median" if cut == middle else "below the median, as no query is longer than that"
    if cut == PAPERS_CUT:
        return papers._replace(rule=f"{place}, and 3 words, as in the paper")
    sizes = f"{len(papers.short)} and {len(papers.long)}"
    return _cut_at(lengths, cut, f"{place}; at 3 words, as in the paper, there would be {sizes} queries")


def _cut_at(lengths: Mapping[str, int], cut: int, rule: str) -> LengthGroups:
    short = tuple(qid for qid, length in lengths.items() if length <= cut)
    return LengthGroups(cut, rule, short, tuple(qid for qid in lengths if lengths[qid] > cut))


def length_table(
    queries: Mapping[str, str], found: Found, measures: Sequence[str], seed: int = 0, first: str = "BM25"
) -> dict[str, Any] | None:
    """The rows and tests of both groups, Holm-corrected over both; None where there are no two groups."""
    groups = length_groups(queries)
    if groups is None:
        return None
    known = [(label, variant) for label, variant in rows_of("table6", first=first) if variant in found]
    labels = {label for label, _ in known}
    rows, values, pairs = [], {}, []
    for group, qids in groups.named().items():
        some = only(found, qids)
        for label, variant in known:
            values[f"{label}, {group}"] = some[variant]
            rows += _rows(label, group, some[variant], measures, seed)
        pairs += [
            (f"{a}, {group}", f"{b}, {group}") for a, b in comparisons("table6", first=first) if {a, b} <= labels
        ]
    told = differences("table6", pairs, values, measures, seed)
    return {"cut": groups.cut, "rule": groups.rule, "rows": rows, "differences": told}


def _rows(
    label: str, group: str, seeds: Sequence[Values], measures: Sequence[str], seed: int
) -> list[dict[str, Any]]:
    return [
        {**table_row(label, measure, seeds, seed), "group": group, "seeds": len(seeds)} for measure in measures
    ]
