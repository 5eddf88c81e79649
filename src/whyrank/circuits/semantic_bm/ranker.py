"""SemanticBM as a ranker: a fitted model that scores any text, and says term by term why."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from whyrank.circuits.head import Head
from whyrank.circuits.reading import cross_encoder
from whyrank.circuits.semantic_bm.features import token_columns
from whyrank.circuits.semantic_bm.file import FILE, read_fitted
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.matching import Matched, read_matching
from whyrank.circuits.semantic_bm.results import BaseRanker, Explanation, TokenTerm
from whyrank.core.errors import UserError, located, quoted
from whyrank.core.progress import Progress
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import check_settings
from whyrank.rankers.cross_encoder import PAIRS_AT_A_TIME, CrossEncoder
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Pair, Ranker, Scores, Source, check_pairs, finite


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

    def read(self, one: Matched, heads_per_layer: int) -> np.ndarray:
        """MS of each token through each head: [m, K]."""
        places = [head.layer * heads_per_layer + head.head for head in self.heads]
        return (one.document + one.separator if self.sep else one.document)[:, places].astype(float)

    def terms(self, f: np.ndarray, reads: np.ndarray) -> np.ndarray:
        """What each token adds by each column: [m, 1 + 2 K]; with the intercept they sum to the score."""
        return token_columns(f, reads) * self.slopes


class SemanticBMRanker(Ranker):
    """The cross-encoder's score by its matching heads and its IDF dimension; queries of any length.

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
        found = tuple(
            TokenTerm.of(self._token(one.ids[i]), float(f[i]), float(idf[i, 0]), *parts)
            for i, parts in enumerate(by_head)
        )
        score = float(self.model.intercept + terms.sum())
        return Explanation(query, score, self.model.intercept, tuple(map(str, self.model.heads)), found)

    def _token(self, number: int) -> str:
        return self.base.pieces.tokenizer.id_to_token(int(number)) or f"[{number}]"

    def _terms(self, one: Matched) -> tuple[np.ndarray, np.ndarray]:
        reads = self.model.read(one, self.base.encoder.heads)
        return reads, self.model.terms(self.u0.rarity(one.ids), reads)

    def fingerprint(self) -> str:
        model = self.model
        content = [self.kind, list(map(str, model.heads)), model.intercept, model.slopes.tolist(), model.sep]
        content += [asdict(self.u0.anchor), self.base.fingerprint()]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def base_ranker(ranker: CrossEncoder) -> BaseRanker:
    """What semantic_bm.json says of the cross-encoder: its name, where it is, and what tells it from any other."""
    checkpoint = ranker.checkpoint
    settings = {key: value for key, value in checkpoint.settings.items() if value is not None and key != "kind"}
    place = str(checkpoint.folder) if checkpoint.source.place == "folder" else checkpoint.name
    return BaseRanker(ranker.name, place, settings, ranker.fingerprint())


def load_semantic_bm(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> SemanticBMRanker:
    """The model in a run folder of `whyrank semantic-bm`, over the very cross-encoder it was fitted to."""
    path = Path(checkpoint.folder) / FILE
    fitted = read_fitted(path)
    model = Model(fitted.parsed_heads, fitted.model.intercept, fitted.slopes, fitted.sep)
    check_settings(fitted.ranker.settings, where=path)
    settings = {**fitted.ranker.settings, **checkpoint.settings, "kind": "cross-encoder"}
    with located(path, fitted.ranker.load):
        opened = cross_encoder(load(fitted.ranker.load, device=str(device), **settings))
        if opened.fingerprint() != fitted.ranker.fingerprint:
            raise UserError(
                f"{quoted(fitted.ranker.name)} is no longer the ranker that this model was fitted to",
                todo="restore its checkpoint, or run whyrank semantic-bm again",
            )
        for head in model.heads:
            head.site().check(opened.encoder.layers, opened.encoder.heads)
        return SemanticBMRanker(checkpoint.name, opened, model, IdfDimension.again(opened, fitted.u0.anchor))
