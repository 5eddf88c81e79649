"""Vanilla BERT and DGRe, trained on the same data, analysed with whyrank's own tools."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from whyrank.collections.records import Run
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.attention import spurious_attention
from whyrank.papers.disentangled.audits import audited
from whyrank.papers.disentangled.head_maps import head_maps
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.results import AttentionCompared, AuditsCompared, HeadMaps
from whyrank.papers.disentangled.sizes import Sizes


@dataclass(frozen=True, eq=False)
class Opened:
    """The models of a plan's first fold, on its test queries; rows of patching go to `folder`. Each analysis is
    kept as a stage."""

    plan: Plan
    backbone: str
    models: KeptModels
    sizes: Sizes
    folder: Path
    stages: Stages
    progress: OpenProgress
    seed: int = 0

    @cached_property
    def run(self) -> Run:
        """The candidates of the test queries that have some."""
        candidates = self.plan.material.candidates
        return {qid: rows for qid in self.plan.splits[0].test if (rows := candidates[qid])}

    def audits(self) -> AuditsCompared:
        name, count = f"audits-{self.sizes.audit_documents}-seeds{self.sizes.seeds}", self.sizes.audit_documents
        return self.stages.typed(
            name, AuditsCompared,
            lambda: audited(
                self.models, self.plan.collection, self.run, count, shards=self.stages.shards(name),
                progress=self.progress, seed=self.seed,
            ),
        )  # fmt: skip

    def heads(self) -> HeadMaps:
        name, count = f"heads-{self.sizes.patched_pairs}-seeds{self.sizes.seeds}", self.sizes.patched_pairs
        return self.stages.typed(
            name, HeadMaps,
            lambda: head_maps(
                self.models, self.backbone, self.plan.collection, self.run, count,
                folder=self.folder / f"{count}-pairs", shards=self.stages.shards(name), progress=self.progress,
                seed=self.seed,
            ),
        )  # fmt: skip

    def attention(self) -> AttentionCompared:
        name, count = f"attention-{self.sizes.readings}-seeds{self.sizes.seeds}", self.sizes.readings
        return self.stages.typed(
            name, AttentionCompared,
            lambda: spurious_attention(
                self.models, self.backbone, self.plan.material, self.run, count, progress=self.progress,
                seed=self.seed,
            ),
        )  # fmt: skip
