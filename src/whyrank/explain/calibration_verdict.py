"""What a score means, in plain sentences."""

from __future__ import annotations

from whyrank.evaluation.estimate import percent
from whyrank.evaluation.interval import TOO_FEW
from whyrank.explain.calibration import Calibration, CutOff, Sample
from whyrank.pages.numbers import counted, plural


def sentences(found: Calibration) -> list[str]:
    """The verdict."""
    said = [_skill(found), _error(found)]
    if found.separation.lost.is_above_zero:
        said.append(_not_comparable(found))
    if found.cut_off is not None:
        said += _cut(found.cut_off)
    return [*said, limits(found.sample)]


def _skill(found: Calibration) -> str:
    skill, sample = found.skill, found.sample
    base = percent(sample.relevant / sample.documents)
    of = f"{counted(sample.documents, 'judged document')} of {counted(sample.queries, 'query', 'queries')}"
    if skill.value is None or skill.value <= 0:
        return (
            f"The score says no more of relevance than the base rate ({base} of {of}): skill {skill.text('.2f')}."
        )
    more = "" if found.grades_explained is None else f", and {found.grades_explained.percent()} of that of grades"
    sure = "" if skill.is_sure or skill.low is None else "; that it explains any is not sure"
    explains = f"The score explains {skill.percent()} of the variance of relevance{more}"
    return f"{explains}, in {of} ({base} relevant){sure}."


def _error(found: Calibration) -> str:
    return (
        f"Turned into a probability it is off by {percent(found.error)} on average, on queries that the fit did "
        f"not see; the right probabilities would be off by {percent(found.error_by_chance)} by chance."
    )


def _not_comparable(found: Calibration) -> str:
    one = found.separation
    return (
        f"Scores of different queries are not on one scale: a relevant document outscores another one in "
        f"{percent(one.within)} of cases within a query, in {percent(one.pooled)} across queries, so any one "
        "cut-off for all queries is poor."
    )


def _cut(cut: CutOff) -> list[str]:
    wanted = percent(cut.wanted)
    if cut.score is None:
        return [f"No cut-off reaches a precision of {wanted}."]
    if cut.precision.value is None:
        return [f"Scores of {cut.score:.4g} or more reach {wanted} here, but nowhere on held-out queries."]
    said = (
        f"To be relevant in {wanted} of cases a score has to be {cut.score:.4g} or more; on held-out queries "
        f"{cut.precision.percent()} of such documents are relevant, {cut.recall.percent()} of the relevant pass "
        f"({counted(cut.documents, 'document')} of {counted(cut.queries, 'query', 'queries')})."
    )
    return [said, _surely(cut)]


def _surely(cut: CutOff) -> str:
    """Whether the wanted precision is surely reached."""
    low, high, wanted = cut.precision.low, cut.precision.high, percent(cut.wanted)
    if low is None or high is None:
        why = cut.precision.no_interval or TOO_FEW
        return f"Whether it reaches {wanted} on other queries cannot be said ({why})."
    if high < cut.wanted:
        return f"That is surely below {wanted}: the cut-off does not hold on other queries."
    if low >= cut.wanted:
        return f"That is surely {wanted} or more."
    return f"That is not surely {wanted}: the interval reaches down to {percent(low)}."


def limits(sample: Sample) -> str:
    """What was left out, and so what cannot be said."""
    unjudged = counted(sample.unjudged, "unjudged document")
    kept = "taken as not relevant" if sample.assumed else "dropped"
    was = f"{unjudged} {plural(sample.unjudged, 'was', 'were')} {kept}" if sample.unjudged else "All were judged"
    if sample.unjudged_queries:
        was += f", and {counted(sample.unjudged_queries, 'query', 'queries')} without judgements dropped"
    return (
        f"{was}; judged documents are no random sample (often other systems found them), so none of this need "
        "hold for unjudged documents, for queries of another kind or for another ranker."
    )
