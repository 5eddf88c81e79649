"""A trained model on disk: an ordinary folder with weights, config, tokenizer and model card.

`config.json` is the backbone's own, and has under `whyrank` which model stands on it, its settings, and how it was
trained; `model.safetensors` are the weights of the whole model, the backbone's among them.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
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
from whyrank.learning.settings_values import settings_of
from whyrank.learning.trained import Trained, TrainedOnWords, as_ranker
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.kinds import OWN_ENTRY
from whyrank.store.atomic import make_once, write_json

#: The files of a tokenizer, of which a checkpoint has some.
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip


def save_trained(network: Network, backbone: Checkpoint, folder: Path, facts: Mapping[str, Any]) -> Path:
    """The network as a folder that is there whole or not at all; `facts` say how it was trained."""

    def write(partial: Path) -> None:
        (partial / WEIGHTS).write_bytes(weight_bytes(network))
        write_json(partial / "config.json", _config(network, backbone, facts))
        for name in TOKENIZER_FILES:
            if (backbone.folder / name).is_file():
                shutil.copyfile(backbone.folder / name, partial / name)
        card = model_card(network.name, backbone.name, asdict(network.settings), facts)
        (partial / "README.md").write_text(card, encoding="utf-8")

    return make_once(folder, write)


def load_trained(checkpoint: Checkpoint, device: torch.device | str = "cpu") -> Trained | TrainedOnWords:
    """Opens such a folder. A `max_length` in the checkpoint's settings has it read one chunk of so many tokens."""
    told = checkpoint.config[OWN_ENTRY]
    kind = model_class(told["model"])
    settings = settings_of(kind.Settings, told["settings"], where=checkpoint.folder / "config.json")
    plain = Checkpoint(checkpoint.name, checkpoint.folder, checkpoint.source)
    network = kind.of(settings, Ingredients(plain, untrained=True))
    _load_weights(network, checkpoint.folder / WEIGHTS)
    shorter = checkpoint.settings.get("max_length")
    if shorter and isinstance(network, TransformerNetwork):
        chunker = network.chunker
        network.chunker = Chunker(chunker.pieces, min(int(shorter), chunker.max_length), most=1)
    return as_ranker(network.to(device).eval(), checkpoint)


def _load_weights(network: Network, path: Path) -> None:
    try:
        weights = safetensors.torch.load_file(path)
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


def _config(network: Network, backbone: Checkpoint, facts: Mapping[str, Any]) -> dict[str, Any]:
    own = {
        "model": network.name, "settings": asdict(network.settings), "backbone": backbone.name,
        "training": dict(facts),
    }  # fmt: skip
    return {**backbone.config, "architectures": [type(network).__name__], OWN_ENTRY: own}
