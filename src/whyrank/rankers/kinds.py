"""The kinds of rankers, and how to tell a checkpoint's kind from its files.

Loaders are named, not imported, so that packages further down (trained models, fitted ones) register
theirs here and `load()` opens what they define.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from whyrank.errors import UserError
from whyrank.rankers.checkpoint import Checkpoint, read_config, read_json
from whyrank.rankers.ranker import Ranker

#: Kind -> 'module:function' that takes (checkpoint, device) and gives the ranker.
LOADERS = {
    "cross-encoder": "whyrank.rankers.cross_encoder:load_cross_encoder",
    "bi-encoder": "whyrank.rankers.bi_encoder:BiEncoder",
    "late-interaction": "whyrank.rankers.late_interaction:LateInteraction",
    "sparse": "whyrank.rankers.sparse:Sparse",
    "semantic-bm": "whyrank.circuits.semantic_bm.ranker:load_semantic_bm",
    "trained": "whyrank.learning.saved:load_trained",
}
#: The entry of a config.json that says which model `whyrank train` made.
OWN_ENTRY = "whyrank"
#: Kinds that a command of ours fits or trains: written KIND:RUN, and opened from that run folder.
FITTED = frozenset({"semantic-bm"})


#: What a checkpoint, the catalogue or a caller may say of how a family reads it.
SETTINGS = frozenset(
    {
        "max_length", "pooling", "normalise", "query_prefix", "document_prefix", "projection", "query_marker",
        "document_marker", "mask_token", "query_length", "document_length", "expand_queries",
        "attend_to_expansion", "skip_punctuation",
    }
)  # fmt: skip


def loader(kind: str) -> Callable[[Checkpoint, Any], Ranker]:
    """The function that opens a checkpoint of this kind."""
    if kind not in LOADERS:
        raise UserError(f"unknown kind of ranker '{kind}'", todo=f"known: {', '.join(LOADERS)}")
    module, function = LOADERS[kind].split(":")
    return getattr(import_module(module), function)


def detect(folder: Path) -> tuple[str, dict[str, Any]]:
    """The kind of an ordinary checkpoint folder, and the settings that its files give."""
    config = read_config(folder)
    if OWN_ENTRY in config:
        return "trained", {}
    architectures = config.get("architectures") or [""]
    modules = _module_types(folder)
    if architectures[0].endswith("ForSequenceClassification"):
        return "cross-encoder", _max_length(folder)
    if any("splade" in module.lower() for module in modules):
        return "sparse", _max_length(folder)
    if (folder / "artifact.metadata").exists() or "ColBERT" in architectures[0]:
        return "late-interaction", _colbert_settings(folder)
    if "Dense" in modules and "Pooling" not in modules:
        return "late-interaction", _pylate_settings(folder)
    if modules:
        return "bi-encoder", _sentence_transformer_settings(folder, modules)
    if architectures[0].endswith("ForMaskedLM"):
        return "sparse", {}
    return "bi-encoder", {}


def _module_types(folder: Path) -> list[str]:
    """The last names of the types in sentence-transformers' modules.json."""
    path = folder / "modules.json"
    return [module["type"].rsplit(".", 1)[-1] for module in read_json(path)] if path.exists() else []


def _optional_json(path: Path) -> dict[str, Any]:
    return read_json(path) if path.exists() else {}


def _max_length(folder: Path) -> dict[str, Any]:
    longest = _optional_json(folder / "sentence_bert_config.json").get("max_seq_length")
    return {"max_length": longest} if longest else {}


def _sentence_transformer_settings(folder: Path, modules: list[str]) -> dict[str, Any]:
    unknown = set(modules) - {"Transformer", "Pooling", "Normalize"}
    if unknown:
        raise UserError(
            f"a bi-encoder with {', '.join(sorted(unknown))} on top is not supported",
            where=folder / "modules.json",
            todo="pooling and normalisation are",
        )
    places = sorted(folder.glob("*_Pooling/config.json"))
    if not places:
        raise UserError(
            "the config of the Pooling module is missing", where=folder, todo="fetch the checkpoint again"
        )
    pooling = read_json(places[0])
    more = _optional_json(folder / "config_sentence_transformers.json")
    prompts = more.get("prompts") or {}
    settings = {
        "pooling": _pooling_mode(pooling),
        "normalise": "Normalize" in modules or more.get("similarity_fn_name") == "cosine",
        "query_prefix": prompts.get("query") or "",
        "document_prefix": prompts.get("document") or prompts.get("passage") or "",
    }
    return settings | _max_length(folder)


def _pooling_mode(config: dict[str, Any]) -> str:
    """`cls`, `mean`, or what else the file says, in its older form (a flag a mode) or its newer (a name)."""
    if "pooling_mode" in config:
        return str(config["pooling_mode"])
    flags = [key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token") for key in config
             if key.startswith("pooling_mode_") and config[key]]  # fmt: skip
    return "+".join(flags) or "mean"


def _colbert_settings(folder: Path) -> dict[str, Any]:
    told = _optional_json(folder / "artifact.metadata")
    return {
        "query_marker": told.get("query_token_id", "[unused0]"),
        "document_marker": told.get("doc_token_id", "[unused1]"),
        "query_length": told.get("query_maxlen", 32),
        "document_length": told.get("doc_maxlen", 300),
        "expand_queries": True,
        "attend_to_expansion": bool(told.get("attend_to_mask_tokens", False)),
        "skip_punctuation": bool(told.get("mask_punctuation", True)),
    }


def _pylate_settings(folder: Path) -> dict[str, Any]:
    told = _optional_json(folder / "config_sentence_transformers.json")
    return {
        "query_marker": (told.get("query_prefix") or "[Q] ").strip(),
        "document_marker": (told.get("document_prefix") or "[D] ").strip(),
        "query_length": told.get("query_length", 32),
        "document_length": told.get("document_length", 180),
        "expand_queries": bool(told.get("do_query_expansion", True)),
        "attend_to_expansion": bool(told.get("attend_to_expansion_tokens", False)),
        "skip_punctuation": bool(told.get("skiplist_words", string.punctuation)),
    } | _max_length(folder)
