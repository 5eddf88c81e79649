"""Vanilla BERT as the sequence classifier of transformers and sentence-transformers, and back.

The trained model scores s = w . CLS + b. The classes of transformers have one more layer and an activation between
[CLS] and the classifier; they are filled so that s passes through:

    relu, gelu (DistilBERT, ELECTRA)                    f(s) - f(-s) = s
    tanh (BERT, RoBERTa, XLM-R, CamemBERT, MPNet)       tanh(e s) / e = s (1 - (e s)^2 / 3 + ...)

With e = 2^-16 the last is s to float32's own rounding for |s| < 50. Being a power of two, it takes nothing from w
and b, which come back bit for bit. In float16 the factor 1 / e is infinite: no score comes out, not a wrong one.
ModernBERT's classifier normalises the layer in between, through which no score can pass; it has no such form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from whyrank.learning.models.network import Network
from whyrank.learning.models.vanilla import VanillaBert

#: How the names of the backbone's weights begin in a trained model.
BACKBONE = "backbone.module."
#: The scale of scores below tanh.
SMALL = 2.0**-16
#: The activation of scores that CrossEncoder of sentence-transformers applies: none.
IDENTITY = "torch.nn.modules.linear.Identity"


class Form(NamedTuple):
    """The names of the layer before the classifier and of the classifier, and the activation between them."""

    layer: str
    classifier: str
    activation: str

    @property
    def scale(self) -> float:
        return SMALL if self.activation == "tanh" else 1.0


_IN_HEAD = Form("classifier.dense", "classifier.out_proj", "tanh")
#: By `model_type`.
FORMS = {
    "bert": Form("bert.pooler.dense", "classifier", "tanh"),
    "roberta": _IN_HEAD,
    "xlm-roberta": _IN_HEAD,
    "camembert": _IN_HEAD,
    "mpnet": _IN_HEAD,
    "electra": _IN_HEAD._replace(activation="gelu"),
    "distilbert": Form("pre_classifier", "classifier", "relu"),
}


def has_form(network: Network) -> bool:
    """Whether transformers has a class that computes the same scores."""
    return type(network) is VanillaBert and network.backbone.module.config.model_type in FORMS


def classifier_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The backbone's config as that of a sequence classifier with one label, whose logit is the score."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as CLASSES

    of_other_heads = ("problem_type", "num_labels", "sbert_ce_default_activation_function")
    return {
        **{name: value for name, value in config.items() if name not in of_other_heads},
        "architectures": [CLASSES[config["model_type"]]],
        "id2label": {"0": "LABEL_0"},
        "label2id": {"LABEL_0": 0},
        "sentence_transformers": {"activation_fn": IDENTITY},
    }


def classifier_weights(network: VanillaBert) -> dict[str, Tensor]:
    """The weights by the names of transformers' class."""
    module = network.backbone.module
    body = {
        f"{module.base_model_prefix}.{name}": value
        for name, value in module.state_dict().items()
        if not name.startswith("pooler.")
    }
    head = _head(FORMS[module.config.model_type], network.score.weight.detach(), network.score.bias.detach())
    return {name: value.cpu().clone().contiguous() for name, value in {**body, **head}.items()}


def network_weights(weights: Mapping[str, Tensor], model_type: str, prefix: str) -> dict[str, Tensor] | None:
    """The weights by the names of the trained model, which has no pooler then; None where the head is not one that
    passes a score through, as after further training elsewhere."""
    form = FORMS[model_type]
    weight, bias = (weights.get(f"{form.layer}.{part}") for part in ("weight", "bias"))
    if weight is None or bias is None:
        return None
    weight, bias = weight[:1] / form.scale, bias[:1] / form.scale
    head = _head(form, weight, bias)
    if not all(name in weights and torch.equal(weights[name], value) for name, value in head.items()):
        return None
    body = {name.removeprefix(f"{prefix}."): value for name, value in weights.items() if name not in head}
    return {
        **{f"{BACKBONE}{name}": value for name, value in body.items()}, "score.weight": weight, "score.bias": bias,
    }  # fmt: skip


def _head(form: Form, weight: Tensor, bias: Tensor) -> dict[str, Tensor]:
    """The layer and the classifier that pass weight . CLS + bias through; weight [1, d], bias [1]."""
    signs = weight.new_tensor([1.0] if form.activation == "tanh" else [1.0, -1.0])
    rows, width = len(signs), weight.shape[1]
    layer, biases, classifier = weight.new_zeros(width, width), weight.new_zeros(width), torch.zeros_like(weight)
    layer[:rows], biases[:rows] = signs[:, None] * weight * form.scale, signs * bias * form.scale
    classifier[0, :rows] = signs / form.scale
    return {
        f"{form.layer}.weight": layer, f"{form.layer}.bias": biases,
        f"{form.classifier}.weight": classifier, f"{form.classifier}.bias": torch.zeros_like(bias),
    }  # fmt: skip
