"""Which file opens which architecture."""

from __future__ import annotations

from importlib import import_module

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.encoders.encoder import Encoder

#: `model_type` in a checkpoint's config -> the module of this package with its `anatomy(model)`.
ADAPTERS = {
    "bert": "bert",
    "distilbert": "distilbert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "electra": "electra",
    "mpnet": "mpnet",
    "modernbert": "modernbert",
}


def check_supported(model_type: str | None, where: str) -> None:
    """Raises for an architecture that no adapter opens."""
    if model_type not in ADAPTERS:
        raise UserError(
            f"architecture '{model_type}' is not supported",
            where=where,
            todo=f"supported: {', '.join(sorted(ADAPTERS))}",
        )


def open_encoder(model: HuggingFaceModule) -> Encoder:
    """Opens a Hugging Face base model (`BertModel`, `MPNetModel`, ...), sharing its parameters."""
    model_type = model.config.model_type
    check_supported(model_type, where=type(model).__name__)
    adapter = import_module(f"whyrank.encoders.{ADAPTERS[model_type]}")
    return Encoder(adapter.anatomy(model.eval()))
