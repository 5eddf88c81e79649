"""What is drawn of one query: the word graphs of its best candidate, and where all its candidates stand."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.learning.models.dgre import DGRe
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.embeddings import embedded
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.variants import rows_of
from whyrank.papers.disentangled.word_graphs import word_graphs


@dataclass(frozen=True, eq=False)
class QueryFigures:
    """Figures 6 to 8 of a query, by the models of the first fold of a plan."""

    plan: Plan
    asked: str | None = None
    seed: int = 0

    @property
    def qid(self) -> str:
        """The query asked for, or the first fold's test query with most relevant candidates, as far as it has as
        many others to tell them from."""
        if self.asked is None:
            return max(self.plan.splits[0].test, key=lambda qid: (self._told_apart(qid), qid))
        if not self.plan.material.candidates.get(self.asked):
            todo = "give the id of a judged query that has candidates"
            raise UserError(f"no query {self.asked!r}", where=self.plan.material.name, todo=todo)
        return self.asked

    def data(self, models: KeptModels, stages: Stages, watch: OpenProgress) -> dict[str, Any]:
        """The numbers behind the figures, each of them kept as a stage."""
        qid, material = self.qid, self.plan.material
        best = max(material.candidates[qid], key=lambda row: (material.grade(qid, row.docno), -row.rank))
        part = next((part for part, qids in self.plan.splits[0] if qid in qids), "none")
        name = f"figures-{zlib.crc32(qid.encode()):08x}"

        def graphs() -> Any:
            return word_graphs(_dgre(models, "dgre"), material.pair(qid, best.docno))

        def planes() -> Any:
            shown = [(title, variant) for title, variant in rows_of("figures") if variant in models.folders]
            return {title: self._embedded(models, variant, title, watch) for title, variant in shown}

        return {
            "qid": qid, "query": material.queries[qid], "part": part, "docno": best.docno,
            "grade": material.grade(qid, best.docno),
            "word_graphs": stages.get(f"{name}-word-graphs", graphs),
            "t_sne": stages.get(f"{name}-t-sne", planes),
        }  # fmt: skip

    def _embedded(self, models: KeptModels, variant: str, title: str, watch: OpenProgress) -> dict[str, Any]:
        """All candidates of the query in one model."""
        material, network = self.plan.material, _dgre(models, variant, whole=True)
        pairs = [material.pair(self.qid, row.docno) for row in material.candidates[self.qid]]
        with watch(f"t-SNE, {title}", len(pairs)) as advance:
            return embedded(network, pairs, self._relevant(self.qid), self.seed, advance)

    def _told_apart(self, qid: str) -> int:
        relevant = self._relevant(qid)
        return min(sum(relevant), len(relevant) - sum(relevant))

    def _relevant(self, qid: str) -> list[bool]:
        positive = set(self.plan.material.positives[qid])
        return [row.docno in positive for row in self.plan.material.candidates[qid]]


def _dgre(models: KeptModels, variant: str, *, whole: bool = False) -> DGRe:
    network = models.network(variant, whole=whole)
    assert isinstance(network, DGRe)
    return network
