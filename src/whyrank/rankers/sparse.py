"""Learned sparse rankers (SPLADE): a weight for every word piece of the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from whyrank.encoders.adapters import adapter_of, open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.dual import DualRanker
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens


class Sparse(DualRanker):
    """w_t = max over tokens i of log(1 + ReLU(logit_it)); score = sum over pieces t of w_t(q) w_t(d)."""

    kind = "sparse"
    tokens_per_batch = 512

    def __init__(self, checkpoint: Checkpoint, device: torch.device | str = "cpu") -> None:
        self.model = checkpoint.model("AutoModelForMaskedLM", head="a masked-language-model head").to(device)
        encoder = open_encoder(self.model.base_model)
        super().__init__(checkpoint, encoder, checkpoint.pieces(encoder.max_length))
        self._head = adapter_of(self.model).predict_words

    def head_weights(self) -> Iterable[Tensor]:
        inside = {id(weight) for weight in self.model.base_model.parameters()}
        return [weight for weight in self.model.parameters() if id(weight) not in inside]

    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        return self.pieces.texts(texts)

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.pieces.whole(text)

    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        logits = self._head(self.model, hidden)
        if inputs.mask is not None:
            logits = logits.masked_fill(~inputs.mask[..., None], 0)
        return list(torch.log1p(torch.relu(logits.amax(dim=1))))  # log1p(relu) grows, so the max may come first

    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        return query @ document
