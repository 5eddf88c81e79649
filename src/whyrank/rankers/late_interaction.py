"""Late interaction (ColBERT): one vector per token; each query token finds its best document token."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

from whyrank.core.errors import UserError, quoted
from whyrank.core.json_file import read_json
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import CONFIG, TOKENIZER, DenseFile
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.weights import read_weights
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens

#: The weight of the projection, in ColBERT's checkpoints and in a Dense module.
PROJECTION = "linear.weight"


class LateInteraction(DualRanker):
    """score = sum over query tokens i of max over document tokens j of P h_i . P h_j, each normalised.

    P is the checkpoint's projection; `projection: none` in the settings says that it has none and the
    hidden states are compared themselves. A marker token after the first tells query from document. As in
    ColBERT, and as its checkpoints say: queries are cut and filled up with mask tokens to `query_length`, which
    take part in the sum but are not attended to; documents are cut to `document_length`, and their punctuation
    takes no part.
    """

    kind = "late-interaction"

    def __init__(self, checkpoint: Checkpoint, device: torch.device | str = "cpu") -> None:
        self.model = checkpoint.model("AutoModel", also_read=(PROJECTION,)).to(device)
        encoder = open_encoder(self.model)
        super().__init__(checkpoint, encoder, checkpoint.pieces(encoder.max_length))
        settings = checkpoint.settings
        self.projection = _projection(checkpoint)
        if self.projection is not None:
            self.projection = self.projection.to(device)
        self.markers = {side: self._token(settings.get(f"{side}_marker")) for side in ("query", "document")}
        self.mask_token = self._token(settings.get("mask_token", "[MASK]"), optional=True)
        self.lengths = {side: settings.get(f"{side}_length") or self.max_length for side in ("query", "document")}
        self.expand_queries = bool(settings.get("expand_queries", False))
        self.attend_to_expansion = bool(settings.get("attend_to_expansion", False))
        self.skipped = self._punctuation() if settings.get("skip_punctuation") else []
        if any(self.markers.values()) and not self.pieces.tokenizer.encode("").ids:
            raise UserError(
                "the tokenizer puts no token before a text, after which the marker stands",
                where=checkpoint.folder / TOKENIZER,
                todo="check its post_processor",
            )

    def head_weights(self) -> Iterable[Tensor]:
        return () if self.projection is None else (self.projection,)

    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        marker = self.markers[side]
        pieces = self.pieces.texts(texts, room=0 if marker is None else 1, most=self.lengths[side])
        marked = [one.with_marker(marker) for one in pieces]
        return [self._expand(one) for one in marked] if side == "query" else marked

    @property
    def document_length(self) -> int:
        return self.opened_length()

    def opened_length(self, side: str = "document") -> int:
        return min(self.max_length, self.lengths[side])

    def query_tokens(self, text: str) -> Tokens:
        return self.pieces.whole(text).with_marker(self.markers["query"])

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.pieces.whole(text).with_marker(self.markers["document"])

    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        vectors = hidden if self.projection is None else hidden @ self.projection.T
        vectors = functional.normalize(vectors, dim=-1)
        kept = torch.arange(vectors.shape[1], device=vectors.device) < inputs.lengths[:, None]
        if side == "document" and self.skipped:
            kept &= ~torch.isin(inputs.ids, torch.tensor(self.skipped, device=vectors.device))
        return [one[rows] for one, rows in zip(vectors, kept, strict=True)]

    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        return (query @ document.T).max(dim=1).values.sum()

    def _expand(self, query: Sequenced) -> Sequenced:
        """ColBERT's query augmentation: mask tokens up to `query_length`."""
        missing = min(self.lengths["query"], self.max_length) - len(query)
        if missing <= 0 or not self.expand_queries or self.mask_token is None:
            return query
        ids, types = query.ids + [self.mask_token] * missing, query.type_ids + [0] * missing
        return Sequenced(ids, types, query.cut, 0 if self.attend_to_expansion else missing)

    def _punctuation(self) -> list[int]:
        """The tokens that are a punctuation mark."""
        found = (self.pieces.tokenizer.encode(mark, add_special_tokens=False).ids for mark in string.punctuation)
        return sorted({ids[0] for ids in found if len(ids) == 1})

    def _token(self, token: str | None, optional: bool = False) -> int | None:
        if token is None:
            return None
        number = self.pieces.tokenizer.token_to_id(token)
        if number is None and not optional:
            raise UserError(
                f"the vocabulary has no marker token {quoted(token)}",
                where=self.checkpoint.folder,
                todo="check query_marker, document_marker",
            )
        return number


def _projection(checkpoint: Checkpoint) -> Tensor | None:
    """The projection matrix [d_out, d]: in the checkpoint (ColBERT), or in a Dense module beside it (PyLate)."""
    if checkpoint.settings.get("projection") == "none":
        return None
    weights = read_weights(checkpoint.folder, wanted=lambda name: name == PROJECTION)
    if weights:
        return weights[PROJECTION].float()
    chained: Tensor | None = None
    for folder in sorted(checkpoint.folder.glob("*_Dense")):
        weights = read_weights(folder, wanted=lambda name: True)
        config = folder / CONFIG
        dense: DenseFile = read_json(config, DenseFile) if config.exists() else DenseFile()
        activation = dense.activation_function or "Identity"
        if set(weights) != {PROJECTION} or not activation.endswith("Identity"):
            raise UserError(
                "a Dense module that is not a plain projection", where=folder, todo="this is not supported"
            )
        matrix = weights[PROJECTION].float()
        chained = matrix if chained is None else matrix @ chained
    if chained is not None:
        return chained
    raise UserError(
        f"no projection ({PROJECTION}) in this checkpoint",
        where=checkpoint.folder,
        todo="load it with projection='none' to compare the hidden states themselves",
    )
