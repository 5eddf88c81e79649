"""What `semantic_bm` returns: how far a linear model of its own parts follows a cross-encoder, and that model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from whyrank.core.atomic import whole_file
from whyrank.core.results import Result
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

PREDICTIONS = "predictions.parquet"
SEMANTIC_BM, SHARED_ALPHA = "semantic_bm", "shared_alpha"


@dataclass(frozen=True)
class BaseRanker:
    """The cross-encoder that the model was fitted to: its name, where it is, what tells it from any other."""

    name: str
    load: str
    settings: dict[str, Any]
    fingerprint: str


@dataclass(frozen=True)
class Anchor:
    """The token that fixes the sign of U0, and its value there."""

    token: int
    value: float


@dataclass(frozen=True)
class U0:
    """The IDF dimension: by which IDF its sign was chosen, r with that over whole words, and its anchor."""

    idf: str
    r: Estimate
    anchor: Anchor


@dataclass(frozen=True)
class Coefficient:
    """One column of a regression: how it was standardised, its weight then, and its slope."""

    feature: str
    part: str
    head: str | None
    position: int | None
    mean: float
    deviation: float
    standardised: Estimate
    slope: float


@dataclass(frozen=True)
class Regression:
    """A fit; `rank` says how many columns count. `query_tokens`: of queries of this length only."""

    intercept: float
    level: float
    rank: int
    coefficients: tuple[Coefficient, ...]
    query_tokens: int | None = None


@dataclass(frozen=True)
class SharedAlpha:
    """Eq. 2 of the paper, fitted to the training part: `alphas` by head, times `match` for what the head reads and
    `interaction` for that times IDF; its mean squared error, and that with all slopes free."""

    intercept: float
    u0: float
    match: float
    interaction: float
    alphas: dict[str, float]
    error: float
    free_error: float


@dataclass(frozen=True)
class GroupSizes:
    """The samples of one regression."""

    query_tokens: int | None
    train: int
    test: int
    train_queries: int
    test_queries: int


@dataclass(frozen=True)
class OverQueries:
    """A measure of each query: the mean with its interval, the median and the deviation of a sample."""

    mean: Estimate
    median: float | None
    sd: float | None


@dataclass(frozen=True)
class ByGroup:
    """Pearson in each group's test part, as the paper's table sums it up: over query lengths."""

    mean: float | None
    median: float | None
    sd: float | None
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class Agreement:
    """How well a model agrees with the cross-encoder on the test part. `less`: by how much its Pearson is below
    SemanticBM's; `chosen`: the settings chosen in each group; `ndcg_share`: of the cross-encoder's own nDCG."""

    name: str
    columns: tuple[int, ...]
    rank: tuple[int, ...]
    chosen: tuple[dict[str, float], ...]
    pearson: Estimate
    less: Estimate | None
    by_group: ByGroup
    spearman: OverQueries
    ndcg: OverQueries | None
    ndcg_share: float | None
    #: Pearson within each query, which differences between queries cannot make.
    within: OverQueries | None = None


@dataclass(frozen=True)
class Draw:
    """The same model with other heads."""

    heads: tuple[str, ...]
    pearson: float | None
    spearman: float | None
    ndcg: float | None


@dataclass(frozen=True)
class Spread:
    """A measure over draws."""

    mean: float
    median: float | None
    sd: float | None
    least: float
    most: float


@dataclass(frozen=True)
class RandomHeads:
    """Draws of other heads; `as_good` of them have at least SemanticBM's Pearson."""

    draws: tuple[Draw, ...]
    as_good: int
    pearson: Spread | None
    spearman: Spread | None
    ndcg: Spread | None


@dataclass(frozen=True)
class ProtocolResult:
    """All models under one protocol; none where no group of samples is large enough."""

    name: str
    by_position: bool
    split: str
    sep: bool
    least: int
    samples: int
    dropped: int
    groups: tuple[GroupSizes, ...]
    models: tuple[Agreement, ...] = ()
    random_heads: RandomHeads | None = None
    cross_encoder_ndcg: OverQueries | None = None

    def model(self, name: str) -> Agreement | None:
        return next((one for one in self.models if one.name == name), None)


@dataclass(frozen=True)
class CollectionAgreement:
    """How models that were fitted to all collections agree on the test part of one."""

    protocol: str
    models: tuple[Agreement, ...]
    cross_encoder_ndcg: OverQueries | None

    def model(self, name: str) -> Agreement | None:
        return next((one for one in self.models if one.name == name), None)


@dataclass(frozen=True)
class OfCollection:
    """One of several collections: what it has, and how well the models agree on it under each protocol."""

    name: str
    first_stage: str
    queries: int
    samples: int
    protocols: tuple[CollectionAgreement, ...]


@dataclass(frozen=True)
class Choice:
    """SemanticBM's Pearson under one combination of what the two protocols do differently."""

    by_position: bool
    split: str
    sep: bool
    pearson: Estimate | None


@dataclass(frozen=True)
class TokenTerm:
    """What one query token adds, `total`. With f = -U0 and MS_k for head k:

    `idf` is a f, `matching` has beta_k MS_k and `interaction` gamma_k f MS_k for each head, `by_head` both;
    `reads` are the MS_k.
    """

    token: str
    f: float
    idf: float
    matching: tuple[float, ...]
    interaction: tuple[float, ...]
    reads: tuple[float, ...]
    by_head: tuple[float, ...]
    total: float

    @classmethod
    def of(
        cls,
        token: str,
        f: float,
        idf: float,
        matching: tuple[float, ...],
        interaction: tuple[float, ...],
        reads: tuple[float, ...],
    ) -> Self:
        by_head = tuple(a + b for a, b in zip(matching, interaction, strict=True))
        return cls(token, f, idf, matching, interaction, reads, by_head, idf + sum(by_head))


@dataclass(frozen=True)
class Explanation:
    """A score term by term: `intercept` and the terms' totals sum to it."""

    query: str
    score: float
    intercept: float
    heads: tuple[str, ...]
    terms: tuple[TokenTerm, ...]


@dataclass(frozen=True)
class Example:
    """One pair of the test part, explained, and the cross-encoder's own score."""

    qid: str
    docno: str
    cross_encoder: float
    explanation: Explanation


@dataclass(frozen=True, repr=False)
class SemanticBM(Result):
    """A cross-encoder as a linear model of its matching heads and its IDF dimension, under our protocol and the
    paper's; `load("semantic-bm:RUN")` opens the model as a ranker."""

    FILE: ClassVar[str] = "semantic_bm.json"
    COMMAND: ClassVar[str] = "semantic-bm"
    FORMAT: ClassVar[int] = 3

    ranker: BaseRanker
    collection: str
    first_stage: str
    depth: int
    circuit: str | None
    queries: int
    samples: int
    cut: int
    seed: int
    sep: bool
    heads: tuple[str, ...]
    u0: U0
    model: Regression
    protocols: tuple[ProtocolResult, ProtocolResult]
    paper_models: tuple[Regression, ...]
    choices: tuple[Choice, ...]
    example: Example
    shared_alpha: SharedAlpha | None = None
    #: Of several collections each one's own part, and the paper's Appendix G: one regression per query length.
    by_collection: tuple[OfCollection, ...] = ()
    by_length: ProtocolResult | None = None
    #: A data frame, one row per sample and protocol: the cross-encoder's score, and each model's.
    predictions: Any = field(default=(), repr=False, compare=False, metadata={"table": True})

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        return replace(super().read(folder), predictions=pd.read_parquet(Path(folder, PREDICTIONS)))

    @property
    def default(self) -> ProtocolResult:
        """Coefficients shared over positions, split by query."""
        return self.protocols[0]

    @property
    def paper(self) -> ProtocolResult:
        """As the paper's code does it."""
        return self.protocols[1]

    def verdict(self) -> list[str]:
        """How far the model follows the ranker, and whether its heads matter for that."""
        own, drawn, bm25 = self.default.models[0], self.default.random_heads, self.default.model("bm25")
        said = [
            f"A linear model of {len(self.heads)} matching heads and an IDF dimension follows "
            f"{self.ranker.name} with Pearson {own.pearson.text()} on queries it was not fitted to"
            + (f"; BM25 {bm25.pearson.text()}." if bm25 else ".")
        ]
        if drawn and drawn.pearson:
            said.append(
                f"{drawn.as_good} of {len(drawn.draws)} random draws of other heads do at least as well "
                f"({drawn.pearson.mean:.3f} on average)."
            )
        return said

    def to_pandas(self) -> pd.DataFrame:
        """One row per sample and protocol: the cross-encoder's score, and each model's."""
        import pandas as pd

        return pd.DataFrame(self.predictions)

    def test_part(self) -> pd.DataFrame:
        """The predictions of the test part under our protocol."""
        frame = self.to_pandas()
        return frame.query("protocol == 'default' and split == 'test'") if len(frame) else frame

    def plot(self, axes: Axes | None = None) -> Axes:
        """Pearson of every model with its interval."""
        from whyrank.circuits.semantic_bm.figures import plot_models
        from whyrank.plots.style import new_axes

        return plot_models(axes if axes is not None else new_axes(7.2, 3.2), self.default)

    def figures(self) -> dict[str, str]:
        from whyrank.circuits.semantic_bm.figures import semantic_bm_figures

        return semantic_bm_figures(self)

    def write_tables(self, folder: Path) -> list[Path]:
        with whole_file(folder / PREDICTIONS) as partial:
            self.to_pandas().to_parquet(partial, index=False)
        return [folder / PREDICTIONS]

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.circuits.semantic_bm.report import semantic_bm_page

        return semantic_bm_page(self).write(path, manifest)
