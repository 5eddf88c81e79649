"""The judged documents of a run: what its scores are calibrated by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from whyrank.collections.records import Qrels
from whyrank.core.errors import UserError
from whyrank.evaluation.calibration import Judged
from whyrank.explain.calibration import Sample

#: By query and document.
Scores = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run, its judgements, from which grade on a document is relevant, and whether unjudged ones are not."""

    scores: Scores
    qrels: Qrels
    min_grade: int
    assumed: bool

    @cached_property
    def keys(self) -> list[tuple[str, str]]:
        """The judged documents of judged queries; of the unjudged, those that are assumed not to be relevant."""
        return [
            (qid, docid)
            for qid, found in self.scores.items() if qid in self.qrels
            for docid in found if self.assumed or docid in self.qrels[qid]
        ]  # fmt: skip

    @cached_property
    def pairs(self) -> Judged:
        import numpy as np

        scores = np.array([self.scores[qid][docid] for qid, docid in self.keys], dtype=float)
        grades = np.array([max(0, self.qrels[qid].get(docid, 0)) for qid, docid in self.keys], dtype=float)
        queries = np.unique([qid for qid, _ in self.keys], return_inverse=True)[1]
        return Judged(scores, grades, (grades >= self.min_grade).astype(float), queries)

    def passing(self, score: float) -> list[bool]:
        """For each row of the run at or above the score whether it is judged."""
        return [
            docid in self.qrels.get(qid, {})
            for qid, found in self.scores.items() for docid, one in found.items() if one >= score
        ]  # fmt: skip

    @cached_property
    def sample(self) -> Sample:
        """How many there are; refused where nothing can be learned from them."""
        rows = [(qid, docid) for qid, found in self.scores.items() if qid in self.qrels for docid in found]
        sample = Sample(
            queries=len({qid for qid, _ in self.keys}),
            documents=len(self.keys),
            relevant=int(self.pairs.relevant.sum()),
            unjudged=sum(docid not in self.qrels[qid] for qid, docid in rows),
            unjudged_queries=len(self.scores.keys() - self.qrels.keys()),
            min_grade=self.min_grade,
            assumed=self.assumed,
        )
        _check(sample, self.pairs)
        return sample


def _check(sample: Sample, pairs: Judged) -> None:
    """Raises where there is nothing to learn from."""
    import numpy as np

    if not sample.documents:
        raise UserError("no document of this run is judged", todo="do run and judgements have the same ids?")
    if not np.isfinite(pairs.scores).all():
        raise UserError("a score of this run is infinite", todo="calibration needs finite scores")
    if sample.queries < 2:
        raise UserError(
            "one query of this run is judged", todo="give two or more: a query is calibrated by the others"
        )
    if sample.relevant in (0, sample.documents):
        which = "none" if not sample.relevant else "every one"
        raise UserError(
            f"of {sample.documents} judged documents {which} is relevant (grade {sample.min_grade} or more)",
            todo="change min_grade" if not sample.relevant else "change min_grade or give assume_not_relevant",
        )
