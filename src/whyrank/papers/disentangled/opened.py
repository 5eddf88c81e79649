"""Vanilla BERT and DGRe, trained on the same data, looked into with whyrank's own tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.learning.plan import Plan
from whyrank.papers.disentangled.attention import spurious_attention
from whyrank.papers.disentangled.audits import audited
from whyrank.papers.disentangled.head_maps import head_maps
from whyrank.papers.disentangled.kept_models import KeptModels
from whyrank.papers.disentangled.sizes import Sizes


@dataclass(frozen=True, eq=False)
class Opened:
    """The models of a plan's first fold, on its test queries; rows of patching go to `folder`."""

    plan: Plan
    backbone: str
    models: KeptModels
    sizes: Sizes
    folder: Path
    seed: int = 0

    def data(self, stages: Stages, watch: OpenProgress) -> Iterator[tuple[str, Any]]:
        """Audits, head maps and attention by name, each kept as a stage."""
        material, collection, sizes = self.plan.material, self.plan.collection, self.sizes
        names = {
            "audits": f"audits-{sizes.audit}-seeds{sizes.seeds}",
            "heads": f"heads-{sizes.pairs}-seeds{sizes.seeds}",
            "attention": f"attention-{sizes.readings}-seeds{sizes.seeds}",
        }  # fmt: skip
        run = {qid: rows for qid in self.plan.splits[0].test if (rows := material.candidates[qid])}
        shared: dict[str, Any] = {"watch": watch, "seed": self.seed}
        work: dict[str, Callable[[], Any]] = {
            "audits": lambda: audited(
                self.models, collection, run, sizes.audit, shards=stages.shards(names["audits"]), **shared
            ),
            "heads": lambda: head_maps(
                self.models, self.backbone, collection, run, sizes.pairs,
                folder=self.folder / f"{sizes.pairs}-pairs", shards=stages.shards(names["heads"]), **shared,
            ),
            "attention": lambda: spurious_attention(
                self.models, self.backbone, material, run, sizes.readings, **shared
            ),
        }  # fmt: skip
        for name, make in work.items():
            yield name, _done_or_why(stages, names[name], make)


def _done_or_why(stages: Stages, name: str, make: Callable[[], Any]) -> Any:
    """A stage, or why it cannot be done, which is not kept: it may be possible the next time."""
    try:
        return stages.get(name, make)
    except UserError as error:
        return {"lacking": str(error)}
