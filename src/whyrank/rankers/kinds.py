"""The kinds of rankers, and how to tell a checkpoint's kind from its files.

Loaders are named, not imported, so that packages further down (trained models, fitted ones) register
theirs here and `load()` opens what they define.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.checkpoint_files import (
    COLBERT,
    CONFIG,
    LENGTH,
    MODULES,
    PROMPTS,
    ColbertFile,
    LengthFile,
    Module,
    Pooling,
    PromptsFile,
    read_modules,
)
from whyrank.rankers.config_file import read_config
from whyrank.rankers.ranker import Ranker

T = TypeVar("T")

#: Kind -> 'module:function' that takes (checkpoint, device) and returns the ranker.
LOADERS = {
    "cross-encoder": "whyrank.rankers.cross_encoder:load_cross_encoder",
    "bi-encoder": "whyrank.rankers.bi_encoder:BiEncoder",
    "late-interaction": "whyrank.rankers.late_interaction:LateInteraction",
    "sparse": "whyrank.rankers.sparse:Sparse",
    "semantic-bm": "whyrank.circuits.semantic_bm.ranker:load_semantic_bm",
    "trained": "whyrank.learning.open_trained:load_trained",
}
#: The entry of a config.json that says which model `whyrank train` made.
OWN_ENTRY = "whyrank"
#: Kinds that a command of ours fits or trains: written KIND:RUN, and opened from that run folder.
FITTED = frozenset({"semantic-bm"})


def loader(kind: str) -> Callable[[Checkpoint, Any], Ranker]:
    """The function that opens a checkpoint of this kind."""
    if kind not in LOADERS:
        raise UserError(f"unknown kind of ranker '{kind}'", todo=f"known: {', '.join(LOADERS)}")
    module, function = LOADERS[kind].split(":")
    return getattr(import_module(module), function)


class Detected(NamedTuple):
    """What a folder is read as: `guessed` where its files do not say."""

    kind: str
    settings: dict[str, Any]
    guessed: bool = False


def detect(folder: Path) -> Detected:
    """The kind of an ordinary checkpoint folder, and the settings in its files."""
    config = read_config(folder)
    if OWN_ENTRY in config:
        return Detected("trained", {})
    architecture = (config.get("architectures") or [""])[0]
    modules = read_modules(folder)
    names = [module.name for module in modules]
    if architecture.endswith("ForSequenceClassification"):
        return Detected("cross-encoder", _max_length(folder))
    if any("splade" in name.lower() for name in names):
        return Detected("sparse", _max_length(folder))
    if (folder / COLBERT).exists() or "ColBERT" in architecture:
        return Detected("late-interaction", _colbert_settings(folder))
    if "Dense" in names and "Pooling" not in names:
        return Detected("late-interaction", _pylate_settings(folder))
    if modules:
        return Detected("bi-encoder", _sentence_transformer_settings(folder, modules))
    if architecture.endswith("ForMaskedLM"):
        return Detected("sparse", {})
    return Detected("bi-encoder", {}, guessed=True)


def _optional(path: Path, kind: type[T]) -> T:
    """The file as `kind`, or what that is by default."""
    return read_json(path, kind) if path.exists() else kind()


def _max_length(folder: Path) -> dict[str, Any]:
    longest = _optional(folder / LENGTH, LengthFile).max_seq_length
    return {"max_length": longest} if longest else {}


def _sentence_transformer_settings(folder: Path, modules: list[Module]) -> dict[str, Any]:
    unknown = {module.name for module in modules} - {"Transformer", "Pooling", "Normalize"}
    if unknown:
        raise UserError(
            f"a bi-encoder with {', '.join(sorted(unknown))} on top is not supported",
            where=folder / MODULES,
            todo="pooling and normalisation are",
        )
    found = _optional(folder / PROMPTS, PromptsFile)
    prompts = found.prompts or {}
    if found.similarity_fn_name not in (None, "cosine", "dot"):
        raise UserError(
            f"field similarity_fn_name: {found.similarity_fn_name!r} is not supported",
            where=folder / PROMPTS,
            todo="cosine and dot are",
        )
    settings = {
        "pooling": _pooling(folder, modules, prompts).mode,
        "normalise": any(module.name == "Normalize" for module in modules) or found.similarity_fn_name == "cosine",
        "query_prefix": prompts.get("query") or "",
        "document_prefix": prompts.get("document") or prompts.get("passage") or "",
    }
    return settings | _max_length(folder)


def _pooling(folder: Path, modules: list[Module], prompts: Mapping[str, str | None]) -> Pooling:
    """The config of the Pooling module, in the folder that modules.json names or one that ends so."""
    found = [folder / module.path / CONFIG for module in modules if module.name == "Pooling" and module.path]
    places = [*found, *sorted(folder.glob(f"*_Pooling/{CONFIG}"))]
    if not places:
        raise UserError(
            "the config of the Pooling module is missing", where=folder, todo="fetch the checkpoint again"
        )
    pooling: Pooling = read_json(places[0], Pooling, todo="fetch the checkpoint again")
    more = [name for name, on in read_json(places[0], dict[str, Any]).items() if on and _is_unknown_mode(name)]
    if more:
        raise UserError(f"field {more[0]}: this pooling is not supported", where=places[0])
    if not pooling.include_prompt and any(prompts.values()):
        raise UserError(
            "field include_prompt: pooling without the prompt's tokens is not supported", where=places[0]
        )
    return pooling


def _is_unknown_mode(name: str) -> bool:
    return name.startswith("pooling_mode_") and name not in {one.name for one in fields(Pooling)}


def _colbert_settings(folder: Path) -> dict[str, Any]:
    found = _optional(folder / COLBERT, ColbertFile)
    return {
        "query_marker": found.query_token_id,
        "document_marker": found.doc_token_id,
        "query_length": found.query_maxlen,
        "document_length": found.doc_maxlen,
        "expand_queries": True,
        "attend_to_expansion": found.attend_to_mask_tokens,
        "skip_punctuation": found.mask_punctuation,
    }


def _pylate_settings(folder: Path) -> dict[str, Any]:
    found = _optional(folder / PROMPTS, PromptsFile)
    skipped = string.punctuation if found.skiplist_words is None else found.skiplist_words
    if set(skipped) not in (set(), set(string.punctuation)):
        raise UserError(
            "field skiplist_words: only all punctuation marks, or nothing, can be skipped", where=folder / PROMPTS
        )
    return {
        "query_marker": (found.query_prefix or "[Q] ").strip(),
        "document_marker": (found.document_prefix or "[D] ").strip(),
        "query_length": found.query_length or 32,
        "document_length": found.document_length or 180,
        "expand_queries": found.do_query_expansion is not False,
        "attend_to_expansion": bool(found.attend_to_expansion_tokens),
        "skip_punctuation": bool(skipped),
    } | _max_length(folder)
