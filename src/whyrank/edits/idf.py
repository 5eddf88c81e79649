"""How a ranker's first singular vectors go with IDF: the result, and how it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from whyrank.collections.idf import FORMULAS, TokenIdf
from whyrank.core.atomic import whole_file
from whyrank.core.results import Result
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from torch import Tensor

    from whyrank.core.runs import Manifest
    from whyrank.rankers.neural import NeuralRanker

TOKENS = "tokens.parquet"
#: The whole interval of r must lie below this for the sign of U_0 to count as known.
CLEAR = -0.05
#: A word, its IDF and its U_0.
Word = tuple[str, float, float]
#: Marks of a word's beginning in vocabularies.
BEGINNINGS = "Ġ▁"


@dataclass(frozen=True)
class VectorCorrelation:
    """Pearson's r of one singular vector with IDF by one formula, over `r.pairs` whole words."""

    vector: int
    formula: str
    singular_value: float
    r: Estimate


@dataclass(frozen=True, repr=False)
class IdfDirection(Result):
    """Whether a ranker knows how rare a word is: its first singular vectors against IDF."""

    FILE: ClassVar[str] = "idf.json"
    COMMAND: ClassVar[str] = "idf"

    ranker: str
    source: str
    #: Of the embedding matrix.
    rows: int
    width: int
    idf: str
    correlations: tuple[VectorCorrelation, ...]
    #: One row per token: token, piece, whole, the IDF by each formula, U0, U1, ...; a data frame.
    tokens: Any = field(default=None, repr=False, compare=False, metadata={"table": True})

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        return replace(super().read(folder), tokens=pd.read_parquet(Path(folder, TOKENS)))

    def to_pandas(self) -> pd.DataFrame:
        """One row per token."""
        return self.tokens

    @property
    def words(self) -> list[Word]:
        """The whole words that have an IDF."""
        column = "idf_bm25" if "idf_bm25" in self.tokens else "idf"
        known = self.tokens[self.tokens["whole"] & self.tokens[column].notna()]
        return list(zip(known["piece"].str.lstrip(BEGINNINGS), known[column], known["U0"], strict=True))

    def verdict(self) -> list[str]:
        r = self.correlations[0].r
        clear = r.interval and r.interval.high < CLEAR
        others = [one for one in self.correlations if one.vector and one.r.value is not None]
        goes = "goes" if clear else "does not clearly go"
        found = [f"U0 of {self.ranker} {goes} with the IDF of {self.idf}: r = {r.text()} over {r.pairs} words."]
        if others:
            next_ = max(others, key=lambda one: abs(one.r.value or 0.0))
            found.append(f"Of the other vectors U{next_.vector} goes with it most: r = {next_.r.text()}.")
        return [*found, "It can be turned as a dial (whyrank edit)." if clear else "Its sign is unknown: no dial."]

    def plot(self, axes: Axes | None = None) -> Axes:
        """U_0 against IDF, one dot per word."""
        from whyrank.edits.idf_report import plot_words
        from whyrank.plots.style import new_axes

        return plot_words(axes if axes is not None else new_axes(7.2, 4.6), self.words)

    def write_tables(self, folder: Path) -> list[Path]:
        with whole_file(folder / TOKENS) as partial:
            self.tokens.to_parquet(partial, index=False)
        return [folder / TOKENS]

    def figures(self) -> dict[str, str]:
        from whyrank.edits.idf_report import idf_figures

        return {name: svg for name, (svg, _, _) in idf_figures(self).items()}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.idf_report import idf_page

        return idf_page(self).write(path, manifest)


def idf_direction(ranker: NeuralRanker, idf: TokenIdf, vectors: int = 10) -> IdfDirection:
    """r of each of the first singular vectors with IDF over whole words, and one row per token.

    The words' IDF fixes the sign of each vector, so r is never above 0 (by BM25's formula): how far below is what
    counts. An IDF that was counted has two formulas; one from a file or from word frequencies is what it is.
    """
    from whyrank.edits.dial import idf_correlation, oriented_spectrum

    spectrum = oriented_spectrum(ranker, idf, vectors)
    formulas = ("bm25",) if idf.bm25 is idf.plain else FORMULAS
    found = []
    for vector, value in enumerate(spectrum.values.tolist()):
        for formula in formulas:
            r = idf_correlation(spectrum, idf, vector, formula)
            name = formula if len(formulas) > 1 else "given"
            found.append(VectorCorrelation(vector, name, value, Estimate.of(r.r, r.interval, r.n, 0)))
    vocabulary, width = ranker.encoder.word_embeddings.shape
    return IdfDirection(
        ranker.name, str(ranker.source), vocabulary, width, idf.source, tuple(found),
        _tokens(ranker, idf, spectrum.left, formulas),
    )  # fmt: skip


def _tokens(ranker: NeuralRanker, idf: TokenIdf, left: Tensor, formulas: Sequence[str]) -> pd.DataFrame:
    """token, piece, whole, idf by each formula, U0, U1, ..."""
    import pandas as pd

    vectors = left.numpy()
    size = min(len(idf.whole), len(vectors))
    tokenizer = ranker.pieces.tokenizer
    columns = {
        "token": range(size),
        "piece": [tokenizer.id_to_token(i) for i in range(size)],
        "whole": idf.whole[:size],
        **{f"idf_{formula}" if len(formulas) > 1 else "idf": idf.of(formula)[:size] for formula in formulas},
        **{f"U{i}": vectors[:size, i] for i in range(vectors.shape[1])},
    }
    return pd.DataFrame(columns)
