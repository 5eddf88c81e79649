"""The study of one ranker: every question of the paper, on rows that exact patching gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved, Run
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.effects import Effects
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.statistics import compare_maps
from whyrank.interventions.summary import splits
from whyrank.interventions.sweep import sweep
from whyrank.papers.term_frequency.attention import PATTERN, attention_quantities, example_pattern
from whyrank.papers.term_frequency.contrasts import against, paired_difference, violating_against_adhering
from whyrank.papers.term_frequency.counting import Counting
from whyrank.papers.term_frequency.depth import over_depth
from whyrank.papers.term_frequency.documents import own_top
from whyrank.papers.term_frequency.estimators import side_by_side
from whyrank.papers.term_frequency.flow import FinalStates, final_states, information_flow, links, pick_up
from whyrank.papers.term_frequency.gaps import adherence, mean_gap, with_sure
from whyrank.papers.term_frequency.leading import leading_heads
from whyrank.papers.term_frequency.pages import reads
from whyrank.papers.term_frequency.sets import PairSets, strongest_terms
from whyrank.papers.term_frequency.sizes import Sizes
from whyrank.papers.term_frequency.together import together
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

FILLERS = ("mask", "random")
#: Variants that are compared with another on the same documents.
NULLS = {"null": "append", "minimal context": "append", "null, prepend": "prepend",
         "minimal context, prepend": "prepend"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class RankerStudy:
    """One ranker, opened part by part; every sweep is kept in shards, every other part in a stage, so that a kill
    costs little. The rows of every sweep go to `folder`, if there is one, as effects-NAME.parquet.

    `wide` is the same ranker reading more tokens: the papers' 50 slots need room beside the text.
    """

    ranker: NeuralRanker
    collection: Collection
    sizes: Sizes
    stages: Stages
    watch: OpenProgress
    wide: NeuralRanker
    folder: Path | None = None
    term: str = "effect"
    seed: int = 0
    _frames: dict[str, Any] = field(default_factory=dict)

    def result(self) -> dict[str, Any]:
        """What term_frequency.json says of this ranker."""
        encoder, top = self.ranker.encoder, self._top
        told: dict[str, Any] = {
            "ranker": self.ranker.name, "kind": self.ranker.kind, "source": str(self.ranker.source),
            "layers": encoder.layers, "heads_a_layer": encoder.heads, "term": self.term, "sizes": vars(self.sizes),
            "documents": top["origin"], "queries": len(top["run"]), "max_length": self.ranker.max_length,
            "cut": top["cut"], "reads": reads(self.ranker),
        }  # fmt: skip
        injections = self.injections()
        told["sets"] = {name: self.summary(name, pairs) for name, pairs in injections.items() if pairs}
        told["against_append"] = {
            name: against(self.rows(of, injections[of]), self.rows(name, injections[name]))
            for name, of in NULLS.items()
            if injections[name]
        }
        told["heads"] = told["sets"]["append"]["sites"]
        told["leading"] = self.leading
        told["depth"] = over_depth(self._append_rows, told["heads"], encoder.layers, seed=self.seed)
        told["blocks"] = self._by_category(self._blocks)
        told |= self.one_by_one()
        told |= Counting(self).result()
        told["flow"] = self.flow()
        told["links"] = links(told["flow"])
        told["questions"] = self.questions()
        return told

    @cached_property
    def _top(self) -> dict[str, Any]:
        def make() -> Any:
            found = own_top(
                self.ranker, self.collection, self.sizes.queries, pool=self.sizes.pool, seed=self.seed,
                shards=self.stages.shards("top"), watch=self.watch,
            )  # fmt: skip
            run = {qid: [[row.docno, row.score] for row in rows] for qid, rows in found.run.items()}
            return {"origin": found.origin, "cut": found.cut, "run": run}

        return self.stages.get("top", make)

    @cached_property
    def sets(self) -> PairSets:
        run: Run = {
            qid: [Retrieved(qid, docno, i, score, self.ranker.name) for i, (docno, score) in enumerate(rows, 1)]
            for qid, rows in self._top["run"].items()
        }
        sets = PairSets(self.ranker, self.collection, run, self.sizes, self.term, self.seed)
        return replace(sets, strongest=self._strongest(sets)) if self.term == "effect" else sets

    def _strongest(self, sets: PairSets) -> dict[str, str]:
        def make() -> dict[str, str]:
            with self.watch("strongest terms", len(sets.run)) as tell:
                return strongest_terms(self.ranker, sets.pool, self.sizes.ask, self.seed, tell)

        return self.stages.get("terms", make)

    @cached_property
    def append(self) -> list[MinimalPair]:
        return self.sets.injected("append", self.sizes.pairs)

    @cached_property
    def prepend(self) -> list[MinimalPair]:
        return self.sets.injected("prepend", self.sizes.pairs)

    def injections(self) -> dict[str, list[MinimalPair]]:
        """The sets whose heads are mapped."""
        replaced, many = self.sets.replaced()
        return {
            "append": self.append, "prepend": self.prepend, "middle": self.sets.injected("middle"),
            "replace": replaced, "replace, 5 or more": many,
            "null": self.sets.null(self.append), "null, prepend": self.sets.null(self.prepend),
            "minimal context": self.sets.minimal(self.append),
            "minimal context, prepend": self.sets.minimal(self.prepend),
        }  # fmt: skip

    def rows(
        self,
        name: str,
        pairs: Sequence[MinimalPair],
        plan: SitePlan | None = None,
        how: Intervention | None = None,
        ranker: NeuralRanker | None = None,
    ) -> pd.DataFrame:
        """The rows of a sweep, activation patching of all heads unless told otherwise; made once."""
        if name not in self._frames:
            ranker = ranker or self.ranker
            plan = plan or SitePlan.parse("heads", ranker.encoder)
            slug = name.replace(",", "").replace("'", "").replace(" ", "-")
            with self.watch(name, len(pairs)) as tell:
                effects = sweep(ranker, pairs, plan, how, shards=self.stages.shards(slug), progress=tell)
            if self.folder is not None:
                effects.write(self.folder / f"effects-{slug}.parquet")
            self._frames[name] = effects.frame
        return self._frames[name]

    def summary(self, name: str, pairs: Sequence[MinimalPair]) -> dict[str, Any]:
        """Shares of all heads, apart by rank band and by term present, and what adhering pairs alone would say.
        The set is `sure` where its pairs differ in score: shares of a gap that may be 0 mean nothing."""
        frame = self.rows(name, pairs)
        told, ends = Effects(frame).summary(seed=self.seed), mean_gap(frame, self.seed)
        kept = {key: told[key] for key in ("pairs", "queries", "gap", "keep", "sites")}
        parts, one = splits(frame), frame.drop_duplicates("pair")
        return {
            **kept, "gap_interval": ends.to_json(), "sure": ends.leaves_out_zero,
            "splits": {
                name: {group: with_sure(sites, parts[name][group], self.seed) for group, sites in groups.items()}
                for name, groups in told["splits"].items()
            },
            "adherence": {
                band: adherence(rows, self.seed)
                for band, rows in splits(one).get("rank", {}).items()
            },
        }  # fmt: skip

    @property
    def _append_rows(self) -> pd.DataFrame:
        return self.rows("append", self.append)

    @cached_property
    def leading(self) -> list[str]:
        return leading_heads(Effects(self._append_rows).summary(seed=self.seed)["sites"])

    @cached_property
    def _blocks(self) -> pd.DataFrame:
        plan = SitePlan.parse("blocks", self.ranker.encoder, "category")
        return self.rows("blocks", self.append[: self.sizes.blocks], plan)

    def _by_category(self, rows: pd.DataFrame) -> list[dict[str, Any]]:
        """Summaries of sites at categories of tokens, which not every pair has."""
        return with_sure(Effects(rows, by="category").summary(seed=self.seed)["sites"], rows, self.seed)

    def one_by_one(self) -> dict[str, Any]:
        """The leading heads by category, all together at the injected term, what they look at, and estimators."""
        plan = SitePlan(tuple(SiteSet((Site.parse(head),)) for head in self.leading), "category")
        by_category = self.rows("leading by category", self.append, plan)
        prepended = self.rows("leading by category, prepend", self.prepend, plan)
        pattern = self.looks("patterns", self.append, PATTERN)
        return {
            "by_category": self._by_category(by_category),
            "together": together(self._append_rows, self.append, self.rows, self.seed),
            "append_less_prepend": paired_difference(self._append_rows, self.rows("prepend", self.prepend)),
            "append_less_prepend_by_category": paired_difference(by_category, prepended),
            "attention": self.looks("attention", self.append),
            "patterns": [{key: value for key, value in row.items() if key not in ("quantity", "k")}
                         for row in pattern],
            "example": self.stages.get("example", self._example),
            "estimators": side_by_side(self._append_rows, seed=self.seed),
        }  # fmt: skip

    def looks(self, name: str, pairs: Sequence[MinimalPair], quantities: Any = None) -> list[dict[str, Any]]:
        """What the leading heads look at."""

        def make() -> list[dict[str, Any]]:
            more = {} if quantities is None else {"quantities": quantities}
            with self.watch(f"what leading heads look at ({name})", len(pairs)) as tell:
                return attention_quantities(self.ranker, pairs, self.leading, tell, **more)

        return self.stages.get(name, make)

    def _example(self) -> dict[str, Any] | None:
        """A pair whose document holds the term already, if there is one."""
        holding = [pair for pair in self.append if pair.tf]
        pair = next(iter(holding or self.append), None)
        return None if pair is None else example_pattern(self.ranker, pair, self.leading[0])

    def flow(self) -> list[dict[str, Any]]:
        encoder, some = self.ranker.encoder, self.append[: self.sizes.flow]
        final = self.rows("final states", self.append[: self.sizes.blocks], final_states(encoder), FinalStates())

        def moves(layer: int) -> pd.DataFrame:
            plan, path = pick_up(layer, encoder.heads)
            return self.rows(f"flow from layer {layer}", some, plan, path)

        return information_flow(self._blocks, final, moves, encoder.layers, self.seed)

    def questions(self) -> dict[str, Any]:
        """The paper's open questions."""
        own = self.sets.injected("append", term="document")
        told: dict[str, Any] = {
            "violating_against_adhering": violating_against_adhering(self._append_rows, seed=self.seed),
            "document_terms": self._alike("append, document's own term", own),
            "fillers": {
                name: self._alike(f"append, {name} fillers", self.sets.injected("append", filler=name))
                for name in FILLERS
            },
            "restored": self._alike("restored sentences", self.sets.restored()),
            "audit": self.stages.get("audit", self._audit),
        }
        return told

    def _alike(self, name: str, pairs: Sequence[MinimalPair]) -> dict[str, Any] | None:
        """How alike the heads' map on other pairs is to the map of append."""
        if not pairs:
            return None
        frame = self.rows(name, pairs)
        correlation, _ = compare_maps(self._append_rows, frame, seed=self.seed)
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
