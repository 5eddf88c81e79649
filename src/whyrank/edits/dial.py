"""The dial that a ranker has for how rare it takes a word to be: U_0 of its embedding matrix, and how to turn it.

    W_E = U S V^T        W'[t] = W[t] + (U_0'[t] - U_0[t]) S_0 V_0

Turning it changes the rows of the edited tokens along one direction and nothing else; the matrix is never rebuilt.
U_0, S_0 and V_0 are of the matrix as it is when the dial is made, before any edit. The sign of a singular vector
means nothing by itself: an IDF fixes it, so that rarer words have less of U_0. Where U_0 does not clearly go with
the IDF there is no dial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from whyrank.collections.demo import open_demo
from whyrank.collections.idf import TokenIdf, token_idf
from whyrank.core.errors import UserError
from whyrank.edits.edit import Edit, TermEdit
from whyrank.edits.idf import CLEAR
from whyrank.edits.results import DialSummary, Turn
from whyrank.edits.rows import RowChange
from whyrank.edits.term_pieces import pieces_of
from whyrank.edits.units import Units
from whyrank.encoders.spectrum import Spectrum
from whyrank.evaluation.correlation import Pearson, independent_pearson
from whyrank.evaluation.estimate import Estimate, estimate_text
from whyrank.rankers.neural import NeuralRanker

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection

#: Singular vectors that are kept.
VECTORS = 10


class UnclearSign(UserError):
    """U_0 does not clearly go with an IDF, so nobody knows which way is up."""


@dataclass(frozen=True, eq=False)
class Dial:
    """A ranker's singular vectors, their signs fixed by an IDF, and how U_0 goes with it over whole words.

    `fallback` says why the IDF is the built-in collection's, where that is not what was asked for.
    """

    ranker: NeuralRanker
    spectrum: Spectrum
    idf: TokenIdf
    correlation: Pearson
    fallback: str | None = None

    @classmethod
    def of(
        cls,
        ranker: NeuralRanker,
        idf: str = "collection",
        collection: Collection | None = None,
        *,
        fall_back: bool = False,
    ) -> Dial:
        """By the IDF that is named. Without any collection, and with `fall_back` also where the collection is too
        small to tell the sign, by that of the built-in one."""
        tokenizer = ranker.pieces.tokenizer
        why, unclear = "no collection to count words in", None
        if collection is not None or idf != "collection":
            try:
                return cls.by(ranker, token_idf(tokenizer, idf, collection))
            except UnclearSign as error:
                if not fall_back or collection is None or idf != "collection":
                    raise
                why, unclear = f"the words of {collection.name} do not tell the sign of U0", error
        try:
            built_in = cls.by(ranker, token_idf(tokenizer, "collection", open_demo()))
        except UnclearSign as error:
            raise unclear or error from error
        return replace(built_in, fallback=why)

    @classmethod
    def by(cls, ranker: NeuralRanker, idf: TokenIdf) -> Dial:
        """By an IDF; refused when U_0 does not clearly go with it."""
        spectrum = oriented_spectrum(ranker, idf)
        correlation = idf_correlation(spectrum, idf)
        if not correlation.interval.high < CLEAR:
            r = estimate_text(correlation.r, correlation.interval)
            raise UnclearSign(
                f"the first singular vector of {ranker.name} does not clearly go with the IDF of {idf.source} "
                f"(r = {r}, {correlation.n} words), so its sign is unknown",
                todo="give a larger collection, or as idf wordfreq or a file",
            )
        return cls(ranker, spectrum, idf, correlation)

    @cached_property
    def u0(self) -> Tensor:
        """U_0 [V]."""
        return self.spectrum.left[:, 0]

    @cached_property
    def units(self) -> Units:
        """In what an edit is counted: U_0 over the whole words of the vocabulary."""
        size = min(len(self.idf.whole), len(self.u0))
        whole = self.idf.whole[:size]
        return Units.of(self.u0[:size].numpy()[whole], self.idf.bm25[:size][whole])

    def turns(self, edit: Edit) -> list[Turn]:
        """What the edit does to U_0 of each piece.

        Edit of one term act in turn, each on what the one before left. A piece that several terms share moves
        once: by the largest of their rises and the largest of their falls, added. So edits of different terms
        commute, and a long list of terms does not pile up on a piece such as `##s`.
        """
        tokenizer = self.ranker.pieces.tokenizer
        users: dict[int, list[str]] = {}
        for term in edit.terms:
            for token in pieces_of(tokenizer, term):
                users.setdefault(token, []).append(term)
        edits: dict[str, list[TermEdit]] = {}
        for one in edit:
            edits.setdefault(one.term, []).append(one)
        by_term = {term: Edit(tuple(parts)) for term, parts in edits.items()}
        found = []
        for token, terms in users.items():
            before = float(self.u0[token])
            moves = [by_term[term].turned(term, before, self.units) - before for term in terms]
            after = before + max(0.0, *moves) + min(0.0, *moves)
            found.append(Turn(token, str(tokenizer.id_to_token(token)), tuple(terms), before, after))
        return found

    def change(self, turns: Sequence[Turn] | Edit) -> RowChange:
        """What is added to the rows of the embedding matrix."""
        turns = self.turns(turns) if isinstance(turns, Edit) else turns
        amounts = torch.tensor([turn.after - turn.before for turn in turns], dtype=torch.float64)
        return RowChange(tuple(turn.token for turn in turns), amounts[:, None] * self.spectrum.direction)

    def summary(self) -> DialSummary:
        """Where the sign comes from."""
        r, words = self.correlation.r, self.correlation.n
        estimate = Estimate.of(r, self.correlation.interval, words, 0)
        s0 = float(self.spectrum.values[0])
        return DialSummary(self.idf.source, self.fallback, s0, estimate, self.units)


def oriented_spectrum(ranker: NeuralRanker, idf: TokenIdf, k: int = VECTORS) -> Spectrum:
    """The first singular vectors of a ranker's embedding matrix, each against the IDF of whole words."""
    return Spectrum.of(ranker.encoder.word_embeddings, k).oriented(torch.from_numpy(idf_of_words(idf, "bm25")))


def idf_of_words(idf: TokenIdf, formula: str) -> np.ndarray:
    """IDF by token, NaN for what is not a whole word."""
    return np.where(idf.whole, idf.of(formula), np.nan)


def idf_correlation(spectrum: Spectrum, idf: TokenIdf, vector: int = 0, formula: str = "bm25") -> Pearson:
    """Pearson's r of one singular vector with the IDF, over whole words."""
    rarity = idf_of_words(idf, formula)
    return independent_pearson(spectrum.left[: len(rarity), vector].numpy(), rarity)
