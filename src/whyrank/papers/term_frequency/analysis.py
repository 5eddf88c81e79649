"""The analyses of one ranker: every question of the papers, on the rows of exact patching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.audit.results import AxiomSummary
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.core.progress import OpenProgress
from whyrank.core.stages import Stages
from whyrank.encoders.site import Site, SiteSet
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.papers.term_frequency.attention import PATTERN, QUANTITIES, attention_quantities, example_pattern
from whyrank.papers.term_frequency.contrasts import against, paired_difference, violating_against_adhering
from whyrank.papers.term_frequency.counting import TFC2Analysis
from whyrank.papers.term_frequency.depth import over_depth
from whyrank.papers.term_frequency.documents import OwnTop, own_top
from whyrank.papers.term_frequency.estimators import side_by_side
from whyrank.papers.term_frequency.findings import findings
from whyrank.papers.term_frequency.flow import FinalStates, final_states, information_flow, links, pick_up
from whyrank.papers.term_frequency.parts import (
    Attention,
    AttentionExample,
    FlowRow,
    Likeness,
    Questions,
    SiteEffect,
)
from whyrank.papers.term_frequency.results import About, TermFrequencyStudy
from whyrank.papers.term_frequency.sets import CONTROLS, PairSets, strongest_terms
from whyrank.papers.term_frequency.sizes import Sizes
from whyrank.papers.term_frequency.summaries import leading_heads, likeness, pair_set, site_effects, with_gap
from whyrank.papers.term_frequency.together import together
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd

FILLERS = ("mask", "random")
#: Repetition, and what varies by nature.
AUDITED = ("TFC1:append", "TFC1:expansion", "TFC1:natural", "TFC2:restore")


@dataclass(frozen=True, eq=False)
class RankerAnalysis:
    """One ranker, opened part by part; every sweep is kept in shards, every other part in a stage, so that a kill
    costs little. The rows of every sweep go to `folder`, if there is one, as effects-NAME.parquet.

    `wide` is the same ranker reading more tokens: the papers' 50 slots need room beside the text.
    """

    ranker: NeuralRanker
    collection: Collection
    sizes: Sizes
    stages: Stages
    progress: OpenProgress
    wide: NeuralRanker
    folder: Path | None = None
    term: str = "effect"
    seed: int = 0
    _frames: dict[str, pd.DataFrame] = field(default_factory=dict)

    def result(self) -> TermFrequencyStudy:
        """Everything, and the findings beside the paper's."""
        sets, seed = {name: pairs for name, pairs in self.pair_sets().items() if pairs}, self.seed
        found = {name: pair_set(self.rows(name, pairs), seed) for name, pairs in sets.items()}
        controls = {
            name: against(self.rows(of, sets[of]), self.rows(name, sets[name]))
            for name, of in CONTROLS.items() if name in sets
        }  # fmt: skip
        by_category, prepended = self._leading_by_category()
        flow = self.flow()
        study = TermFrequencyStudy(
            about=self._about(),
            sets=found,
            controls=controls,
            leading=self.leading,
            depth=over_depth(self._append_rows, found["append"].heads, self.ranker.encoder.layers, seed=seed),
            blocks=self._with_gap(self._blocks),
            by_category=self._with_gap(by_category),
            together=together(self._append_rows, self.append, self.rows, seed),
            append_less_prepend=paired_difference(self._append_rows, self.rows("prepend", self.prepend)),
            append_less_prepend_by_category=paired_difference(by_category, prepended),
            attention=self.attention("attention", self.append),
            patterns=self.attention("patterns", self.append, PATTERN),
            example=self.stages.typed("example", AttentionExample | None, self._example),
            estimators=side_by_side(self._append_rows, seed=seed),
            counting=TFC2Analysis(self).result(),
            flow=flow,
            links=links(flow),
            questions=self.questions(),
        )
        return replace(study, findings=tuple(findings(study)))

    def _about(self) -> About:
        ranker, encoder, top = self.ranker, self.ranker.encoder, self._top
        return About(
            ranker=label(ranker),
            kind=ranker.kind,
            source=str(ranker.source),
            layers=encoder.layers,
            heads_per_layer=encoder.heads,
            reads=reads(ranker),
            term=self.term,
            documents=top.origin,
            queries=len(top.run),
            max_length=ranker.max_length,
            cut=top.cut,
            sizes=self.sizes,
        )

    @cached_property
    def _top(self) -> OwnTop:
        def make() -> OwnTop:
            return own_top(
                self.ranker, self.collection, self.sizes.queries, pool=self.sizes.pool, seed=self.seed,
                shards=self.stages.shards("top"), progress=self.progress,
            )  # fmt: skip

        return self.stages.typed("top", OwnTop, make)

    @cached_property
    def sets(self) -> PairSets:
        sets = PairSets(self.ranker, self.collection, self._top.run, self.sizes, self.term, self.seed)
        return replace(sets, strongest=self._strongest(sets)) if self.term == "effect" else sets

    def _strongest(self, sets: PairSets) -> dict[str, str]:
        def make() -> dict[str, str]:
            with self.progress("strongest terms", len(sets.run)) as advance:
                return strongest_terms(self.ranker, sets.pool, self.sizes.ask, self.seed, advance)

        return self.stages.typed("terms", dict[str, str], make)

    @cached_property
    def append(self) -> list[MinimalPair]:
        return self.sets.injected("append", self.sizes.pairs)

    @cached_property
    def prepend(self) -> list[MinimalPair]:
        return self.sets.injected("prepend", self.sizes.pairs)

    def pair_sets(self) -> dict[str, list[MinimalPair]]:
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
        """The rows of a sweep, by default activation patching of all heads; made once."""
        if name not in self._frames:
            ranker = ranker or self.ranker
            plan = plan or SitePlan.parse("heads", ranker.encoder)
            slug = name.replace(",", "").replace("'", "").replace(" ", "-")
            with self.progress(name, len(pairs)) as advance:
                effects = sweep(ranker, pairs, plan, how, shards=self.stages.shards(slug), progress=advance)
            if self.folder is not None:
                effects.write(self.folder / f"effects-{slug}.parquet")
            self._frames[name] = effects.frame
        return self._frames[name]

    @property
    def _append_rows(self) -> pd.DataFrame:
        return self.rows("append", self.append)

    @cached_property
    def leading(self) -> tuple[str, ...]:
        return leading_heads(site_effects(self._append_rows, self.seed))

    @cached_property
    def _blocks(self) -> pd.DataFrame:
        plan = SitePlan.parse("blocks", self.ranker.encoder, "category")
        return self.rows("blocks", self.append[: self.sizes.blocks], plan)

    def _leading_by_category(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The rows of the leading heads at each category of tokens: appended, and prepended."""
        plan = SitePlan(tuple(SiteSet((Site.parse(head),)) for head in self.leading), "category")
        appended = self.rows("leading by category", self.append, plan)
        return appended, self.rows("leading by category, prepend", self.prepend, plan)

    def _with_gap(self, rows: pd.DataFrame) -> tuple[SiteEffect, ...]:
        """What sites do at categories of tokens, which not every pair has."""
        return with_gap(site_effects(rows, self.seed), rows, self.seed)

    def attention(
        self, name: str, pairs: Sequence[MinimalPair], quantities: Sequence[tuple[str, str]] = QUANTITIES
    ) -> tuple[Attention, ...]:
        """What the leading heads attend to."""

        def make() -> tuple[Attention, ...]:
            with self.progress(f"attention of leading heads ({name})", len(pairs)) as advance:
                return attention_quantities(self.ranker, pairs, self.leading, advance, quantities)

        return self.stages.typed(name, tuple[Attention, ...], make)

    def _example(self) -> AttentionExample | None:
        """A pair whose document holds the term already, if there is one."""
        holding = [pair for pair in self.append if pair.tf]
        pair = next(iter(holding or self.append), None)
        return None if pair is None else example_pattern(self.ranker, pair, self.leading[0])

    def flow(self) -> tuple[FlowRow, ...]:
        encoder, some = self.ranker.encoder, self.append[: self.sizes.flow]
        final = self.rows("final states", self.append[: self.sizes.blocks], final_states(encoder), FinalStates())

        def moves(layer: int) -> pd.DataFrame:
            plan, path = pick_up(layer, encoder.heads)
            return self.rows(f"flow from layer {layer}", some, plan, path)

        return information_flow(self._blocks, final, moves, encoder.layers, self.seed)

    def questions(self) -> Questions:
        """The papers' open questions."""
        own = self.sets.injected("append", term="document")
        fillers = {name: self.sets.injected("append", filler=name) for name in FILLERS}
        return Questions(
            violating_against_adhering=violating_against_adhering(self._append_rows, seed=self.seed),
            document_terms=self._likeness("append, document's own term", own),
            fillers={name: self._likeness(f"append, {name} fillers", some) for name, some in fillers.items()},
            restored=self._likeness("restored sentences", self.sets.restored()),
            audits=self.stages.typed("audit", dict[str, tuple[AxiomSummary, ...]], self._audits),
        )

    def _likeness(self, name: str, pairs: Sequence[MinimalPair]) -> Likeness | None:
        """How alike the map of heads on other pairs is to append's."""
        return likeness(self._append_rows, self.rows(name, pairs), self.seed) if pairs else None

    def _audits(self) -> dict[str, tuple[AxiomSummary, ...]]:
        """The shares of pairs that hold, are neutral, violate; and why."""
        made = {name: self.sets.made(name, self.sizes.audit, term=self.term) for name in AUDITED}
        return {
            name: audit_pairs([self.ranker], pairs, idf=self.sets.pool.idf, seed=self.seed).axioms
            for name, pairs in made.items() if pairs
        }  # fmt: skip


def label(ranker: NeuralRanker) -> str:
    """The ranker's name, and what is missing of it."""
    if ranker.kind == "late-interaction" and getattr(ranker, "projection", None) is None:
        return f"{ranker.name} (its projection is missing)"
    return ranker.name


def reads(ranker: NeuralRanker) -> str:
    """What the score is read from."""
    if ranker.kind == "late-interaction":
        return "MaxSim over all tokens"
    if ranker.kind == "sparse":
        return "the largest weight of each word piece over all tokens"
    tokens = "[CLS]" if ranker.rows == (0,) else "the mean of all tokens"
    return f"a head on {tokens}" if ranker.kind == "cross-encoder" else tokens
