"""A trained model on disk: an ordinary folder with weights, config, tokenizer and model card.

`config.json` has under `whyrank` which model it is, its settings, and how it was trained. Plain BERT is written as
the sequence classifier that transformers and sentence-transformers open, with the same scores. Every other model
has a model type of its own, which they refuse, and the backbone's config under `whyrank`. Folders of earlier
versions have the backbone's own model type: they are opened here, but read wrongly elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import safetensors.torch

from whyrank.core.atomic import make_once, write_json
from whyrank.core.json_file import read_json
from whyrank.learning.checkpoints import WEIGHTS, weight_bytes
from whyrank.learning.models.network import Network, TransformerNetwork
from whyrank.learning.models.vanilla import VanillaBert
from whyrank.learning.sequence_classifier import (
    classifier_config,
    classifier_weights,
    has_form,
)
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import CONFIG, TOKENIZER_CONFIG
from whyrank.rankers.copying import copy_files
from whyrank.rankers.kinds import OWN_ENTRY
from whyrank.rankers.tokenizer_files import is_tokenizer_file

#: How the model types that only whyrank opens begin.
OWN_TYPE = "whyrank-"


def save_trained(network: Network, backbone: Checkpoint, folder: Path, facts: Mapping[str, Any]) -> Path:
    """The network as a folder that is there whole or not at all; `facts` say how it was trained."""

    def write(partial: Path) -> None:
        (partial / WEIGHTS).write_bytes(_weight_bytes(network))
        write_json(partial / CONFIG, _config(network, backbone, facts))
        copy_files(backbone.folder, partial, is_tokenizer_file)
        if has_form(network):
            _tell_length(network, partial / TOKENIZER_CONFIG)
        card = model_card(network.name, backbone.name, asdict(network.settings), facts, _elsewhere(network))
        (partial / "README.md").write_text(card, encoding="utf-8")

    return make_once(folder, write)


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
    original = {name: value for name, value in backbone.config.items() if name != OWN_ENTRY}
    return {
        "model_type": f"{OWN_TYPE}{network.name}",
        "architectures": [type(network).__name__],
        OWN_ENTRY: {**own, "backbone_config": original},
    }


def _tell_length(network: Network, path: Path) -> None:
    """Whoever opens the folder elsewhere should cut texts where this model does."""
    assert isinstance(network, TransformerNetwork)
    known = read_json(path, dict[str, Any]) if path.exists() else {}
    write_json(path, {**known, "model_max_length": network.chunker.max_length})


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


def model_card(
    model: str, backbone: str, settings: Mapping[str, Any], facts: Mapping[str, Any], elsewhere: str = ""
) -> str:
    """Markdown; `facts` are what config.json says of the training, `elsewhere` what other libraries do with it."""
    about = {key: value for key, value in facts.items() if key not in ("test", "settings")}
    measured = {name: f"{value:.4f}" for name, value in facts.get("test", {}).items()}
    name = _plain(str(facts.get("collection", "a collection")))
    what = f"A re-ranker trained with whyrank on {name}."
    if facts.get("epoch") == 0:
        what = f"Untrained: no epoch on {name} did better on the validation queries than what it started from."
    unseen = "test queries, which were neither learned from nor chosen by"
    lines = [
        "---", "library_name: whyrank", "pipeline_tag: text-ranking", "---", "",
        f"# {model} on {_plain(backbone)}", "",
        what, "",
        "```python", "import whyrank", "", 'ranker = whyrank.load("THIS FOLDER")',
        'ranker.rank("a query", ["a document", "another"])', "```", "",
        *([elsewhere, ""] if elsewhere else []),
        "## Training", "", *_table(about), "",
        "## Settings", "", *_table({**settings, **facts.get("settings", {})}), "",
        "## Measured", "", f"Means over {facts.get('test_queries', 'the')} {unseen}.", "", *_table(measured), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _table(rows: Mapping[str, Any]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {key} | {_shown(value)} |" for key, value in rows.items())]


def _shown(value: Any) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return _plain(shown).replace("|", "\\|")


def _plain(text: str) -> str:
    """A name as text of one line: no markup of HTML, which Markdown would pass on."""
    return " ".join(escape(text, quote=False).split())
