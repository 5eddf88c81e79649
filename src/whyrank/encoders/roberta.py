"""RoBERTa and XLM-R: BERT's layout, but positions are counted from the padding id on, skipping padding.

The first two rows of the position matrix are therefore never a real token's, and a checkpoint with 514
positions reads 512 tokens. There is one token type.
"""

from __future__ import annotations

from torch import Tensor

from whyrank.encoders.anatomy import Anatomy, HuggingFaceModule
from whyrank.encoders.bert import bert_like

MODEL_TYPES = ("roberta", "xlm-roberta", "camembert")


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of a `RobertaModel` or `XLMRobertaModel`."""
    config = model.config
    return bert_like(config.model_type, model, config.max_position_embeddings - config.pad_token_id - 1)


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(h)


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.lm_head(h)
