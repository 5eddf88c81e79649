"""A trained model on disk: an ordinary folder with weights, config, tokenizer and model card.

`config.json` has under `whyrank` which model it is, its settings, and how it was trained. Plain BERT is written as
the sequence classifier that transformers and sentence-transformers open, with the same scores. Every other model
has a model type of its own, which they refuse, and the backbone's config under `whyrank`. Folders of earlier
versions have the backbone's own model type: they are opened here, but read wrongly elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError

from whyrank.errors import UserError
from whyrank.learning.checkpoints import WEIGHTS, weight_bytes
from whyrank.learning.model_card import model_card
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.network import Ingredients, Network, TransformerNetwork
from whyrank.learning.models.vanilla import VanillaBert
from whyrank.learning.sequence_classifier import (
    BACKBONE,
    classifier_config,
    classifier_weights,
    has_form,
    network_weights,
)
from whyrank.learning.settings_values import settings_of
from whyrank.learning.trained import Trained, TrainedOnWords, as_ranker
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import CONFIG, TOKENIZER_CONFIG
from whyrank.rankers.copying import copy_files
from whyrank.rankers.kinds import OWN_ENTRY
from whyrank.store.atomic import make_once, write_json
from whyrank.store.json_file import NotJson, read_json, typed

#: The files of a tokenizer, of which a checkpoint has some.
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
#: How the names of the backbone's pooler begin, which no model reads.
POOLER = f"{BACKBONE}pooler."
#: How the model types that only whyrank opens begin.
OWN_TYPE = "whyrank-"


@dataclass(frozen=True)
class OwnEntry:
    """The entry `whyrank` of a trained model's config.json, as far as it is read again."""

    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    backbone_config: dict[str, Any] | None = None


def save_trained(network: Network, backbone: Checkpoint, folder: Path, facts: Mapping[str, Any]) -> Path:
    """The network as a folder that is there whole or not at all; `facts` say how it was trained."""

    def write(partial: Path) -> None:
        (partial / WEIGHTS).write_bytes(_weight_bytes(network))
        write_json(partial / CONFIG, _config(network, backbone, facts))
        copy_files(backbone.folder, partial, lambda name: name in TOKENIZER_FILES)
        if has_form(network):
            _tell_length(network, partial / TOKENIZER_CONFIG)
        card = model_card(network.name, backbone.name, asdict(network.settings), facts, _elsewhere(network))
        (partial / "README.md").write_text(card, encoding="utf-8")

    return make_once(folder, write)


def load_trained(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> Trained | TrainedOnWords:
    """Opens such a folder. A `max_length` in the checkpoint's settings has it read one chunk of so many tokens."""
    path = checkpoint.folder / CONFIG
    if OWN_ENTRY not in checkpoint.config:
        raise UserError(f"no entry '{OWN_ENTRY}'", where=path, todo="it is not a model of whyrank train")
    own = _own_entry(checkpoint.config[OWN_ENTRY], path)
    kind = model_class(own.model, path)
    settings = settings_of(kind.Settings, own.settings, where=path)
    plain = Checkpoint(checkpoint.name, checkpoint.folder, checkpoint.source, told=own.backbone_config)
    network = kind.of(settings, Ingredients(plain, untrained=True))
    _load_weights(network, checkpoint)
    shorter = checkpoint.settings.get("max_length")
    if shorter and isinstance(network, TransformerNetwork):
        chunker = network.chunker
        network.chunker = Chunker(chunker.pieces, min(int(shorter), chunker.max_length), most=1)
    return as_ranker(network.to(device).eval(), checkpoint)


def _own_entry(told: Any, path: Path) -> OwnEntry:
    try:
        return typed(told, OwnEntry)
    except NotJson as error:
        raise UserError(f"entry {OWN_ENTRY}: {error}", where=path) from error


def _load_weights(network: Network, checkpoint: Checkpoint) -> None:
    path = checkpoint.folder / WEIGHTS
    try:
        weights = safetensors.torch.load_file(path)
        if is_classifier(checkpoint):
            weights = _of_classifier(network, weights, checkpoint)
        _match_pooler(network, weights)
        network.load_state_dict(weights)
    except (SafetensorError, OSError, RuntimeError) as error:
        raise UserError(
            f"the weights cannot be loaded ({' '.join(str(error).split())[:200]})",
            where=path,
            todo="is the folder complete, and of this version of whyrank?",
        ) from error
    for name, weight in weights.items():
        if not torch.isfinite(weight).all():
            raise UserError(f"NaN or infinity in {name}", where=path, todo="the checkpoint is damaged")


def is_classifier(checkpoint: Checkpoint) -> bool:
    """Whether the folder is written as a sequence classifier."""
    return str((checkpoint.config.get("architectures") or [""])[0]).endswith("ForSequenceClassification")


def _of_classifier(
    network: Network, weights: dict[str, torch.Tensor], checkpoint: Checkpoint
) -> dict[str, torch.Tensor]:
    """The weights of a sequence classifier by the network's names."""
    found = None
    if isinstance(network, VanillaBert) and has_form(network):
        module = network.backbone.module
        found = network_weights(weights, module.config.model_type, module.base_model_prefix)
    if found is None:
        raise UserError(
            "the head is not one that whyrank train writes: it was changed elsewhere",
            where=checkpoint.folder,
            todo=f"delete the entry '{OWN_ENTRY}' in {CONFIG} to open it as a cross-encoder",
        )
    return found


def _match_pooler(network: Network, weights: Mapping[str, torch.Tensor]) -> None:
    """No pooler in the network where the backbone that it was trained on had none."""
    if isinstance(network, TransformerNetwork) and not any(name.startswith(POOLER) for name in weights):
        module = network.backbone.module
        if getattr(module, "pooler", None) is not None:
            module.pooler = None


def _weight_bytes(network: Network) -> bytes:
    if not has_form(network):
        return weight_bytes(network)
    assert isinstance(network, VanillaBert)
    return safetensors.torch.save(classifier_weights(network), metadata={"format": "pt"})


def _config(network: Network, backbone: Checkpoint, facts: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        "model": network.name, "settings": asdict(network.settings), "backbone": backbone.name,
        "training": dict(facts),
    }  # fmt: skip
    if has_form(network):
        return {**classifier_config(backbone.config), OWN_ENTRY: own}
    told = {name: value for name, value in backbone.config.items() if name != OWN_ENTRY}
    return {
        "model_type": f"{OWN_TYPE}{network.name}",
        "architectures": [type(network).__name__],
        OWN_ENTRY: {**own, "backbone_config": told},
    }


def _tell_length(network: Network, path: Path) -> None:
    """Whoever opens the folder elsewhere should cut texts where this model does."""
    assert isinstance(network, TransformerNetwork)
    told = read_json(path, dict[str, Any]) if path.exists() else {}
    write_json(path, {**told, "model_max_length": network.chunker.max_length})


def _elsewhere(network: Network) -> str:
    """What other libraries make of the folder."""
    if not has_form(network):
        return "transformers and sentence-transformers do not know this model and refuse the folder."
    assert isinstance(network, TransformerNetwork)
    same = (
        "It is a sequence classifier: `AutoModelForSequenceClassification` of transformers and `CrossEncoder` of "
    )
    same += "sentence-transformers compute the same scores."
    if network.chunker.most > 1:
        same += (
            f" They read the first {network.chunker.max_length} tokens; whyrank reads up to {network.chunker.most}"
            " chunks of a longer document."
        )
    return same
