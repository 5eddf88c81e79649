"""The weight files of a checkpoint: which there are, what they hold, and which of it a family may leave unread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.rankers.checkpoint_files import CONFIG, NEEDED, Config, WeightIndex, is_inside
from whyrank.rankers.library_errors import library_errors

#: In the order in which transformers takes them.
WEIGHT_FILES = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
#: Last parts of the names of buffers that older versions of transformers saved: they are computed, not learned.
BUFFERS = frozenset({"position_ids", "token_type_ids", "inv_freq"})
#: How the names of the heads of pre-training begin. Only the sparse family reads them, as part of its model.
PRETRAINING_HEADS = {
    "bert": ("cls.",),
    "distilbert": ("vocab_transform.", "vocab_layer_norm.", "vocab_projector."),
    "roberta": ("lm_head.",),
    "xlm-roberta": ("lm_head.",),
    "camembert": ("lm_head.",),
    "electra": ("discriminator_predictions.", "generator_predictions.", "generator_lm_head."),
    "mpnet": ("lm_head.",),
    "modernbert": ("head.", "decoder."),
}
#: Architectures whose encoder may come with a pooler. The classes that do not read it have no place for it.
HAVE_POOLERS = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "mpnet"})
#: How the names of a classification head begin.
CLASSIFIERS = ("classifier.", "pre_classifier.")
#: What elements beside the weights in the files a model may have: a new pooler, a tied matrix.
MORE_ELEMENTS = 2**24


def weight_files(folder: Path, config: Config) -> list[Path]:
    """The files that transformers will read weights from, all of them in the folder and there."""
    if (folder / "adapter_config.json").exists():
        raise UserError(
            "an adapter (PEFT) beside the weights",
            where=folder,
            todo="merge it into the weights and save the model",
        )
    if config.transformers_weights is not None:
        raise UserError(
            "field transformers_weights is not supported",
            where=folder / CONFIG,
            todo=f"name the file {WEIGHT_FILES[0]}",
        )
    found = next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), None)
    if found is None:
        raise UserError("no weights", where=folder, todo=f"one of {', '.join(WEIGHT_FILES)} is needed")
    return _indexed(folder, found) if found.suffix == ".json" else [found]


def _indexed(folder: Path, index: Path) -> list[Path]:
    """The files that an index names."""
    names = sorted(set(read_json(index, WeightIndex).weight_map.values()))
    for name in names:
        if not is_inside(folder, name):
            raise UserError(
                f"the file {name!r} is not in the folder", where=index, todo="this index is not followed"
            )
        if not (folder / name).is_file():
            raise UserError(f"no file {name!r}", where=index, todo="fetch the checkpoint again")
    if not names:
        raise UserError("it names no weights", where=index, todo="fetch the checkpoint again")
    return [folder / name for name in names]


def check_size(elements: int, files: Sequence[Path], where: Path) -> None:
    """Raises before memory is taken for a model that the files cannot be the weights of: a stored element has a
    byte at least."""
    stored = sum(file.stat().st_size for file in files)
    if elements > stored + MORE_ELEMENTS:
        raise UserError(
            f"it describes a model of {elements:,} weights, and the weight files have {stored:,} bytes",
            where=where,
            todo="config and weights are not of one checkpoint; fetch it again",
        )


def unread(
    names: Iterable[str], model_type: str, base: str, *, named: bool, also: Collection[str] = ()
) -> list[str]:
    """The weights that should have been read: what is left of those without a place in the model.

    May be left: buffers, poolers where the model has none, weights that the family reads by itself (`also`), and,
    where the family was `named` and not guessed, heads of pre-training. `base` is the encoder's name inside a
    model with a head.
    """
    names = [name for name in names if name not in also and name.rsplit(".", 1)[-1] not in BUFFERS]
    poolers = ("pooler.", f"{base}.pooler.") if model_type in HAVE_POOLERS else ()
    heads = PRETRAINING_HEADS.get(model_type, ()) if named else ()
    if any(name.startswith(CLASSIFIERS) for name in names):
        heads = ()  # whoever fine-tuned it has use for all of them; ModernBERT's classifier has a `head.`, too
    return sorted(name for name in names if not name.startswith((*poolers, *heads)))


def what_reads(names: Sequence[str], folder: Path) -> str:
    """What to do about weights that are not read: name the family that reads them."""
    if any(name.startswith(CLASSIFIERS) for name in names):
        kind = "cross-encoder"
    elif any(name.startswith(heads) for name in names for heads in PRETRAINING_HEADS.values()):
        kind = "sparse"
    else:
        return "if nothing needs them, save the checkpoint without them"
    own = f'put {{"kind": "{kind}"}} into {folder / "whyrank.json"}'
    return f"is it a {kind}? then {own} (in Python: kind='{kind}'); else save the checkpoint without them"


def read_weights(folder: Path, wanted: Callable[[str], bool]) -> dict[str, Tensor]:
    """The weights with wanted names, from safetensors or a weights-only pickle; none where there is no file."""
    from safetensors import safe_open

    found: dict[str, Tensor] = {}
    for file in sorted(folder.glob("*.safetensors")):
        with library_errors("the weights cannot be loaded", file), safe_open(file, framework="pt") as weights:
            found.update({name: weights.get_tensor(name) for name in weights.keys() if wanted(name)})  # noqa: SIM118
    for file in [] if found else sorted(folder.glob("pytorch_model*.bin")):
        with library_errors("the weights cannot be loaded", file):
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
        except (SafetensorError, OSError):
            return "unreadable"
        return "/".join(sorted(names.get(kind, kind) for kind in kinds if not kind.startswith("I")))
    config: Config = read_json(folder / CONFIG, Config, todo=NEEDED)
    return config.dtype or config.torch_dtype or "float32"
