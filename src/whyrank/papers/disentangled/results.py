"""What the study returns: tables with tests, one query looked at, models opened, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.core.results import Result
from whyrank.evaluation.estimate import Comparison, Estimate
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.material import Values
from whyrank.learning.tables import Difference, Mean
from whyrank.pages.findings import Finding, count_sentence, findings_frame, plot_verdicts
from whyrank.papers.disentangled.sizes import Sizes
from whyrank.papers.disentangled.variants import Label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest
    from whyrank.pages.page import Figures


@dataclass(frozen=True)
class Row(Mean):
    """One variant and measure; `group` is of queries, in Table 6."""

    variant: str = ""
    group: str | None = None

    @classmethod
    def of_variant(
        cls, label: Label, measure: str, seeds: Sequence[Values], seed: int, group: str | None = None
    ) -> Row:
        """From the values of each seed; `seed` is the bootstrap's."""
        name, variant = label
        mean = Mean.of(name, measure, seeds, seed)
        return cls(name, measure, mean.mean, mean.by_seed, variant, group)

    @property
    def seeds(self) -> int:
        return len(self.by_seed)

    @property
    def queries(self) -> int:
        return self.mean.queries


@dataclass(frozen=True)
class LackingRow:
    """A row whose training is not finished, or came to nothing."""

    name: str
    variant: str


@dataclass(frozen=True)
class Table:
    """A table of the paper with our means, and its tests."""

    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    lacking: tuple[LackingRow, ...] = ()


@dataclass(frozen=True)
class LengthTable(Table):
    """Table 6: queries of at most `cut` words, and of more; `rule` says why the cut is there."""

    cut: int = 0
    rule: str = ""


@dataclass(frozen=True)
class Count:
    """One row of Table 1: mean, median and standard deviation over `n` queries or documents."""

    what: str
    mean: float
    median: float
    spread: float
    n: int
    of: str
    digits: int


@dataclass(frozen=True)
class CollectionNumbers:
    """Table 1: what the collection is like."""

    documents: int
    queries: int
    test_queries: int
    fixed_test: bool
    rows: tuple[Count, ...]


@dataclass(frozen=True)
class ModelReading:
    """What a model reads of a document, means over the pairs looked at: sequences, document tokens, the same with
    those read twice, and the share of the document."""

    model: str
    sequences: float
    tokens: float
    with_repeats: float
    share: float


@dataclass(frozen=True)
class TextsRead:
    """How long texts are, and how much of a document each model reads, measured on `pairs` candidates."""

    pairs: int
    pieces_per_word: float
    query_tokens: float
    document_tokens: float
    models: tuple[ModelReading, ...]


@dataclass(frozen=True)
class TrainedVariant:
    """What the study's report says of a training; the rest is in the training's own report. `chosen` and `epochs`
    have one number per fold and seed, `pairs` one per fold."""

    name: str
    title: str
    model: str
    seeds: tuple[int, ...]
    folds: int
    chosen: tuple[int, ...]
    epochs: tuple[int, ...]
    pairs: tuple[int, ...]
    rank_loss: str
    rate: float
    backbone_rate: float
    tokens: int
    chunks: int
    report: str

    @property
    def untrained(self) -> int:
        """Trainings in which no epoch did better than the model before training."""
        return self.chosen.count(0)


@dataclass(frozen=True)
class WordGraphs:
    """Figure 6: the relations of the word pieces, the first `query` of them the query's, under each mask; `exact`
    are the cells, query word and document word, of the same word."""

    layer: int
    layers: int
    query: int
    pieces: tuple[str, ...]
    exact: tuple[tuple[int, int], ...]
    graphs: dict[str, tuple[tuple[float, ...], ...]]
    cut: bool


@dataclass(frozen=True)
class PlanePoint:
    """Where a query or document stands."""

    kind: str
    x: float
    y: float


@dataclass(frozen=True)
class Plane:
    """Figures 7 and 8: a query's candidates by t-SNE (no points where they are too few), and the cosines of the
    centroids, by pairs of kinds, where the vectors are."""

    points: tuple[PlanePoint, ...]
    cosines: dict[str, float | None]
    relevant: int
    others: int
    perplexity: float


@dataclass(frozen=True)
class OneQuery:
    """One query looked at: the word graphs of its best candidate, and its candidates in the plane for each
    loss."""

    qid: str
    query: str
    part: str
    docno: str
    grade: int
    word_graphs: WordGraphs | None
    t_sne: dict[str, Plane]


@dataclass(frozen=True)
class AxiomCompared:
    """For one axiom the share of pairs that hold by model, and DGRe less BERT over the same pairs."""

    axiom: str
    holds: dict[str, Estimate]
    comparison: Comparison

    @property
    def difference(self) -> Estimate:
        return self.comparison.difference

    @property
    def queries(self) -> int:
        return self.difference.queries


@dataclass(frozen=True)
class AuditsCompared:
    """Both models audited on the same pairs, of `documents` per axiom."""

    axioms: tuple[AxiomCompared, ...]
    documents: int
    pairs: int
    seeds: dict[str, int]
    dropped: dict[str, dict[str, int]]


@dataclass(frozen=True)
class MappedHead:
    """A head's share of the gap: by seed, and the mean over the `of` seeds whose gap is surely above 0, with its
    interval where there is one seed; it is significant in so many of these."""

    layer: int
    head: int
    share: Estimate
    by_seed: tuple[float | None, ...]
    significant: int
    of: int


@dataclass(frozen=True)
class HeadMap:
    """The heads of one group of models, and for each model the gap between perturbed and baseline."""

    models: tuple[str, ...]
    heads: tuple[MappedHead, ...]
    gaps: tuple[Estimate, ...]
    pairs: int


@dataclass(frozen=True)
class MapsAlike:
    """Pearson's r of the maps of two groups: over all pairs of models the mean, the least and the most, and each
    with its interval."""

    one: str
    other: str
    mean: float
    least: float
    most: float
    each: tuple[Estimate, ...]


@dataclass(frozen=True)
class HeadMaps:
    """Activation patching of every head on the same pairs, before training and after. `no_backbone` says why there
    is no map before training."""

    axiom: str
    pairs: int
    no_backbone: str | None
    backbone_kind: str | None
    maps: dict[str, HeadMap]
    alike: tuple[MapsAlike, ...]


@dataclass(frozen=True)
class GraphShares:
    """One share of DGRe's word graph: means by mask, and some masks against none."""

    means: dict[str, Estimate]
    differences: tuple[Difference, ...]
    readings: int


@dataclass(frozen=True)
class GraphsCompared:
    """DGRe's own word graph: the share on spurious relations by view, and the share from the other side."""

    views: dict[str, GraphShares]
    crossing: GraphShares


@dataclass(frozen=True)
class AttentionCompared:
    """The share of attention on spurious relations: below the top layer (`means`, tested), in the top layer, and
    in each layer. `kinds` are the shares of relations of each kind."""

    threshold: float
    unrelated: float
    readings: int
    queries: int
    kinds: dict[str, float]
    seeds: dict[str, int]
    means: dict[str, Estimate]
    top: dict[str, Estimate]
    layers: tuple[dict[str, Estimate], ...]
    differences: tuple[Difference, ...]
    graphs: GraphsCompared


@dataclass(frozen=True)
class FoldSizes:
    """Queries of a fold to learn from, to choose the epoch by, to test on."""

    train: int
    validation: int
    test: int


@dataclass(frozen=True)
class About:
    """What was asked, and on what."""

    collection: str
    backbone: str
    first_stage: str
    sizes: Sizes
    settings: dict[str, str]
    seed: int
    parts: tuple[str, ...]
    select: str
    fixed_test: bool
    judgements: JudgementsUsed
    folds: tuple[FoldSizes, ...]
    not_found: int
    measures: tuple[str, ...]
    quick: bool

    @property
    def tested(self) -> int:
        """Test queries of all folds."""
        return sum(fold.test for fold in self.folds)


@dataclass(frozen=True, repr=False)
class Disentangled(Result):
    """DGRe and its baselines, trained, compared, ablated and opened, beside the paper's findings.

    `lacking` are variants that could not be trained, and why; `to_do` those still to be trained; `not_done` the
    parts that could not be done, and why.
    """

    FILE: ClassVar[str] = "study.json"
    COMMAND: ClassVar[str] = "study disentangled"

    about: About
    trainings: tuple[TrainedVariant, ...] = ()
    tables: dict[str, Table] = field(default_factory=dict)
    table1: CollectionNumbers | None = None
    table6: LengthTable | None = None
    reading: TextsRead | None = None
    one_passage: tuple[str, ...] = ()
    cut_queries: int = 0
    lacking: dict[str, str] = field(default_factory=dict)
    to_do: tuple[str, ...] = ()
    one_query: OneQuery | None = None
    audits: AuditsCompared | None = None
    heads: HeadMaps | None = None
    attention: AttentionCompared | None = None
    not_done: dict[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def tested_tables(self) -> dict[str, Table]:
        """All tables with tests, by part."""
        return {**self.tables, **({"table6": self.table6} if self.table6 else {})}

    def verdict(self) -> list[str]:
        """What is unfinished, how DGRe does against BERT, and how many of the paper's findings agree."""
        from whyrank.papers.disentangled.report import dgre_against_bert, unfinished

        return [*unfinished(self), *dgre_against_bert(self), count_sentence(self.findings)]

    def to_pandas(self) -> pd.DataFrame:
        """One row per finding."""
        return findings_frame(self.findings)

    def plot(self, axes: Axes | None = None) -> Axes:
        """How many findings agree, differ, cannot be judged."""
        return plot_verdicts(self.findings, axes)

    @cached_property
    def drawn(self) -> Figures:
        """The figures with their captions and data, drawn once."""
        from whyrank.papers.disentangled.figures import disentangled_figures

        return disentangled_figures(self)

    def figures(self) -> Mapping[str, str]:
        return {name: svg for name, (svg, _, _) in self.drawn.items()}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.papers.disentangled.report import study_page

        return study_page(self).write(path, manifest)
