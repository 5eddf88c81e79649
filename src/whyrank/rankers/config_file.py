"""config.json: read, checked, and as transformers knows it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from whyrank.core.errors import UserError
from whyrank.core.json_file import NotJson, read_json, typed
from whyrank.encoders.adapters import check_supported
from whyrank.rankers.checkpoint_files import CONFIG, NEEDED, Config
from whyrank.rankers.library_errors import library_errors

#: Ways to compute attention that are part of torch and transformers; any other name may stand for code to fetch.
ATTENTIONS = (None, "eager", "sdpa")


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's config.json, its fields of the right types."""
    path = folder / CONFIG
    config: dict[str, Any] = read_json(path, dict[str, Any], todo=NEEDED)
    typed_config(config, path)
    return config


def typed_config(config: Mapping[str, Any], path: Path) -> Config:
    """The fields that whyrank reads itself."""
    try:
        return typed(dict(config), Config)
    except NotJson as error:
        raise UserError(str(error), where=path) from error


def transformers_config(config: Mapping[str, Any], path: Path) -> Any:
    """The config as transformers' own object; refused where it asks for what whyrank does not run."""
    import transformers

    known = typed_config(config, path)
    check_supported(known.model_type, where=str(path))
    _check_runnable(known, config, path)
    _check_sizes(config, path)
    with library_errors("not a config that transformers reads", path):
        return transformers.CONFIG_MAPPING[known.model_type].from_dict(copy.deepcopy(dict(config)))


def _check_sizes(config: Mapping[str, Any], path: Path) -> None:
    """Raises for an integer that torch cannot hold; a limit of `model_max_length` means none."""
    for name, value in config.items():
        if isinstance(value, int) and abs(value) >= 2**63 and name != "model_max_length":
            raise UserError(f"field {name}: a number that is too large", where=path)


def _check_runnable(known: Config, config: Mapping[str, Any], path: Path) -> None:
    """Raises for a config whose model would compute something else here than where it was made."""
    if known.auto_map:
        raise UserError(
            "field auto_map: the model has code of its own, which is not run",
            where=path,
            todo="if it is an ordinary model all the same, delete the field",
        )
    if known.quantization_config:
        raise UserError(
            "field quantization_config: quantised weights are not supported", where=path, todo="use float weights"
        )
    if known.is_decoder or known.is_encoder_decoder:
        raise UserError("field is_decoder: a decoder is not supported", where=path, todo="use an encoder")
    for name in ("attn_implementation", "_attn_implementation"):
        if config.get(name) not in ATTENTIONS:
            raise UserError(
                f"field {name}: {config[name]!r} is not supported", where=path, todo="delete the field"
            )
