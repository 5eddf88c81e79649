"""Cross-encoders: query and document in one sequence, a trained head on top; the score is its logit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.encoders.adapters import adapter_of, open_encoder
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.neural import NeuralRanker, batches_by_length, no_gradients
from whyrank.rankers.pooling import mean_rows
from whyrank.rankers.ranker import Pair, Scores, finite
from whyrank.text.tokens import Tokens

#: Pairs tokenised and sorted by length at a time: memory stays flat however many pairs there are.
PAIRS_AT_A_TIME = 4096


class CrossEncoder(NeuralRanker):
    """score = head(h_CLS) of the encoder over [CLS] query [SEP] document [SEP].

    One label: its logit. Two labels (not relevant, relevant): the difference of their logits, which is the
    log-odds of relevance and orders documents as the softmax would.
    """

    kind = "cross-encoder"
    reads_pooler = True

    def __init__(self, checkpoint: Checkpoint, model: HuggingFaceModule) -> None:
        encoder = open_encoder(model.base_model)
        super().__init__(checkpoint, encoder, checkpoint.pieces(encoder.max_length))
        self.model = model
        self._head = adapter_of(model).classify
        #: ModernBERT's classifier may read the mean of all rows in place of the first.
        self._mean = getattr(model.config, "classifier_pooling", "cls") == "mean"
        #: The rows of the last layer that the head reads; None is all.
        self.rows = None if self._mean else (0,)

    def head_weights(self) -> Iterable[Tensor]:
        inside = {id(weight) for weight in self.model.base_model.parameters()}
        return [weight for weight in self.model.parameters() if id(weight) not in inside]

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        values, cut = np.empty(len(pairs), dtype=np.float32), 0
        for start in range(0, len(pairs), PAIRS_AT_A_TIME):
            sequences = self.pieces.pairs(pairs[start : start + PAIRS_AT_A_TIME])
            cut += sum(sequence.cut for sequence in sequences)
            for indices in batches_by_length(sequences):
                with no_gradients():
                    inputs = self.batch([sequences[i] for i in indices])
                    hidden = self.encoder.run(inputs, rows=self.rows).hidden
                    values[[start + i for i in indices]] = self.read_out(hidden, inputs).cpu().numpy()
                if progress:
                    progress(len(indices))
        return Scores(finite(values, pairs, self.name), cut)

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.pieces.whole(text, query=query)

    def characters_read(self, query: str, text: str) -> int:
        """As the pair is cut: of a long query and a long document, both."""
        if len(self.document_tokens(query, text)) <= self.document_length:
            return len(text)
        return max((span[1] for span in self.pieces.pair(query, text).spans if span is not None), default=0)

    def opened_inputs(self, pairs: Sequence[Pair], side: str = "document") -> Inputs:
        return self.batch(self.pieces.pairs(pairs))

    def score_states(
        self, states: Tensor, inputs: Inputs, pairs: Sequence[Pair], side: str = "document"
    ) -> Tensor:
        return self.read_out(states, inputs)

    def read_out(self, hidden: Tensor, inputs: Inputs) -> Tensor:
        """Scores [B] of the last hidden states: all rows, or only those that the head reads."""
        pooled = mean_rows(hidden, inputs)[:, None] if self._mean else hidden[:, :1]
        logits = self._head(self.model, pooled)
        return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def load_cross_encoder(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> CrossEncoder:
    """Opens a checkpoint with a trained classification head of one or two labels."""
    model = checkpoint.model("AutoModelForSequenceClassification", head="a trained ranking head").to(device)
    if model.config.num_labels not in (1, 2):
        raise UserError(
            f"a head with {model.config.num_labels} labels does not rank",
            where=checkpoint.folder,
            todo="a cross-encoder has one label (a score) or two (not relevant, relevant)",
        )
    return CrossEncoder(checkpoint, model)
