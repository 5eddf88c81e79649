"""From the rows of a run of patch to its result: which pairs count, a metric, another run to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError
from whyrank.core.results import content_hash
from whyrank.interventions.aligned import AlignedPairs, pair_table
from whyrank.interventions.metric import Metric, NamedMetric
from whyrank.interventions.options import PatchOptions
from whyrank.interventions.patching import Patching
from whyrank.interventions.results import Effects
from whyrank.interventions.selection import check_keep
from whyrank.interventions.summary import summarise


@dataclass(frozen=True)
class Analysis:
    """`keep`: which pairs count; `min_gap`: the least |gap| of a ratio of its own; `other`: a run to compare with,
    called `other_name`; whether maps hide what is not significant."""

    keep: str
    min_gap: float | None
    hide_insignificant: bool
    metric: NamedMetric | None
    other: Effects | None
    other_name: str

    @classmethod
    def of(
        cls,
        options: PatchOptions,
        keep: str,
        min_gap: float | None,
        hide_insignificant: bool,
        metric: Metric | None,
        compare: Effects | Path | str | None,
    ) -> Analysis:
        """The analysis that was asked for, checked; `compare` is a result or its run folder."""
        check_keep(keep)
        named = None if metric is None else NamedMetric.of(metric, options)
        if compare is None or isinstance(compare, Effects):
            other, name = compare, f"the run of {compare.ranker}" if compare else ""
        else:
            other, name = Effects.read(compare), str(compare)
        return cls(keep, min_gap, hide_insignificant, named, other, name)

    def inputs(self, pairs: Sequence[MinimalPair]) -> dict[str, Any]:
        """What the result depends on, beside the rows."""
        return {
            "keep": self.keep, "min_gap": self.min_gap, "hide_insignificant": self.hide_insignificant,
            "compare": content_hash(self.other) if self.other else None,
            "metric": self.metric.fingerprint(pairs) if self.metric else None,
        }  # fmt: skip

    def effects(self, patching: Patching, aligned: AlignedPairs) -> Effects:
        """Patches, and summarises the rows."""
        options, ranker = patching.options, patching.ranker
        table, family = patching.rows()
        texts = pair_table(ranker, aligned, options.side, table.scores_of_pairs())
        if self.metric:
            table = self.metric.of_table(table, patching.pairs)
        summary = summarise(
            table.frame, by=options.by, keep=self.keep, min_gap=self.min_gap, family=family, seed=options.seed
        )
        found = Effects(
            **vars(summary), ranker=ranker.name, source=str(ranker.source), side=options.side, ablate=options.kind,
            freeze_mlp=options.freeze_mlp, steps=options.steps, metric=self.metric.name if self.metric else None,
            texts=aligned.counts(), dropped=aligned.dropped, hide_insignificant=self.hide_insignificant,
            frame=table.frame, pair_frame=texts,
        )  # fmt: skip
        return self._compared(found, options.seed)

    def _compared(self, found: Effects, seed: int) -> Effects:
        """The same with the comparison, if one was asked for."""
        if self.other is None:
            return found
        compared = found.compared_with(self.other, run=self.other_name, seed=seed)
        if not compared.points:
            todo = "compare runs of the same sites"
            raise UserError("the two runs have no site in common", where=self.other_name, todo=todo)
        return replace(found, compared=compared)
