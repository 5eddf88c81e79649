"""From what trainings found to a table: folds pooled, seeds averaged, paired tests, Holm over the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low
from typing import NamedTuple

from whyrank.learning.material import Values
from whyrank.learning.results import Training
from whyrank.learning.summary import by_seed
from whyrank.learning.tables import compare
from whyrank.papers.disentangled.paper import PAPERS_CUT
from whyrank.papers.disentangled.results import LackingRow, LengthTable, Row, Table
from whyrank.papers.disentangled.variants import BM25, Label, comparisons, rows_of
from whyrank.text.words import words

#: How many queries each group of Table 6 must have for the paper's cut.
ENOUGH = 40
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
    rows: Iterable[Label],
    pairs: Sequence[tuple[str, str]],
    found: Found,
    measures: Sequence[str],
    seed: int = 0,
) -> Table:
    """A table's rows, each a mean over queries with its interval (the seeds of a query averaged first, drawn
    together), and the paired t-tests of `pairs` of rows, Holm-corrected over the whole table."""
    every = list(rows)
    known = [(label, variant) for label, variant in every if variant in found]
    values = {label: found[variant] for label, variant in known}
    means = [Row.of_variant(label, measure, found[label[1]], seed) for label in known for measure in measures]
    compared = [(one, other) for one, other in pairs if one in values and other in values]
    lacking = [LackingRow(label, variant) for label, variant in every if variant not in found]
    return Table(tuple(means), compare(name, compared, values, measures, seed), tuple(lacking))


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
) -> LengthTable | None:
    """Table 6, Holm-corrected over both groups; None where there are no two groups."""
    groups = length_groups(queries)
    if groups is None:
        return None
    known = [(label, variant) for label, variant in rows_of("table6", first=first) if variant in found]
    labels = {label for label, _ in known}
    asked = [(a, b) for a, b in comparisons("table6", first=first) if {a, b} <= labels]
    rows, values, pairs = [], {}, []
    for group, qids in groups.named().items():
        some = only(found, qids)
        for label, variant in known:
            values[f"{label}, {group}"] = some[variant]
            rows += [Row.of_variant((label, variant), measure, some[variant], seed, group) for measure in measures]
        pairs += [(f"{a}, {group}", f"{b}, {group}") for a, b in asked]
    tested = compare("table6", pairs, values, measures, seed)
    return LengthTable(tuple(rows), tested, cut=groups.cut, rule=groups.rule)
