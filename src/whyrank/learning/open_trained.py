"""Opening what `saved` writes, and the folders that earlier versions wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError

from whyrank.core.errors import UserError, located
from whyrank.core.json_file import NotJson, typed
from whyrank.learning.checkpoints import WEIGHTS
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.network import Ingredients, Network, TransformerNetwork
from whyrank.learning.models.vanilla import VanillaBert
from whyrank.learning.sequence_classifier import BACKBONE, has_form, network_weights
from whyrank.learning.settings_values import settings_of
from whyrank.learning.trained import Trained, TrainedOnWords, as_ranker
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import CONFIG
from whyrank.rankers.kinds import OWN_ENTRY

#: How the names of the backbone's pooler begin, which no model reads.
POOLER = f"{BACKBONE}pooler."


@dataclass(frozen=True)
class OwnEntry:
    """The entry `whyrank` of a trained model's config.json, as far as it is read again."""

    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    backbone_config: dict[str, Any] | None = None


def load_trained(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> Trained | TrainedOnWords:
    """Opens such a folder. A `max_length` in the checkpoint's settings has it read one chunk of so many tokens."""
    path = checkpoint.folder / CONFIG
    if OWN_ENTRY not in checkpoint.config:
        raise UserError(f"no entry '{OWN_ENTRY}'", where=path, todo="it is not a model of whyrank train")
    own = _own_entry(checkpoint.config[OWN_ENTRY], path)
    kind = model_class(own.model, path)
    settings = settings_of(kind.Settings, own.settings, where=path)
    plain = Checkpoint(checkpoint.name, checkpoint.folder, checkpoint.source, own_config=own.backbone_config)
    with located(checkpoint.folder):
        network = kind.of(settings, Ingredients(plain, untrained=True))
    _load_weights(network, checkpoint)
    shorter = checkpoint.settings.get("max_length")
    if shorter and isinstance(network, TransformerNetwork):
        chunker = network.chunker
        network.chunker = Chunker(chunker.pieces, min(int(shorter), chunker.max_length), most=1)
    return as_ranker(network.to(device).eval(), checkpoint)


def _own_entry(value: Any, path: Path) -> OwnEntry:
    try:
        return typed(value, OwnEntry)
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
