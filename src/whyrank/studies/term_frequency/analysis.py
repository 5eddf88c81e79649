"""The study of one ranker: every question of the paper, on rows that exact patching gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whyrank.axioms.audit import audit_pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.effects import Effects
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import compare_maps
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Watch
from whyrank.store.stages import Stages
from whyrank.studies.term_frequency.attention import attention_quantities
from whyrank.studies.term_frequency.contrasts import paired_difference, violating_against_adhering
from whyrank.studies.term_frequency.documents import own_top
from whyrank.studies.term_frequency.estimators import side_by_side
from whyrank.studies.term_frequency.flow import information_flow, links
from whyrank.studies.term_frequency.leading import leading_heads
from whyrank.studies.term_frequency.over_k import effects_over_k, violations_over_k
from whyrank.studies.term_frequency.sets import PairSets, many_replacements
from whyrank.studies.term_frequency.sizes import Sizes

if TYPE_CHECKING:
    import pandas as pd

#: Slots that the papers fill.
PAPERS_SLOTS = 50
FILLERS = ("mask", "random")


@dataclass(frozen=True, eq=False)
class RankerStudy:
    """One ranker, opened part by part; every sweep is kept in shards, every other part in a stage."""

    ranker: NeuralRanker
    collection: Collection
    sizes: Sizes
    stages: Stages
    watch: Watch
    term: str = "effect"
    seed: int = 0
    _frames: dict[str, Any] = field(default_factory=dict)

    def result(self) -> dict[str, Any]:
        """What term_frequency.json says of this ranker."""
        encoder = self.ranker.encoder
        told: dict[str, Any] = {
            "ranker": self.ranker.name, "kind": self.ranker.kind, "source": str(self.ranker.source),
            "layers": encoder.layers, "heads_a_layer": encoder.heads, "term": self.term, "sizes": vars(self.sizes),
            "documents": self.top[1], "queries": len(self.top[0]),
        }  # fmt: skip
        told["sets"] = {name: self.summary(name, pairs) for name, pairs in self.injections().items() if pairs}
        told["heads"] = told["sets"]["append"]["sites"]
        told["leading"] = self.leading
        told["blocks"] = self.blocks()
        told |= self.one_by_one()
        told |= self.over_k()
        told["flow"] = self.flow()
        told["links"] = links(told["flow"])
        told["questions"] = self.questions()
        return told

    @cached_property
    def top(self) -> tuple[Run, str]:
        """The ranker's own top documents, and what they were chosen from."""

        def make() -> Any:
            with self.watch("own top 100", self.sizes.queries) as tell:
                run, origin = own_top(
                    self.ranker, self.collection, self.sizes.queries, seed=self.seed,
                    shards=self.stages.shards("top"),
                )  # fmt: skip
                tell(self.sizes.queries)
            return {
                "origin": origin,
                "run": {qid: [[r.docno, r.score] for r in rows] for qid, rows in run.items()},
            }

        told = self.stages.get("top", make)
        run = {
            qid: [Retrieved(qid, docno, i, score, self.ranker.name) for i, (docno, score) in enumerate(rows, 1)]
            for qid, rows in told["run"].items()
        }
        return run, str(told["origin"])

    @cached_property
    def sets(self) -> PairSets:
        return PairSets(self.ranker, self.collection, self.top[0], self.sizes, self.term, self.seed)

    @cached_property
    def append(self) -> list[MinimalPair]:
        return self.sets.injected("append")

    @cached_property
    def prepend(self) -> list[MinimalPair]:
        return self.sets.injected("prepend")

    def injections(self) -> dict[str, list[MinimalPair]]:
        """The sets whose heads are mapped."""
        replaced = self.sets.replaced()
        return {
            "append": self.append, "prepend": self.prepend, "middle": self.sets.injected("middle"),
            "replace": replaced, "replace, 5 or more": many_replacements(replaced), "null": self.sets.null(),
            "minimal context": self.sets.minimal(),
        }  # fmt: skip

    def rows(self, name: str, pairs: Sequence[MinimalPair], plan: SitePlan | None = None) -> pd.DataFrame:
        """The rows of a sweep, all heads unless a plan says otherwise; made once."""
        if name not in self._frames:
            plan = plan or SitePlan.parse("heads", self.ranker.encoder)
            with self.watch(name, len(pairs)) as tell:
                shards = self.stages.shards(name.replace(" ", "-"))
                self._frames[name] = sweep(self.ranker, pairs, plan, shards=shards, progress=tell).frame
        return self._frames[name]

    def summary(self, name: str, pairs: Sequence[MinimalPair]) -> dict[str, Any]:
        """Shares of all heads, apart by rank band and by term present, and what adhering pairs alone would say."""
        told = Effects(self.rows(name, pairs)).summary(seed=self.seed)
        return {key: told[key] for key in ("pairs", "queries", "gap", "keep", "sites", "splits")}

    @cached_property
    def leading(self) -> list[str]:
        return leading_heads(Effects(self.rows("append", self.append)).summary(seed=self.seed)["sites"])

    def blocks(self) -> list[dict[str, Any]]:
        plan = SitePlan.parse("blocks", self.ranker.encoder, "category")
        frame = self.rows("blocks", self.append[: self.sizes.blocks], plan)
        return Effects(frame, by="category").summary(seed=self.seed)["sites"]

    def one_by_one(self) -> dict[str, Any]:
        """The leading heads by category, all together at the injected term, what they look at, and estimators."""
        heads = [SiteSet((Site.parse(head),)) for head in self.leading]
        plan = SitePlan(tuple(heads), "category")
        by_category = self.rows("leading by category", self.append, plan)
        prepended = self.rows("leading by category, prepend", self.prepend, plan)
        together = SiteSet(tuple(Site("z", one.sites[0].layer, one.sites[0].head, "inj") for one in heads))
        joint = self.rows("leading together", self.append, SitePlan((together,)))
        with self.watch("what leading heads look at", len(self.append)) as tell:
            attention = self.stages.get(
                "attention", lambda: attention_quantities(self.ranker, self.append, self.leading, tell)
            )
        return {
            "by_category": Effects(by_category, by="category").summary(seed=self.seed)["sites"],
            "together": Effects(joint).summary(seed=self.seed),
            "append_less_prepend": paired_difference(by_category, prepended),
            "attention": attention,
            "estimators": side_by_side(self.rows("append", self.append), seed=self.seed),
        }

    def over_k(self) -> dict[str, Any]:
        """TFC2: effects of the leading heads, violations and attention over k; fillers just enough, and the
        papers'."""
        plan = SitePlan(tuple(SiteSet((Site.parse(head),)) for head in self.leading))
        told: dict[str, Any] = {}
        variants = {"cumulative": ("cumulative", None), "marginal": ("marginal", None),
                    "cumulative, 50 slots": ("cumulative", PAPERS_SLOTS)}  # fmt: skip
        for name, (variant, slots) in variants.items():
            pairs = self.sets.counted(variant, slots)
            if pairs:
                frame = self.rows(f"TFC2 {name}", pairs, plan)
                adherent = frame[frame["perturbed"] > frame["base"]]
                told[name] = {
                    "effects": effects_over_k(frame, seed=self.seed),
                    "effects_of_adherent": effects_over_k(adherent, seed=self.seed) if len(adherent) else {},
                    "violations": violations_over_k(frame, seed=self.seed),
                }
        pairs = self.sets.counted("cumulative")
        with self.watch("what leading heads look at over k", len(pairs)) as tell:
            looks = self.stages.get(
                "attention-over-k", lambda: attention_quantities(self.ranker, pairs, self.leading, tell)
            )
        return {"tfc2": told, "attention_over_k": looks}

    def flow(self) -> list[dict[str, Any]]:
        some = self.append[: self.sizes.flow]
        with self.watch("information flow", self.ranker.encoder.layers) as tell:
            return self.stages.get(
                "flow",
                lambda: information_flow(
                    self.ranker, some, shards=self.stages.shards("flow"), progress=tell, seed=self.seed
                ),
            )

    def questions(self) -> dict[str, Any]:
        """The paper's open questions."""
        append = self.rows("append", self.append)
        own = self.sets.injected("append", term="document")
        told: dict[str, Any] = {
            "violating_against_adhering": violating_against_adhering(append, seed=self.seed),
            "document_terms": self._against(append, "append, document's own term", own),
            "fillers": {
                name: self._against(append, f"append, {name} fillers", self.sets.injected("append", filler=name))
                for name in FILLERS
            },
            "restored": self._against(append, "restored sentences", self.sets.restored()),
            "audit": self.stages.get("audit", self._audit),
        }
        return told

    def _against(self, append: pd.DataFrame, name: str, pairs: Sequence[MinimalPair]) -> dict[str, Any] | None:
        """How alike the heads' map on other pairs is to the map of append."""
        if not pairs:
            return None
        frame = self.rows(name, pairs)
        correlation, _ = compare_maps(append, frame, seed=self.seed)
        summary = Effects(frame).summary(seed=self.seed)
        return {
            "pairs": len(pairs), "gap": summary["gap"], "adherent": summary["keep"]["adherent"],
            "map": correlation.to_json(), "leading": leading_heads(summary["sites"]),
        }  # fmt: skip

    def _audit(self) -> Any:
        """Repetition beside what varies by nature: shares of pairs that hold, are neutral, violate; and why."""
        names = ("TFC1:append", "TFC1:expansion", "TFC1:natural", "TFC2:restore")
        found = {}
        for name in names:
            pairs = self.sets.made(name, self.sizes.audit, term=self.term)
            if pairs:
                audited = audit_pairs([self.ranker], pairs, idf=self.sets.pool.idf, seed=self.seed)
                found[name] = audited.to_json()
        return found
