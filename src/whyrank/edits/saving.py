"""An edited ranker, in place for a while or as an ordinary checkpoint that whyrank, transformers and
sentence-transformers load.

The files of the original are copied but for its weights; the weights are saved by the model's own
`save_pretrained`. `whyrank.json` says how the ranker is read and where it comes from, `edits.json` what was done.
"""

from __future__ import annotations

import errno
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from whyrank.core.atomic import check_writable, make_new, write_json
from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.edits.rows import RowChange, Undo, apply
from whyrank.encoders.anatomy import HuggingFaceModule
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.checkpoint_files import LENGTH, MODULES, OWN_FILE, PROMPTS
from whyrank.rankers.copying import copy_files, copy_folder
from whyrank.rankers.kinds import detect
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.weights import read_weights

EDITS_FILE = "edits.json"
WEIGHTS = "model.safetensors"
#: Files of a checkpoint that are not weights; of its folders, those of sentence-transformers' modules.
COPIED = re.compile(r"(?!.*\.index\.json$).+\.(json|txt|model|metadata|md|jinja|spm)$")
MODULE = re.compile(r"\d+_\w+")


class EditedRanker:
    """A ranker with a change that is not made yet: a context in which it is, and a checkpoint to save.

        with edited as ranker:
            ranker.rank(query, documents)
        edited.save("folder")

    `record` is what edits.json will say was done, `origin` the same in words ('edited from').
    """

    def __init__(self, ranker: NeuralRanker, change: RowChange, record: dict[str, Any], origin: str) -> None:
        self.ranker, self.change, self.origin = ranker, change, origin
        self.record = {"ranker": ranker.name, "fingerprint": ranker.fingerprint(), **record}
        self._undo: Undo | None = None

    def __enter__(self) -> NeuralRanker:
        if self._undo is None:
            self._undo = apply(self.ranker, self.change)
        return self.ranker

    def __exit__(self, *_: object) -> None:
        if self._undo is not None:
            self._undo()
            self._undo = None

    def save(self, folder: Path | str) -> Path:
        """The ranker with the change as an ordinary checkpoint, in a new folder."""
        with self if self._undo is None else nullcontext():
            return save_checkpoint(self.ranker, Path(folder), self.record, self.origin)

    def __repr__(self) -> str:
        return f"EditedRanker({self.ranker.name!r}, {len(self.change.moved)} tokens moved)"


def check_target(folder: Path) -> None:
    """Raises at once when a checkpoint could not be saved here later."""
    if folder.exists() and not folder.is_dir():
        raise UserError("a file stands where the checkpoint should be", where=folder, todo="choose another folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError("this folder holds other files", where=folder, todo="choose another folder, a new one")
    check_writable(folder)


def save_checkpoint(ranker: NeuralRanker, folder: Path, done: dict[str, Any], origin: str) -> Path:
    """The ranker with its weights as they are now, as a folder that is there whole or not at all.

    `done` goes into edits.json, after what an earlier edit left there; `origin` says in words what was done.
    """
    check_target(folder)
    model = hugging_face_model(ranker)
    return make_new(folder, lambda partial: write_checkpoint(ranker, model, partial, folder.name, done, origin))


def hugging_face_model(ranker: NeuralRanker) -> HuggingFaceModule:
    """The module whose weights are the checkpoint's."""
    model = getattr(ranker, "model", None)
    if not hasattr(model, "save_pretrained"):
        raise UserError(f"{ranker.name} ({ranker.kind}) cannot be saved as a Hugging Face checkpoint")
    return model


def write_checkpoint(
    ranker: NeuralRanker, model: HuggingFaceModule, folder: Path, name: str, done: dict[str, Any], origin: str
) -> None:
    """The files of a checkpoint, into a folder that is there."""
    source = ranker.checkpoint.folder
    _copy_files(source, folder)
    _save_weights(ranker, model, folder)
    _about_reading(ranker, folder)
    settings = {key: value for key, value in ranker.checkpoint.settings.items() if key != "kind"}
    about = {
        "name": name,
        "kind": ranker.kind,
        "settings": settings,
        "source": f"{origin} {ranker.name} ({ranker.source.place})",
        "precision": ranker.source.precision,
    }
    write_json(folder / OWN_FILE, about)
    earlier = read_json(source / EDITS_FILE) if (source / EDITS_FILE).exists() else None
    write_json(folder / EDITS_FILE, {**done, "earlier": earlier})


def copy_small_files(ranker: NeuralRanker, folder: Path) -> None:
    """The files of a checkpoint without its weights: tokenizer, config, and how texts are read."""
    _copy_files(ranker.checkpoint.folder, folder)
    for name in (OWN_FILE, EDITS_FILE):  # that make a folder a ranker of ours, which this is not
        (folder / name).unlink(missing_ok=True)
    _about_reading(ranker, folder)


def _about_reading(ranker: NeuralRanker, folder: Path) -> None:
    """Makes the files say how the ranker reads texts."""
    _limit_length(ranker, folder / "tokenizer_config.json")
    if isinstance(ranker, BiEncoder):
        _write_sentence_transformers_files(ranker, folder)


def _limit_length(ranker: NeuralRanker, path: Path) -> None:
    """Whoever opens the checkpoint elsewhere should cut texts where this ranker does."""
    if path.exists():
        config = read_json(path)
        if config.get("model_max_length", ranker.max_length) > ranker.max_length:
            write_json(path, {**config, "model_max_length": ranker.max_length})


def _copy_files(source: Path, folder: Path) -> None:
    copy_files(source, folder, lambda name: COPIED.fullmatch(name) is not None)
    for path in sorted(source.iterdir()):
        if path.is_dir() and MODULE.fullmatch(path.name):
            copy_folder(path, source, folder)


def _save_weights(ranker: NeuralRanker, model: HuggingFaceModule, folder: Path) -> None:
    from safetensors import SafetensorError

    try:
        model.save_pretrained(folder)
        if isinstance(ranker, LateInteraction):
            _add_projection(ranker, model, folder)
    except SafetensorError as error:  # what the system said is in its text only
        full = "No space left" in str(error) or "File too large" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error)) from error


def _add_projection(ranker: LateInteraction, model: HuggingFaceModule, folder: Path) -> None:
    """ColBERT's own checkpoints keep the projection among the encoder's weights, whose names have a prefix."""
    from safetensors.torch import load_file, save_file

    original = read_weights(ranker.checkpoint.folder, wanted=lambda name: True)
    if "linear.weight" not in original:
        return
    prefix = f"{model.base_model_prefix}."
    prefix = prefix if any(name.startswith(prefix) for name in original) else ""
    weights = {f"{prefix}{name}": weight for name, weight in load_file(folder / WEIGHTS).items()}
    projection = original["linear.weight"].float().contiguous()
    save_file({**weights, "linear.weight": projection}, folder / WEIGHTS, metadata={"format": "pt"})


def _write_sentence_transformers_files(ranker: BiEncoder, folder: Path) -> None:
    """Makes the folder say what the ranker does, unless its files say so already."""
    if not (folder / MODULES).exists() or detect(folder).settings != _settings(ranker):
        _write_modules(ranker, folder)


def _settings(ranker: BiEncoder) -> dict[str, Any]:
    """The ranker's settings, as `detect` reads them from such files."""
    return {
        "pooling": ranker.pooling,
        "normalise": ranker.normalise,
        "query_prefix": ranker.prefixes["query"],
        "document_prefix": ranker.prefixes["document"],
        "max_length": ranker.max_length,
    }


def _write_modules(ranker: BiEncoder, folder: Path) -> None:
    names = ["Transformer", "Pooling", *(["Normalize"] if ranker.normalise else [])]
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{name}" if i else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for i, name in enumerate(names)
    ]
    write_json(folder / MODULES, modules)
    for module in modules[1:]:
        (folder / str(module["path"])).mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": ranker.encoder.width,
        "pooling_mode_cls_token": ranker.pooling == "cls",
        "pooling_mode_mean_tokens": ranker.pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    write_json(folder / "1_Pooling" / "config.json", pooling)
    write_json(folder / LENGTH, {"max_seq_length": ranker.max_length, "do_lower_case": False})
    known = read_json(folder / PROMPTS, dict[str, Any]) if (folder / PROMPTS).exists() else {}
    prompts = {**(known.get("prompts") or {}), **ranker.prefixes}
    similarity = "cosine" if ranker.normalise else "dot"
    write_json(folder / PROMPTS, {**known, "prompts": prompts, "similarity_fn_name": similarity})
