"""RoBERTa and XLM-R: BERT's layout, but positions are counted from the padding id on, skipping padding.

The first two rows of the position matrix are therefore never a real token's, and a checkpoint with 514
positions reads 512 tokens. There is one token type.
"""

from __future__ import annotations

from whyrank.encoders.anatomy import Anatomy, HuggingFaceModule
from whyrank.encoders.bert import bert_like


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of a `RobertaModel` or `XLMRobertaModel`."""
    config = model.config
    return bert_like(config.model_type, model, config.max_position_embeddings - config.pad_token_id - 1)
