"""A checkpoint on disk: an ordinary Hugging Face folder, loaded whole and healthy or refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from whyrank.encoders.adapters import check_supported
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.errors import UserError
from whyrank.rankers.ranker import Source
from whyrank.text.pieces import Pieces

#: Weights that checkpoints carry for other tasks, or buffers of old versions: leaving them out changes nothing.
HARMLESS = (
    "position_ids", "pooler.", "cls.", "classifier.", "pre_classifier.", "lm_head.", "vocab_", "generator_",
    "discriminator_predictions.", "decoder.", "head.", "qa_outputs.", "linear.weight",
)  # fmt: skip
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


@dataclass(frozen=True)
class Checkpoint:
    """A folder with config, weights and tokenizer; where it came from; and how its ranker family reads it."""

    name: str
    folder: Path
    source: Source
    settings: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def config(self) -> dict[str, Any]:
        return read_config(self.folder)

    def model(self, auto_class: str, head: str | None = None) -> HuggingFaceModule:
        """The whole model in float32, every weight from the checkpoint and finite.

        With `head` ('a trained ranking head'), a checkpoint that lacks the head's weights is refused as
        such; without, the encoder alone is loaded and heads of other tasks are passed over.
        """
        check_supported(self.config.get("model_type"), where=str(self.folder / "config.json"))
        if not any((self.folder / name).exists() for name in WEIGHT_FILES):
            raise UserError("no weights", where=self.folder, todo=f"one of {', '.join(WEIGHT_FILES)} is needed")
        model, loading = self._load(auto_class)
        encoder_weights = {f"{model.base_model_prefix}.{name}" for name, _ in model.base_model.named_parameters()}
        missing = sorted(name for name in loading["missing_keys"] if head or not _is_harmless(name))
        self._check_missing(missing, encoder_weights, head)
        extra = sorted(name for name in loading["unexpected_keys"] if not _is_harmless(name))
        if extra:
            raise UserError(f"weights that this architecture has no place for: {_few(extra)}", where=self.folder)
        self._check_finite(model)
        return model.eval()

    def _load(self, auto_class: str) -> tuple[HuggingFaceModule, dict[str, Any]]:
        import transformers
        from safetensors import SafetensorError

        verbosity = transformers.logging.get_verbosity()
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        try:
            return getattr(transformers, auto_class).from_pretrained(
                self.folder,
                output_loading_info=True,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
            )
        except UnpicklingError as error:
            raise UserError(
                "the weights cannot be loaded: this pickle would run code",
                where=self.folder,
                todo="save them as model.safetensors where you trust them",
            ) from error
        except (SafetensorError, RuntimeError, ValueError, OSError, EOFError) as error:
            raise UserError(
                f"the weights cannot be loaded ({' '.join(str(error).split())[:200]})",
                where=self.folder,
                todo="fetch or save the checkpoint again",
            ) from error
        finally:
            transformers.logging.set_verbosity(verbosity)

    def _check_missing(self, missing: list[str], encoder_weights: set[str], head: str | None) -> None:
        if not missing:
            return
        of_body = [name for name in missing if name in encoder_weights and "pooler" not in name]
        if head and not of_body:
            raise UserError(
                f"no {head.removeprefix('a ')} in this checkpoint ({_few(missing)} missing)",
                where=self.folder,
                todo="its scores would be random; load it as a bi-encoder, or train a head first",
            )
        raise UserError(
            f"missing weights: {_few(missing)}", where=self.folder, todo="the checkpoint is incomplete"
        )

    def _check_finite(self, model: HuggingFaceModule) -> None:
        for name, weight in model.named_parameters():
            if not torch.isfinite(weight).all():
                raise UserError(f"NaN or infinity in {name}", where=self.folder, todo="the checkpoint is damaged")

    def pieces(self, max_length: int) -> Pieces:
        """The tokenizer, cutting at what model, tokenizer and settings all allow."""
        import transformers

        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(
                self.folder, local_files_only=True, trust_remote_code=False
            )
            backend = tokenizer.backend_tokenizer
        except (OSError, ValueError, AttributeError, KeyError) as error:
            raise UserError(
                "no tokenizer that can be read", where=self.folder, todo="tokenizer.json is needed"
            ) from error
        longest = min(max_length, tokenizer.model_max_length, int(self.settings.get("max_length", max_length)))
        types = "token_type_ids" in tokenizer.model_input_names
        return Pieces(backend, longest, tokenizer.pad_token_id or 0, types)


def read_config(folder: Path) -> dict[str, Any]:
    """The checkpoint's config.json."""
    return read_json(folder / "config.json", todo="a checkpoint folder has config.json, weights and a tokenizer")


def read_json(path: Path, todo: str | None = None) -> Any:
    """A JSON file, or the reason why not."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError("no such file", where=path, todo=todo) from error
    except (ValueError, OSError) as error:
        raise UserError(f"not JSON ({error})", where=path) from error


def read_weights(folder: Path, wanted: Callable[[str], bool]) -> dict[str, Tensor]:
    """The weights with wanted names, from safetensors or a weights-only pickle; none where there is no file."""
    from safetensors import safe_open

    found: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        with safe_open(file, framework="pt") as weights:
            found.update({name: weights.get_tensor(name) for name in weights.keys() if wanted(name)})  # noqa: SIM118
    for file in [] if found else sorted(folder.glob("pytorch_model*.bin")):
        loaded = torch.load(file, map_location="cpu", weights_only=True)
        found.update({name: weight for name, weight in loaded.items() if wanted(name)})
    return found


def stored_precision(folder: Path) -> str:
    """The number format of the stored weights."""
    from safetensors import SafetensorError, safe_open

    names = {"F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64"}
    for file in sorted(folder.glob("*.safetensors"))[:1]:
        try:
            with safe_open(file, framework="pt") as weights:
                kinds = {str(weights.get_slice(name).get_dtype()) for name in weights.keys()}  # noqa: SIM118
        except SafetensorError:
            return "unreadable"
        return "/".join(sorted(names.get(kind, kind) for kind in kinds if not kind.startswith("I")))
    config = read_config(folder)
    return str(config.get("dtype") or config.get("torch_dtype") or "float32")


def _is_harmless(name: str) -> bool:
    return any(part in name for part in HARMLESS)


def _few(names: Iterable[str], most: int = 4) -> str:
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
