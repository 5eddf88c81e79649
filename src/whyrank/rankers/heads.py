"""The heads that turn hidden states into scores: classification heads, and masked-language-model heads.

Each takes the last hidden states and runs the checkpoint's own head modules.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import functional

from whyrank.encoders.anatomy import HuggingFaceModule

Head = Callable[[HuggingFaceModule, Tensor], Tensor]

#: `model_type` -> logits [B, labels] of hidden states [B, 1, d] at the rows that the head reads.
CLASSIFIERS: dict[str, Head] = {
    "bert": lambda model, h: model.classifier(model.bert.pooler(h)),
    "distilbert": lambda model, h: model.classifier(functional.relu(model.pre_classifier(h[:, 0]))),
    "roberta": lambda model, h: model.classifier(h),
    "xlm-roberta": lambda model, h: model.classifier(h),
    "camembert": lambda model, h: model.classifier(h),
    "electra": lambda model, h: model.classifier(h),
    "mpnet": lambda model, h: model.classifier(h),
    "modernbert": lambda model, h: model.classifier(model.head(h[:, 0])),
}

#: `model_type` -> logits [B, S, vocabulary] of hidden states [B, S, d].
LANGUAGE_MODELS: dict[str, Head] = {
    "bert": lambda model, h: model.cls(h),
    "distilbert": lambda model, h: model.vocab_projector(
        model.vocab_layer_norm(model.activation(model.vocab_transform(h)))
    ),
    "roberta": lambda model, h: model.lm_head(h),
    "xlm-roberta": lambda model, h: model.lm_head(h),
    "camembert": lambda model, h: model.lm_head(h),
    "electra": lambda model, h: model.generator_lm_head(model.generator_predictions(h)),
    "mpnet": lambda model, h: model.lm_head(h),
    "modernbert": lambda model, h: model.decoder(model.head(h)),
}


def reads_mean(model: HuggingFaceModule) -> bool:
    """Whether the classifier reads the mean of all rows instead of the first (a ModernBERT setting)."""
    return getattr(model.config, "classifier_pooling", "cls") == "mean"
