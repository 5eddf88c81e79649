"""Late interaction (ColBERT): one vector a token; each query token finds its best document token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.errors import UserError
from whyrank.rankers.checkpoint import Checkpoint, read_weights
from whyrank.rankers.dual import DualRanker
from whyrank.text.pieces import Sequenced


class LateInteraction(DualRanker):
    """score = sum over query tokens i of max over document tokens j of P h_i . P h_j, each normalised.

    P is the checkpoint's projection; `projection: none` in the settings says that it has none and the
    hidden states are compared themselves. A marker token after the first tells query from document;
    `query_length` pads queries with mask tokens that take part in the sum, as ColBERT does.
    """

    kind = "late-interaction"
    pairs_at_a_time = 4_000

    def __init__(self, checkpoint: Checkpoint, device: torch.device | str = "cpu") -> None:
        self.model = checkpoint.model("AutoModel").to(device)
        encoder = open_encoder(self.model)
        super().__init__(checkpoint, encoder, checkpoint.pieces(encoder.max_length))
        settings = checkpoint.settings
        self.projection = _projection(checkpoint)
        if self.projection is not None:
            self.projection = self.projection.to(device)
        self.markers = {side: self._token(settings.get(f"{side}_marker")) for side in ("query", "document")}
        self.mask_token = self._token(settings.get("mask_token", "[MASK]"), optional=True)
        self.query_length = int(settings.get("query_length", 0))

    def head_weights(self) -> Iterable[Tensor]:
        return () if self.projection is None else (self.projection,)

    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        marker = self.markers[side]
        marked = [one.with_marker(marker) for one in self.pieces.texts(texts, room=0 if marker is None else 1)]
        return [self._expand(one) for one in marked] if side == "query" else marked

    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        vectors = hidden if self.projection is None else hidden @ self.projection.T
        vectors = functional.normalize(vectors, dim=-1)
        return [one[:length] for one, length in zip(vectors, inputs.lengths.tolist(), strict=True)]

    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        return (query @ document.T).max(dim=1).values.sum()

    def _expand(self, query: Sequenced) -> Sequenced:
        """ColBERT's query augmentation: mask tokens up to `query_length`."""
        missing = min(self.query_length, self.max_length) - len(query)
        if missing <= 0 or self.mask_token is None:
            return query
        return Sequenced(query.ids + [self.mask_token] * missing, query.type_ids + [0] * missing, query.cut)

    def _token(self, token: str | None, optional: bool = False) -> int | None:
        if token is None:
            return None
        number = self.pieces.tokenizer.token_to_id(token)
        if number is None and not optional:
            raise UserError(
                f"the vocabulary has no marker token '{token}'", todo="check query_marker, document_marker"
            )
        return number


def _projection(checkpoint: Checkpoint) -> Tensor | None:
    """The projection matrix [d_out, d]: in the checkpoint (ColBERT), or in a Dense module beside it (PyLate)."""
    if checkpoint.settings.get("projection") == "none":
        return None
    beside = sorted(Path(checkpoint.folder).glob("*_Dense"))
    for folder in [Path(checkpoint.folder), *beside]:
        weights = read_weights(folder, wanted=lambda name: name.endswith("linear.weight"))
        if weights:
            return next(iter(weights.values())).float()
    raise UserError(
        "no projection (linear.weight) in this checkpoint",
        where=checkpoint.folder,
        todo="load it with projection='none' to compare the hidden states themselves",
    )
