"""Bi-encoders: one vector per text, by CLS or mean pooling; the score is a dot product or a cosine."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from whyrank.core.errors import UserError
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.pooling import POOLINGS, mean_rows
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens

_log = logging.getLogger(__name__)


class BiEncoder(DualRanker):
    """score = e(query) . e(document), with e the pooled last hidden state, normalised for a cosine."""

    kind = "bi-encoder"

    def __init__(self, checkpoint: Checkpoint, device: torch.device | str = "cpu") -> None:
        model = checkpoint.model("AutoModel").to(device)
        encoder = open_encoder(model)
        super().__init__(checkpoint, encoder, checkpoint.pieces(encoder.max_length))
        self.model = model
        settings = checkpoint.settings
        if "pooling" not in settings:
            _log.info("%s does not say how it pools: CLS and a dot product are assumed", checkpoint.name)
        self.pooling = settings.get("pooling", "cls")
        self.normalise = bool(settings.get("normalise"))
        self.prefixes = {side: settings.get(f"{side}_prefix", "") for side in ("query", "document")}
        if self.pooling not in POOLINGS:
            raise UserError(
                f"pooling '{self.pooling}' is not supported",
                where=checkpoint.folder,
                todo=f"use {' or '.join(POOLINGS)}",
            )
        self.rows = (0,) if self.pooling == "cls" else None

    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        return self.pieces.texts([self.prefixes[side] + text for text in texts])

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.pieces.whole(text, prefix=self.prefixes["document"])

    def query_tokens(self, text: str) -> Tokens:
        return self.pieces.whole(text, prefix=self.prefixes["query"])

    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        pooled = hidden[:, 0] if self.pooling == "cls" else mean_rows(hidden, inputs)
        return list(functional.normalize(pooled, dim=-1) if self.normalise else pooled)

    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        return query @ document
