"""How a ranker's first singular vectors go with IDF."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whyrank.collections.idf import FORMULAS, TokenIdf
from whyrank.edits.dial import VECTORS, idf_correlation, oriented_spectrum
from whyrank.interventions.statistics import finite
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    import pandas as pd


def idf_correlations(
    ranker: NeuralRanker, idf: TokenIdf, vectors: int = VECTORS
) -> tuple[dict[str, Any], pd.DataFrame]:
    """r of each of the first singular vectors with IDF over whole words, ready for JSON, and a row a token.

    The words' IDF fixes the sign of each vector, so r is never above 0 (by BM25's formula): how far below is what
    counts. An IDF that was counted has two formulas; one from a file or from word frequencies is what it is.
    """
    spectrum = oriented_spectrum(ranker, idf, vectors)
    formulas = ("bm25",) if idf.bm25 is idf.plain else FORMULAS
    rows = []
    for vector in range(len(spectrum.values)):
        for formula in formulas:
            found = idf_correlation(spectrum, idf, vector, formula)
            rows.append(
                {
                    "vector": vector, "formula": formula if len(formulas) > 1 else "given",
                    "singular_value": float(spectrum.values[vector]), "r": finite(found.r),
                    **found.interval.to_json(), "n": found.n,
                }
            )  # fmt: skip
    vocabulary, width = ranker.encoder.word_embeddings.shape
    told = {"rows": vocabulary, "width": width, "idf": idf.source, "correlations": rows}
    return told, _table(ranker, idf, spectrum.left.numpy(), formulas)


def _table(ranker: NeuralRanker, idf: TokenIdf, left: Any, formulas: tuple[str, ...]) -> pd.DataFrame:
    """token, piece, whole, idf by each formula, U0, U1, ..."""
    import pandas as pd

    size = min(len(idf.whole), len(left))
    tokenizer = ranker.pieces.tokenizer
    columns = {
        "token": range(size),
        "piece": [tokenizer.id_to_token(i) for i in range(size)],
        "whole": idf.whole[:size],
        **{f"idf_{formula}" if len(formulas) > 1 else "idf": idf.of(formula)[:size] for formula in formulas},
        **{f"U{i}": left[:size, i] for i in range(left.shape[1])},
    }
    return pd.DataFrame(columns)
