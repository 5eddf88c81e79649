"""Which architecture is opened by which file of this package: each adapter says so itself.

An adapter is a module with

    MODEL_TYPES                      what `model_type` in a checkpoint's config may say
    anatomy(model)                   the parts of the base model
    classify(model, h)               logits [B, labels] of the rows [B, 1, d] that its ranking head reads
    predict_words(model, h)          logits [B, S, vocabulary] of its masked-language-model head
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import Anatomy, HuggingFaceModule
from whyrank.encoders.encoder import Encoder


class Adapter(Protocol):
    """What a module of this package has that opens an architecture."""

    MODEL_TYPES: tuple[str, ...]

    def anatomy(self, model: HuggingFaceModule) -> Anatomy: ...

    def classify(self, model: HuggingFaceModule, h: Tensor) -> Tensor: ...

    def predict_words(self, model: HuggingFaceModule, h: Tensor) -> Tensor: ...


@cache
def adapters() -> dict[str, Adapter]:
    """All adapters, by `model_type`."""
    modules = [import_module(f"whyrank.encoders.{one.name}") for one in iter_modules([str(Path(__file__).parent)])]
    return {
        model_type: cast(Adapter, module)
        for module in modules
        for model_type in getattr(module, "MODEL_TYPES", ())
    }


def adapter_of(model: HuggingFaceModule) -> Adapter:
    """The adapter that opens a Hugging Face model."""
    model_type = model.config.model_type
    check_supported(model_type, where=type(model).__name__)
    return adapters()[model_type]


def check_supported(model_type: str | None, where: str) -> None:
    """Raises for an architecture that no adapter opens."""
    if model_type not in adapters():
        raise UserError(
            f"architecture '{model_type}' is not supported",
            where=where,
            todo=f"supported: {', '.join(sorted(adapters()))}",
        )


def open_encoder(model: HuggingFaceModule) -> Encoder:
    """Opens a Hugging Face base model (`BertModel`, `MPNetModel`, ...), sharing its parameters."""
    return Encoder(adapter_of(model).anatomy(model.eval()))
