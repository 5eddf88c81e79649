"""TFC2 in one ranker: effects, violations and attention over the number of occurrences."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.effects import Effects
from whyrank.interventions.plan import SitePlan
from whyrank.papers.term_frequency.leading import leading_heads
from whyrank.papers.term_frequency.over_k import adhering_documents, effects_over_k, violations_over_k
from whyrank.text.words import words

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.analysis import RankerStudy

#: Slots that the papers fill.
PAPERS_SLOTS = 50


@dataclass(frozen=True)
class Counting:
    """The heads that stand out in append and in TFC2 itself, over k: against no occurrence, against one less, and
    with the papers' 50 slots in place of just enough."""

    study: RankerStudy

    def result(self) -> dict[str, Any]:
        told = {}
        wide = replace(self.study.sets, ranker=self.study.wide)
        for name, sets, slots in (
            ("cumulative", self.study.sets, None), ("marginal", self.study.sets, None),
            ("cumulative, 50 slots", wide, PAPERS_SLOTS),
        ):  # fmt: skip
            pairs = self._cumulative if name == "cumulative" else sets.counted(name.split(",")[0], slots)
            if pairs:
                told[name] = self._over_k(name, pairs, sets.ranker)
        return {
            "tfc2_leading": self.leading,
            "tfc2": told,
            "attention_over_k": self.study.looks("attention-over-k", self._cumulative),
        }

    @cached_property
    def _cumulative(self) -> list[MinimalPair]:
        return self.study.sets.counted("cumulative")

    @cached_property
    def leading(self) -> list[str]:
        """The heads that stand out when the term comes as often as it does at all."""
        most = [pair for pair in self._cumulative if pair.k == self.study.sizes.most_k]
        if not most:
            return []
        return leading_heads(
            Effects(self.study.rows("TFC2 all heads", most)).summary(seed=self.study.seed)["sites"]
        )

    def _over_k(self, name: str, pairs: Sequence[MinimalPair], ranker: Any) -> dict[str, Any]:
        heads = dict.fromkeys([*self.study.leading, *self.leading])
        plan = SitePlan(tuple(SiteSet((Site.parse(head),)) for head in heads))
        frame = self.study.rows(f"TFC2 {name}", pairs, plan, ranker=ranker)
        marginal, seed = name == "marginal", self.study.seed
        adherent = adhering_documents(frame)
        kept = [len(words(pair.baseline)) - len(pair.slotted.baseline) for pair in pairs]
        return {
            "documents": _documents(frame),
            "adherent_documents": _documents(adherent),
            "effects": effects_over_k(frame, marginal=marginal, seed=seed),
            "effects_of_adherent": effects_over_k(adherent, marginal=marginal, seed=seed) if len(adherent) else {},
            "violations": violations_over_k(frame, seed=seed),
            "words_kept": {"median": statistics.median(kept), "least": min(kept)},
        }


def _documents(frame: Any) -> int:
    return len(frame[["qid", "docid"]].drop_duplicates())
