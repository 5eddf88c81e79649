"""TFC2 in one ranker: effects, violations and attention over the number of occurrences.

The heads that stand out in append and in TFC2 itself are followed over k: against no occurrence (cumulative),
against one less (marginal), and with the papers' 50 slots in place of just enough.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.plan import SitePlan
from whyrank.papers.term_frequency.over_k import adhering_documents, effects_over_k, violations_over_k
from whyrank.papers.term_frequency.parts import Counted, Counting
from whyrank.papers.term_frequency.sets import PairSets
from whyrank.papers.term_frequency.summaries import leading_heads, site_effects
from whyrank.text.words import words

if TYPE_CHECKING:
    import pandas as pd

    from whyrank.papers.term_frequency.analysis import RankerAnalysis

#: Slots that the papers fill.
PAPERS_SLOTS = 50


@dataclass(frozen=True, eq=False)
class TFC2Analysis:
    """The analyses of TFC2, on the rows that the analysis of the ranker makes."""

    of: RankerAnalysis

    def result(self) -> Counting:
        wide = replace(self.of.sets, ranker=self.of.wide)
        found = {
            "cumulative": self._counted("cumulative", self._cumulative, self.of.sets),
            "marginal": self._counted("marginal", self.of.sets.counted("marginal"), self.of.sets),
            "cumulative, 50 slots": self._counted(
                "cumulative, 50 slots", wide.counted("cumulative", PAPERS_SLOTS), wide
            ),
        }
        attention = self.of.attention("attention-over-k", self._cumulative)
        return Counting(self.leading, {name: one for name, one in found.items() if one is not None}, attention)

    @cached_property
    def _cumulative(self) -> list[MinimalPair]:
        return self.of.sets.counted("cumulative")

    @cached_property
    def leading(self) -> tuple[str, ...]:
        """The heads that stand out at the largest k."""
        most = [pair for pair in self._cumulative if pair.k == self.of.sizes.most_k]
        return leading_heads(site_effects(self.of.rows("TFC2 all heads", most), self.of.seed)) if most else ()

    def _counted(self, name: str, pairs: Sequence[MinimalPair], sets: PairSets) -> Counted | None:
        if not pairs:
            return None
        heads = dict.fromkeys([*self.of.leading, *self.leading])
        plan = SitePlan(tuple(SiteSet((Site.parse(head),)) for head in heads))
        frame = self.of.rows(f"TFC2 {name}", pairs, plan, ranker=sets.ranker)
        marginal, seed = name == "marginal", self.of.seed
        adherent = adhering_documents(frame)
        kept = [len(words(pair.baseline)) - len(pair.slotted.baseline) for pair in pairs]
        return Counted(
            documents=_documents(frame),
            adherent_documents=_documents(adherent),
            effects=effects_over_k(frame, marginal=marginal, seed=seed),
            effects_of_adherent=effects_over_k(adherent, marginal=marginal, seed=seed) if len(adherent) else {},
            violations=violations_over_k(frame, seed=seed),
            median_words=statistics.median(kept),
            least_words=min(kept),
        )


def _documents(frame: pd.DataFrame) -> int:
    return len(frame[["qid", "docid"]].drop_duplicates())
