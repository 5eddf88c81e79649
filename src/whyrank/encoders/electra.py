"""ELECTRA: BERT's layout; small models embed in fewer dimensions and project up before layer 0."""

from __future__ import annotations

from torch import Tensor

from whyrank.encoders.anatomy import Anatomy, HuggingFaceModule
from whyrank.encoders.bert import bert_like

MODEL_TYPES = ("electra",)


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of an `ElectraModel`."""
    return bert_like("electra", model, max_length=model.config.max_position_embeddings)


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(h)


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.generator_lm_head(model.generator_predictions(h))
