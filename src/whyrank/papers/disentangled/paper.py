"""The numbers of 'Disentangled Graph Recurrent Network for Document Ranking', and its findings beside ours.

The paper's collections are others, so its numbers cannot be reproduced here: only which of two models is better is
compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import p_text, significance_text
from whyrank.pages.findings import Finding
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    from whyrank.learning.tables import Difference
    from whyrank.papers.disentangled.results import Disentangled, LengthTable, Table

#: P@20 and nDCG@20.
Both = tuple[float, float]
MEASURES = ("P@20", "nDCG@20")
#: The measure whose order is compared.
ORDERED = "nDCG@20"
#: Queries of so many words are short in the paper's Table 6, longer ones long.
PAPERS_CUT = 3
#: Rows of Table 2 that are not models: the candidates in random order, and in the order of their grades.
NO_MODELS = ("random order", "best possible")

ROBUST04: dict[str, Both] = {
    "BM25": (0.3123, 0.4140), "DRMM": (0.2892, 0.3040), "Conv-KNRM": (0.3408, 0.3871), "BERT": (0.4042, 0.4541),
    "BERT-MaxP": (0.4277, 0.4931), "CEDR-KNRM": (0.4667, 0.5381), "PARADE": (0.4604, 0.5399),
    "LGRe": (0.4790, 0.5463), "DGRe": (0.4817, 0.5530),
}  # fmt: skip
WEB_TRACK: dict[str, Both] = {
    "BM25": (0.2805, 0.1772), "DRMM": (0.3077, 0.2015), "Conv-KNRM": (0.3155, 0.2130), "BERT": (0.3253, 0.2540),
    "BERT-MaxP": (0.3373, 0.2613), "CEDR-KNRM": (0.3481, 0.2653), "LGRe": (0.3589, 0.2725),
    "DGRe": (0.3612, 0.2784),
}  # fmt: skip
#: All ablations are of Robust04.
PAPER: dict[str, dict[str, dict[str, Both]]] = {
    "table2": {"Robust04": ROBUST04, "WebTrack09-12": WEB_TRACK},
    "table3": {
        "Robust04": {"none": (0.4710, 0.5359), "heuristic": (0.4764, 0.5447), "adaptive": (0.4780, 0.5464)}
    },
    "table4": {
        "Robust04": {
            "none": (0.4780, 0.5464), "point": (0.4785, 0.5477), "pair": (0.4789, 0.5486),
            "triangle": (0.4811, 0.5498),
        }
    },
    "table5": {"Robust04": {"none": (0.4811, 0.5498), "MINE": (0.4817, 0.5530)}},
    "layers": {},
    "table6": {
        "at most 3 words": {"BM25": (0.3857, 0.4689), "BERT": (0.3935, 0.4729), "DGRe": (0.4372, 0.5124)},
        "more than 3 words": {"BM25": (0.4250, 0.4851), "BERT": (0.4291, 0.4876), "DGRe": (0.4483, 0.4990)},
    },
}  # fmt: skip
TITLES = {
    "table2": "Table 2: all models", "table3": "Table 3: masking", "table4": "Table 4: distances",
    "table5": "Table 5: mutual information", "table6": "Table 6: query length",
    "layers": "How many layers are refined",
}  # fmt: skip
#: Names of an ablation's rows where several tables are listed together.
KINDS = {"table3": "masking", "table4": "distance", "table5": "information", "layers": "DGRe,"}


def papers_number(part: str, column: str, row: str, measure: str) -> float | None:
    """What the paper reports, if it does."""
    both = PAPER.get(part, {}).get(column, {}).get(row)
    return both[MEASURES.index(measure)] if both and measure in MEASURES else None


def findings(study: Disentangled) -> tuple[Finding, ...]:
    """Every order of two models that the paper reports and this study tested, and the order of all."""
    found = [*_order(study)]
    for part in ("table2", "table3", "table4", "table5"):
        if part in study.tables:
            found += _pairs(part, study.tables[part])
    if study.table6:
        found += _lengths(study.table6)
    return tuple(found)


def _pairs(part: str, table: Table) -> Iterator[Finding]:
    (paper, *_) = PAPER[part].values()
    for row in table.differences:
        if row.measure == ORDERED and row.of in paper and row.against in paper:
            kind = f"{KINDS[part]} " if part in KINDS else ""
            what = f"{kind}{row.of} against {row.against}, {ORDERED}"
            yield _finding(what, paper[row.of][1], paper[row.against][1], row)


def _lengths(table: LengthTable) -> Iterator[Finding]:
    """By the paper's own groups, where ours are cut at the same length; other groups do not test it."""
    if table.cut != PAPERS_CUT:
        return
    groups = list(dict.fromkeys(row.group for row in table.rows))
    for group, paper in zip(groups, PAPER["table6"].values(), strict=True):
        for row in table.differences:
            one, other = (side.removesuffix(f", {group}") for side in (row.of, row.against))
            if row.measure == ORDERED and (one, other) == ("DGRe", "BERT"):
                yield _finding(f"DGRe against BERT, queries of {group}", paper[one][1], paper[other][1], row)


def _finding(what: str, a: float, b: float, row: Difference) -> Finding:
    """Agrees or differs only where ours is significant; the paper's numbers are those of Robust04."""
    compared, queries = row.comparison, row.comparison.difference.queries
    shown = f"{compared.difference:+.4f}, p {p_text(compared.p_holm, queries)}"
    holds = (((compared.difference.value or 0.0) > 0) == (a > b)) if compared.is_significant else None
    why = significance_text(compared.p_holm)
    why += "" if compared.is_significant else ": our data do not decide it"
    paper = f"{'above' if a > b else 'below'}: {a:.4f}, {b:.4f} (Robust04)"
    return Finding.holds(what, paper, shown, counted(queries, "query", "queries"), holds, why)


def _order(study: Disentangled) -> Iterator[Finding]:
    """The order of all models that both have, and how alike it is."""
    table = study.tables.get("table2")
    rows = [row for row in (table.rows if table else ()) if row.measure == ORDERED and row.name in ROBUST04]
    if len(rows) < 3:
        return
    ours = {row.name: row.mean.value or 0.0 for row in rows}
    theirs = {name: ROBUST04[name][1] for name in ours}
    shown = [" > ".join(sorted(one, key=lambda name: -one[name])) for one in (theirs, ours)]
    why = f"Kendall's tau {_kendall(theirs, ours):+.2f}; the tests below say which of them differ"
    yield Finding.holds(
        f"order of {len(ours)} models by {ORDERED}", f"{shown[0]} (Robust04)", shown[1],
        counted(rows[0].queries, "query", "queries"), None, why,
    )  # fmt: skip


def _kendall(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    from scipy.stats import kendalltau

    names = list(one)
    return float(kendalltau([one[name] for name in names], [other[name] for name in names]).statistic)
