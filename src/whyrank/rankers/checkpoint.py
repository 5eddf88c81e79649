"""A checkpoint on disk: an ordinary Hugging Face folder, loaded whole and healthy or refused with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.rankers.checkpoint_files import CONFIG
from whyrank.rankers.config_file import read_config, transformers_config, typed_config
from whyrank.rankers.library_errors import library_errors
from whyrank.rankers.ranker import Source
from whyrank.rankers.tokenizer_files import read_pieces
from whyrank.rankers.weights import check_size, unread, weight_files, what_reads
from whyrank.text.pieces import Pieces


@dataclass(frozen=True)
class Checkpoint:
    """A folder with config, weights and tokenizer; where it came from; and how its ranker family reads it.

    `guessed` says that nothing named the family: it is what a folder is read as that does not say. `own_config` is
    the config where it is not the folder's config.json.
    """

    name: str
    folder: Path
    source: Source
    settings: Mapping[str, Any] = field(default_factory=dict)
    guessed: bool = False
    own_config: Mapping[str, Any] | None = None
    #: What must live as long as the folder is read: the temporary folder of a model that was given in memory.
    held: object = field(default=None, repr=False, compare=False)

    @cached_property
    def config(self) -> dict[str, Any]:
        return read_config(self.folder) if self.own_config is None else dict(self.own_config)

    def model(
        self, auto_class: str, head: str | None = None, *, also_read: Collection[str] = (), any_head: bool = False
    ) -> HuggingFaceModule:
        """The whole model in float32, every weight from the checkpoint and finite, and every weight of the
        checkpoint read (`unread` says what may be left).

        With `head` ('a trained ranking head'), a checkpoint that lacks the head's weights is refused as such;
        without, the encoder alone is loaded, without a pooler if the checkpoint has none. The family reads
        `also_read` by itself. With `any_head`, heads of all tasks are left: a new one will be trained.
        """
        config = self._transformers_config()
        files = weight_files(self.folder, typed_config(self.config, self._config_path))
        check_size(self._elements(auto_class, config), files, self._config_path)
        model, loading = self._load(auto_class, config)
        self._check_missing(model, set(loading["missing_keys"]), head)
        if not any_head:
            self._check_unread(model, loading["unexpected_keys"], also_read)
        self._check_finite(model)
        return model.eval()

    def new_model(self, auto_class: str = "AutoModel") -> HuggingFaceModule:
        """A model of the config's shape with random weights."""
        import transformers

        config = self._transformers_config()
        with library_errors("no model can be made of it", self._config_path):
            return getattr(transformers, auto_class).from_config(config).float()

    @property
    def _config_path(self) -> Path:
        return self.folder / CONFIG

    def _transformers_config(self) -> Any:
        return transformers_config(self.config, self._config_path)

    def _elements(self, auto_class: str, config: Any) -> int:
        """How many weights a model of this config has, without making it."""
        import transformers

        with library_errors("no model can be made of it", self._config_path), torch.device("meta"):
            model = getattr(transformers, auto_class).from_config(config)
        return sum(weight.numel() for weight in model.parameters())

    def _load(self, auto_class: str, config: Any) -> tuple[HuggingFaceModule, dict[str, Any]]:
        import transformers

        with library_errors("the weights cannot be loaded", self.folder, "fetch or save the checkpoint again"):
            return getattr(transformers, auto_class).from_pretrained(
                self.folder,
                config=config,
                output_loading_info=True,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
            )

    def _check_missing(self, model: HuggingFaceModule, missing: set[str], head: str | None) -> None:
        base = model.base_model
        poolers = {name for name in missing if name.startswith("pooler.")} if base is model and not head else set()
        if poolers:
            base.pooler = None  # as the checkpoint: what is not there is neither made up nor saved
        lost = sorted(missing - poolers)
        if not lost:
            return
        prefix = "" if base is model else f"{model.base_model_prefix}."
        body = {f"{prefix}{name}" for name, _ in base.named_parameters() if not name.startswith("pooler.")}
        if head and body.isdisjoint(lost):
            raise UserError(
                f"no {head.removeprefix('a ')} in this checkpoint ({few(lost)} missing)",
                where=self.folder,
                todo="its scores would be random; load it as a bi-encoder, or train a head first",
            )
        raise UserError(f"missing weights: {few(lost)}", where=self.folder, todo="the checkpoint is incomplete")

    def _check_unread(
        self, model: HuggingFaceModule, unexpected: Iterable[str], also_read: Collection[str]
    ) -> None:
        kind, base = model.config.model_type, model.base_model_prefix
        extra = unread(unexpected, kind, base, named=not self.guessed, also=also_read)
        if extra:
            raise UserError(
                f"weights that are not read as {type(model).__name__}: {few(extra)}",
                where=self.folder,
                todo=what_reads(extra, self.folder),
            )

    def _check_finite(self, model: HuggingFaceModule) -> None:
        for name, weight in model.named_parameters():
            if not torch.isfinite(weight).all():
                raise UserError(f"NaN or infinity in {name}", where=self.folder, todo="the checkpoint is damaged")

    def pieces(self, max_length: int) -> Pieces:
        """The tokenizer, cutting at what model, tokenizer and settings all allow."""
        longest = min(max_length, self.settings.get("max_length") or max_length)
        return read_pieces(self.folder, self._transformers_config(), longest)


def few(names: Iterable[str], most: int = 4) -> str:
    """The first names, and how many more there are."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
