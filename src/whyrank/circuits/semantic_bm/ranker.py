"""SemanticBM as a ranker: a fitted model that scores any text, and says term by term why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from whyrank.circuits.head import Head
from whyrank.circuits.reading import cross_encoder
from whyrank.circuits.semantic_bm.features import token_columns
from whyrank.circuits.semantic_bm.file import FILE, read_fitted
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.matching import Matched, read_matching
from whyrank.core.errors import UserError, located, quoted
from whyrank.core.progress import Progress
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import check_settings
from whyrank.rankers.cross_encoder import PAIRS_AT_A_TIME, CrossEncoder
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Pair, Ranker, Scores, Source, check_pairs, finite


class TokenTerm(NamedTuple):
    """What one query token adds. With f = -U0 and MS_k for head k:

    `idf` is a f, `matching` has beta_k MS_k and `interaction` gamma_k f MS_k for each head; `reads` are the MS_k.
    """

    token: str
    f: float
    idf: float
    matching: tuple[float, ...]
    interaction: tuple[float, ...]
    reads: tuple[float, ...]

    @property
    def by_head(self) -> tuple[float, ...]:
        """What the token adds through each head."""
        return tuple(a + b for a, b in zip(self.matching, self.interaction, strict=True))

    @property
    def total(self) -> float:
        return self.idf + sum(self.by_head)


class Explanation(NamedTuple):
    """A score term by term: `intercept` and the terms' totals sum to it."""

    query: str
    score: float
    intercept: float
    heads: tuple[Head, ...]
    terms: tuple[TokenTerm, ...]

    def to_json(self) -> dict[str, Any]:
        terms = [{**one._asdict(), "by_head": one.by_head, "total": one.total} for one in self.terms]
        return {**self._asdict(), "heads": list(map(str, self.heads)), "terms": terms}


@dataclass(frozen=True, eq=False)
class Model:
    """The fitted numbers: `slopes` [1 + 2 K] of f, of the K heads' MS, and of their products."""

    heads: tuple[Head, ...]
    intercept: float
    slopes: np.ndarray
    sep: bool = False

    @property
    def layers(self) -> int:
        """How far up the encoder the heads are."""
        return 1 + max(head.layer for head in self.heads)

    def read(self, one: Matched, heads_a_layer: int) -> np.ndarray:
        """MS of each token through each head: [m, K]."""
        places = [head.layer * heads_a_layer + head.head for head in self.heads]
        return (one.document + one.separator if self.sep else one.document)[:, places].astype(float)

    def terms(self, f: np.ndarray, reads: np.ndarray) -> np.ndarray:
        """What each token adds by each column: [m, 1 + 2 K]; with the intercept they sum to the score."""
        return token_columns(f, reads) * self.slopes


class SemanticBM(Ranker):
    """The cross-encoder's score as its matching heads and its IDF dimension give it; queries of any length.

    Only the layers that hold the heads are run, and of the highest only the patterns.
    """

    kind = "semantic-bm"

    def __init__(self, name: str, base: CrossEncoder, model: Model, u0: IdfDimension) -> None:
        self.name, self.base, self.model, self.u0 = name, base, model, u0
        self.max_length = base.max_length
        what = f"{len(model.heads)} heads in {model.layers} of {base.encoder.layers} layers"
        self.source = Source(f"fitted to {base.name}", f"{what}, {len(model.slopes)} coefficients")

    def characters_read(self, query: str, text: str) -> int:
        return self.base.characters_read(query, text)

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        values, cut = np.empty(len(pairs)), 0
        for start in range(0, len(pairs), PAIRS_AT_A_TIME):
            some = pairs[start : start + PAIRS_AT_A_TIME]
            for i, one in enumerate(read_matching(self.base, some, layers=self.model.layers, progress=progress)):
                values[start + i] = self.model.intercept + self._terms(one)[1].sum()
                cut += one.cut
        return Scores(finite(values, pairs, self.name), cut)

    def explain(self, query: str, text: str) -> Explanation:
        """The score of one text, as what each token of the query adds by its IDF and through each head."""
        check_pairs([(query, text)])
        (one,) = read_matching(self.base, [(query, text)], layers=self.model.layers)
        f, (reads, terms) = self.u0.rarity(one.ids), self._terms(one)
        idf, matching, interaction = np.split(terms, [1, 1 + len(self.model.heads)], axis=1)
        by_head = zip(*(map(tuple, part.tolist()) for part in (matching, interaction, reads)), strict=True)
        told = tuple(
            TokenTerm(self._token(one.ids[i]), float(f[i]), float(idf[i, 0]), *parts)
            for i, parts in enumerate(by_head)
        )
        score = float(self.model.intercept + terms.sum())
        return Explanation(query, score, self.model.intercept, self.model.heads, told)

    def _token(self, number: int) -> str:
        return self.base.pieces.tokenizer.id_to_token(int(number)) or f"[{number}]"

    def _terms(self, one: Matched) -> tuple[np.ndarray, np.ndarray]:
        reads = self.model.read(one, self.base.encoder.heads)
        return reads, self.model.terms(self.u0.rarity(one.ids), reads)

    def fingerprint(self) -> str:
        model = self.model
        told = [self.kind, list(map(str, model.heads)), model.intercept, model.slopes.tolist(), model.sep]
        told += [self.u0.told["anchor"], self.base.fingerprint()]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


def how_to_load(ranker: CrossEncoder) -> dict[str, Any]:
    """What semantic_bm.json says of the cross-encoder: its name, where it is, and what tells it from any other."""
    checkpoint = ranker.checkpoint
    settings = {key: value for key, value in checkpoint.settings.items() if value is not None and key != "kind"}
    place = str(checkpoint.folder) if checkpoint.source.place == "folder" else checkpoint.name
    return {"name": ranker.name, "load": place, "settings": settings, "fingerprint": ranker.fingerprint()}


def load_semantic_bm(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> SemanticBM:
    """The model in a run folder of `whyrank semantic-bm`, over the very cross-encoder it was fitted to."""
    path = Path(checkpoint.folder) / FILE
    told = read_fitted(path)
    model = Model(told.parsed_heads, told.model.intercept, told.slopes, told.sep)
    check_settings(told.ranker.settings, where=path)
    settings = {**told.ranker.settings, **checkpoint.settings, "kind": "cross-encoder"}
    with located(path, told.ranker.load):
        opened = cross_encoder(load(told.ranker.load, device=str(device), **settings))
        if opened.fingerprint() != told.ranker.fingerprint:
            raise UserError(
                f"{quoted(told.ranker.name)} is no longer the ranker that this model was fitted to",
                todo="restore its checkpoint, or run whyrank semantic-bm again",
            )
        for head in model.heads:
            head.site().check(opened.encoder.layers, opened.encoder.heads)
        return SemanticBM(checkpoint.name, opened, model, IdfDimension.again(opened, told.u0_json()))
