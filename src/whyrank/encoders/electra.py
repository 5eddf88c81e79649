"""ELECTRA: BERT's layout; small models embed in fewer dimensions and project up before layer 0."""

from __future__ import annotations

from whyrank.encoders.anatomy import Anatomy, HuggingFaceModule
from whyrank.encoders.bert import bert_like


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of an `ElectraModel`."""
    return bert_like("electra", model, max_length=model.config.max_position_embeddings)
