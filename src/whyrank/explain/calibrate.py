"""`calibrate`: what a run's scores mean, by judgements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.opening import qrels_of, run_of
from whyrank.collections.records import Qrels
from whyrank.collections.splits import counts
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, quoted
from whyrank.core.parameters import check_counts, check_seed
from whyrank.core.runs import Run
from whyrank.evaluation.auc import separation
from whyrank.evaluation.calibration import (
    HeldOut,
    Judged,
    binned,
    calibration_error,
    cross_fitted,
    cut_off,
    error_by_chance,
    explained,
    isotonic,
    of_final_cut_off,
    share_of,
)
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.evaluate import content_of
from whyrank.evaluation.measures import AnyRun, scores_by_query
from whyrank.explain.calibration import CalibratedRow, Calibration, CutOff, Knot
from whyrank.explain.judged_run import JudgedRun, Scores

#: Bins of the reliability diagram.
BINS = 10


def calibrate(
    run: AnyRun | Path | str,
    qrels: Qrels | Collection | Path | str,
    *,
    want_precision: float | None = None,
    min_grade: int = 1,
    assume_not_relevant: bool = False,
    seed: int = 0,
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> Calibration:
    """What the scores of a run mean: the probability of a relevant document and the expected grade at each score,
    by isotonic regression on the judged documents; how right that is on queries that the fit did not see; and with
    `want_precision` the lowest score from which on so large a share of documents is relevant.

    Relevant is a grade of `min_grade` or more. Unjudged documents are dropped; `assume_not_relevant` takes those
    of judged queries as not relevant.
    """
    _check(want_precision, min_grade, seed)
    scores, (grades, source) = _scores(run), qrels_of(qrels)
    caller.say(f"judgements: {source}, {counts(grades, grades)}")
    inputs = {
        "run": content_of(scores), "qrels": content_of(grades), "want_precision": want_precision,
        "min_grade": min_grade, "assume_not_relevant": assume_not_relevant, "seed": seed,
    }  # fmt: skip
    name = str(run) if isinstance(run, Path | str) else "the given run"
    with Run.open(out, Calibration.COMMAND, inputs, caller) as place:
        result = place.finished(Calibration)
        if result is None:
            judged = JudgedRun(scores, grades, min_grade, assume_not_relevant)
            result = _Work(judged, want_precision, seed).result(name)
            place.save(result)
        return result


def _scores(run: AnyRun | Path | str) -> Scores:
    return scores_by_query(run_of(run) if isinstance(run, Path | str) else run)


def _check(want_precision: float | None, min_grade: int, seed: int) -> None:
    check_counts(1, min_grade=min_grade)
    check_seed(seed)
    wanted = want_precision
    if wanted is not None and not (isinstance(wanted, Real) and 0 < wanted < 1):
        raise UserError(f"want_precision cannot be {quoted(wanted)}", todo="give a share between 0 and 1, as 0.9")


@dataclass(frozen=True, eq=False)
class _Work:
    """A judged run, and what is asked."""

    run: JudgedRun
    wanted: float | None
    seed: int

    def result(self, name: str) -> Calibration:
        sample, pairs, seed = self.run.sample, self.run.pairs, self.seed
        held = cross_fitted(pairs, self.wanted)
        by_probability = binned(held.probability, pairs, BINS, seed)
        graded = len(set(pairs.grades.tolist())) > 2
        return Calibration(
            run=name, sample=sample,
            brier=Estimate.mean((pairs.relevant - held.probability) ** 2, pairs.names, seed, within=(0, 1)),
            skill=explained(pairs.relevant, held.probability, held.base, pairs.queries, seed),
            grades_explained=explained(pairs.grades, held.grade, held.base_grade, pairs.queries, seed)
            if graded else None,
            error=calibration_error(by_probability), error_by_chance=error_by_chance(by_probability),
            separation=separation(pairs, seed),
            cut_off=None if self.wanted is None else self.cut(held, self.wanted),
            knots=_knots(pairs), by_probability=by_probability, by_score=binned(pairs.scores, pairs, BINS, seed),
            seed=seed, rows=self.rows(held),
        )  # fmt: skip

    def cut(self, held: HeldOut, wanted: float) -> CutOff:
        """The cut-off that is chosen on all queries, and what those chosen on others reach."""
        pairs, final, seed = self.run.pairs, cut_off(self.run.pairs, wanted), self.seed
        above, all_above, relevant = pairs.scores >= held.cut_off, pairs.scores >= final, pairs.relevant > 0
        precisions = (share_of(pairs.relevant, some, pairs, seed) for some in (above, all_above))
        recalls = (share_of(some.astype(float), relevant, pairs, seed) for some in (above, all_above))
        passing = self.run.passing(final)
        return CutOff(
            wanted, final if math.isfinite(final) else None,
            precision=of_final_cut_off(*precisions), recall=of_final_cut_off(*recalls),
            documents=int(above.sum()), queries=len(set(pairs.queries[above].tolist())),
            passing=len(passing), unjudged=passing.count(False),
            in_every_fold=not held.passes_none,
        )  # fmt: skip

    def rows(self, held: HeldOut) -> tuple[CalibratedRow, ...]:
        pairs = self.run.pairs
        columns = (pairs.scores, pairs.grades, held.probability, held.grade)
        return tuple(
            CalibratedRow(qid, docid, score, int(grade), probability, expected)
            for (qid, docid), score, grade, probability, expected in zip(
                self.run.keys, *(one.tolist() for one in columns), strict=True
            )
        )


def _knots(pairs: Judged) -> tuple[Knot, ...]:
    """Where the fits on all queries, of relevance and of grades, change their slope."""
    import numpy as np

    relevance, grades = isotonic(pairs.scores, pairs.relevant), isotonic(pairs.scores, pairs.grades)
    scores = np.union1d(relevance[0], grades[0])
    columns = (scores, np.interp(scores, *relevance), np.interp(scores, *grades))
    return tuple(Knot(*row) for row in zip(*(one.tolist() for one in columns), strict=True))
