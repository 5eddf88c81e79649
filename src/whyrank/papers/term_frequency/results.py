"""What the study returns of one ranker: every part, the findings beside the paper's, and its page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.core.results import Result
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import FEWEST_QUERIES
from whyrank.pages.findings import Finding, count_sentence
from whyrank.papers.term_frequency.parts import (
    Attention,
    AttentionExample,
    Counting,
    Depth,
    Estimators,
    FlowLink,
    FlowRow,
    PairedDifference,
    PairSet,
    Questions,
    SiteEffect,
    Together,
)
from whyrank.papers.term_frequency.sizes import Sizes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest
    from whyrank.pages.page import Figures


@dataclass(frozen=True)
class About:
    """The ranker that was studied, where its score is read, and on what: its own top `documents` for so many
    queries, `cut` of which are longer than the tokens that are read; how a query's term was chosen."""

    ranker: str
    kind: str
    source: str
    layers: int
    heads_per_layer: int
    reads: str
    term: str
    documents: str
    queries: int
    max_length: int
    cut: float
    sizes: Sizes


@dataclass(frozen=True, repr=False)
class TermFrequencyStudy(Result):
    """How one ranker counts a term: heads, positions, saturation, flow, estimators, open questions."""

    FILE: ClassVar[str] = "term_frequency.json"
    COMMAND: ClassVar[str] = "study term-frequency, one ranker"

    about: About
    #: Heads by set of pairs; controls as shares of the gap of what they control.
    sets: dict[str, PairSet]
    controls: dict[str, tuple[PairedDifference, ...]]
    leading: tuple[str, ...]
    depth: Depth
    blocks: tuple[SiteEffect, ...]
    by_category: tuple[SiteEffect, ...]
    together: Together
    append_less_prepend: tuple[PairedDifference, ...]
    append_less_prepend_by_category: tuple[PairedDifference, ...]
    attention: tuple[Attention, ...]
    patterns: tuple[Attention, ...]
    example: AttentionExample | None
    estimators: tuple[Estimators, ...]
    counting: Counting
    flow: tuple[FlowRow, ...]
    links: tuple[FlowLink, ...]
    questions: Questions
    findings: tuple[Finding, ...] = ()
    #: Whether maps of heads are coloured only where they are significant.
    hide_insignificant: bool = False

    @property
    def append(self) -> PairSet:
        """The set that everything else is compared with."""
        return self.sets["append"]

    def verdict(self) -> list[str]:
        """Which heads carry an appended term, where the signal is read, and how the paper's findings fare."""
        sentences = [self._heads_sentence(), self._flow_sentence(), count_sentence(self.findings)]
        return [one for one in sentences if one]

    def _heads_sentence(self) -> str:
        ranker, heads = self.about.ranker, self.append.heads
        if self.append.queries < FEWEST_QUERIES:
            return f"{ranker}: too few queries to say which heads carry an appended term."
        significant = [head for head in heads if head.is_significant]
        said = f"{len(significant)} of {len(heads)} heads of {ranker} carry an appended term"
        said += " (significant at 0.05, Holm)"
        if not significant:
            return f"{said}."
        top = max(significant, key=lambda head: head.size)
        return f"{said}; the largest, {top.name}, has {top.share.text('.2f')} of the gap."

    @property
    def read_out(self) -> tuple[str, Estimate] | None:
        """The category of tokens in which most of the signal stands where the score is read, and how much."""
        at_the_end = {row.category: row.stands for row in self.flow if row.layer == self.about.layers}
        known = {name: one for name, one in at_the_end.items() if one is not None and one.value is not None}
        return max(known.items(), key=lambda item: item[1].value or 0.0) if known else None

    def _flow_sentence(self) -> str:
        if self.read_out is None:
            return ""
        category, stands = self.read_out
        return (
            f"Where the score is read, most of the signal stands in {category}: {stands.text('.2f')} of the gap."
        )

    def to_pandas(self) -> pd.DataFrame:
        """One row per set of pairs and head."""
        import pandas as pd

        return pd.DataFrame(
            {
                "set": name, "head": head.name, "layer": head.layer, "share": head.share.value,
                "low": head.share.low, "high": head.share.high, "effect": head.mean_effect.value,
                "p_holm": head.p_holm, "pairs": head.share.pairs, "queries": head.share.queries,
            }
            for name, one in self.sets.items() for head in one.heads
        )  # fmt: skip

    def plot(self, axes: Axes | None = None) -> Axes:
        """All heads on append: the share of the gap, a dot where it is significant."""
        from whyrank.papers.term_frequency.figures import plot_heads

        return plot_heads(self, axes)

    @cached_property
    def drawn(self) -> Figures:
        """The figures of the page with their captions and data, drawn once."""
        from whyrank.papers.term_frequency.report import study_figures

        return study_figures(self)

    def figures(self) -> Mapping[str, str]:
        return {name: svg for name, (svg, _, _) in self.drawn.items()}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.papers.term_frequency.report import study_page

        return study_page(self).write(path, manifest)
