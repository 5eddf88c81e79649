"""The findings of the papers on TAS-B, judged by what was measured here.

A statement agrees only where it holds beyond the uncertainty of our data, differs only where its contrary does,
and is left open otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from whyrank.evaluation.estimate import Estimate, estimate_text
from whyrank.evaluation.interval import FEWEST_QUERIES, Interval
from whyrank.evaluation.wilson import wilson
from whyrank.pages.findings import OPEN, Finding
from whyrank.pages.numbers import counted
from whyrank.papers.term_frequency import paper

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import TermFrequencyStudy

#: Bootstrap intervals of fewer pairs or documents are too narrow to judge by.
FEWEST = 8


def findings(study: TermFrequencyStudy) -> list[Finding]:
    """What can be said of any ranker; heads are compared with the paper's only in TAS-B itself."""
    from whyrank.papers.term_frequency.findings_counting import counting_findings

    known = study.about.ranker in paper.TAS_B
    return [
        *_heads(study, known), *_together(study), *_bands(study), *_positions(study), *_replaced(study, known),
        *_aggregation(study), *counting_findings(study, known), *_adherence(study),
    ]  # fmt: skip


def judged(row: Finding, n: int, least: int = FEWEST) -> Finding:
    """The finding, without a verdict where it stands on too few pairs or documents."""
    if n >= least or row.verdict == OPEN:
        return row
    why = f"{row.why}; " if row.why else ""
    return replace(row, verdict=OPEN, why=f"{why}no verdict on fewer than {least}")


def majority(for_it: int, against: int, of: int) -> bool | None:
    """What most say, if most say anything."""
    return True if for_it > of / 2 else False if against > of / 2 else None


def some_of(words: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def _heads(study: TermFrequencyStudy, known: bool) -> Iterator[Finding]:
    n = counted(study.append.pairs, "pair")
    what, heads = "heads that carry an appended term", tuple(paper.APPENDED)
    if not known:
        yield Finding.holds(what, f"{' '.join(heads)} (TAS-B)", " ".join(study.leading), n, None)
        return
    yield Finding.heads(what, heads, study.leading, n)
    top = _band(study, paper.TOP)
    for head, value in paper.APPENDED.items():
        if head in top:
            share = top[head]
            what = f"{head}, appended, ranks {paper.TOP}: share"
            yield Finding.number(what, value, share.value, share.interval, counted(share.pairs, "pair"))


def _together(study: TermFrequencyStudy) -> Iterator[Finding]:
    """Half of the gap in the top 10%, by heads that the other half of the queries chose."""
    what, stated = f"leading heads together at the injected term, ranks {paper.TOP}", paper.TOGETHER
    joint = study.together.positive
    share = joint.bands.get(paper.TOP) if joint else None
    if share is None:
        yield Finding.holds(what, stated, "not measured", "–", None)
        return
    ends = share.interval
    half = True if ends.low >= paper.HALF else False if ends.high < paper.HALF else None
    why = "chosen on one half of the queries, measured on the other"
    row = Finding.holds(what, stated, share.text(), counted(share.pairs, "pair"), half, why)
    yield judged(row, share.pairs)


def _bands(study: TermFrequencyStudy) -> Iterator[Finding]:
    """For each leading head: is its |share| surely larger in the top ranks than in the lowest?"""
    top, low = _band(study, paper.TOP), _band(study, paper.BOTTOM)
    shared = [head for head in study.leading if head in top and head in low]
    if not shared:
        return
    larger = [head for head in shared if _surely_larger(top[head], low[head])]
    smaller = [head for head in shared if _surely_larger(low[head], top[head])]
    shown = some_of([f"{head} {top[head]:.2f} and {low[head]:.2f}" for head in shared])
    sizes = [max(share.pairs for share in band.values()) for band in (top, low)]
    row = Finding.holds(
        "shares of leading heads by rank band",
        paper.BY_BAND,
        shown,
        f"{sizes[0]} and {sizes[1]} pairs",
        majority(len(larger), len(smaller), len(shared)),
        f"surely larger in {paper.TOP}: {len(larger)} of {len(shared)}, surely smaller: {len(smaller)}",
    )
    yield judged(row, min(sizes))


def _positions(study: TermFrequencyStudy) -> Iterator[Finding]:
    """Does a leading head's effect on the score turn round when the term stands first? Mean effects, not shares:
    the gap itself may turn round."""
    if "prepend" not in study.sets:
        return
    prepend = study.sets["prepend"]
    after, before = ({one.name: one for one in some.heads} for some in (study.append, prepend))
    surely = {one.name for one in study.append_less_prepend if one.difference.is_sure}
    heads = [head for head in study.leading if head in after and head in before]
    signs = {head: _sign(after[head].mean_effect) * _sign(before[head].mean_effect) for head in heads}
    turned = [head for head in heads if signs[head] < 0 and head in surely]
    kept = [head for head in heads if signs[head] > 0]
    row = Finding.holds(
        "effects of leading heads when the term is prepended",
        paper.PREPENDED,
        f"{len(turned)} of {len(heads)} surely change sign, {len(kept)} surely keep it",
        counted(prepend.pairs, "pair"),
        majority(len(turned), len(kept), len(heads)),
        "by mean effects on the score and their paired difference",
    )
    yield judged(row, prepend.pairs)


def _replaced(study: TermFrequencyStudy, known: bool) -> Iterator[Finding]:
    """TFC1-R: its heads, and in how few documents there is anything to replace."""
    one = study.sets.get("replace")
    if one:
        n, what, heads = counted(one.pairs, "pair"), "heads when occurrences are replaced", tuple(paper.REPLACED)
        size = (lambda head: head.share) if one.has_gap else (lambda head: head.mean_effect)
        significant = [head for head in one.heads if head.is_significant]
        order = [head.name for head in sorted(significant, key=lambda head: -abs(size(head).value or 0.0))]
        if known:
            yield Finding.heads(what, heads, order, n)
        else:
            shown = " ".join(order[:6]) or "none significant"
            yield Finding.holds(what, f"{' '.join(heads)} (TAS-B)", shown, n, None)
    yield from _holding(study)


def _holding(study: TermFrequencyStudy) -> Iterator[Finding]:
    groups = study.append.splits.get("term_present", {})
    counts = {name: max((one.share.pairs for one in sites), default=0) for name, sites in groups.items()}
    holding, every = counts.get("yes", 0), counts.get("yes", 0) + counts.get("no", 0)
    if every:
        ends = wilson(holding, every) if every >= FEWEST_QUERIES else Interval.none("too few documents")
        yield Finding.holds(
            "documents that hold the term: only these differ when it is replaced",
            paper.HOLDING,
            estimate_text(holding / every, ends, ".0%"),
            f"{every} documents",
            None,
            "a matter of the collection; here only such documents are replaced in",
        )


def _aggregation(study: TermFrequencyStudy) -> Iterator[Finding]:
    """Where attention writes the signal into [CLS]: in the last third of the layers?"""
    rows = {
        row.layer: row.lands for row in study.flow
        if row.category == "cls" and row.lands is not None and row.lands.value is not None
    }  # fmt: skip
    if not rows:
        return
    about = study.about
    top = max(rows, key=lambda layer: rows[layer].value or 0.0)
    late = {layer for layer in rows if layer >= 2 * about.layers // 3}
    others = set(rows) - late if top in late else late
    apart = bool(others) and all(rows[top].interval.low > rows[layer].interval.high for layer in others)
    reads_cls = "[CLS]" in about.reads
    row = Finding.holds(
        "where attention gathers the signal in [CLS]",
        paper.GATHERED,
        f"most in layer {top} of {about.layers} ({rows[top]:.2f})",
        counted(rows[top].pairs, "pair"),
        (top in late) if apart and reads_cls else None,
        "" if reads_cls else f"this ranker's read-out is {about.reads}",
    )
    yield judged(row, rows[top].pairs)


def _adherence(study: TermFrequencyStudy) -> Iterator[Finding]:
    """How often an appended term raises the score: over all ranks, and in the top ten."""
    for summary in study.questions.audits.get("TFC1:append", ()):
        what = "an appended term raises the score beyond the neutral band, all ranks"
        holds = summary.holds
        yield Finding.number(what, paper.RAISES, holds.value, holds.interval, f"{summary.n} pairs")
    share = study.append.adherence.get(paper.TOP)
    if share:
        what = f"an appended term raises the score, ranks {paper.TOP}"
        yield Finding.number(what, paper.RAISES_TOP, share.value, share.interval, f"{share.pairs} pairs")


def _band(study: TermFrequencyStudy, band: str) -> dict[str, Estimate]:
    """The shares of heads in one band of ranks, by name."""
    return {one.name: one.known_share for one in study.append.splits.get("rank", {}).get(band, ())}


def _surely_larger(one: Estimate, other: Estimate) -> bool:
    """By the sizes of both: the ends of the one farther from 0 than all of the other."""
    here, there = one.interval, other.interval
    if not here or not there:
        return False
    least = min(abs(here.low), abs(here.high)) if here.leaves_out_zero else 0.0
    return least > max(abs(there.low), abs(there.high))


def _sign(one: Estimate) -> int:
    """Of a mean effect; 0 where its interval holds 0."""
    return 0 if not one.is_sure else 1 if one.is_above_zero else -1
