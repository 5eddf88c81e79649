"""What a training depends on, by content: a changed file under the same name is another training."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from whyrank.core.errors import UserError
from whyrank.core.packages import sha256
from whyrank.rankers.checkpoint import Checkpoint

#: Endings of the files that a checkpoint is: weights, configs, and vocabularies.
DECIDING = (".safetensors", ".bin", ".json", ".txt", ".model")


def weights_hash(backbone: Checkpoint) -> str:
    """Of what a transformer starts from."""
    files = sorted(path for path in backbone.folder.iterdir() if path.suffix in DECIDING)
    return lines_hash(f"{path.name} {sha256(path)}" for path in files)


def vectors_hash(path: Path) -> str:
    """Of a file of word vectors."""
    if not path.is_file():
        raise UserError("no such file", where=path, todo="give a file of word vectors")
    return sha256(path)


def lines_hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
