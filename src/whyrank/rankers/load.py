"""`load`: from a name to a ranker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.core.errors import UserError, quoted
from whyrank.rankers.ranker import Ranker, Source

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection
    from whyrank.rankers.checkpoint import Checkpoint


def load(
    ranker: str | Path | Any,
    *,
    tokenizer: Any = None,
    kind: str | None = None,
    collection: Collection | None = None,
    device: str = "cpu",
    **settings: Any,
) -> Ranker:
    """Opens a ranker: a checkpoint's folder, a hub id (`owner/name`), a short name (`ce-minilm-l12`, `bm25`), what
    a command fitted (`semantic-bm:RUN`), or a model in memory: a sentence-transformers CrossEncoder,
    SentenceTransformer or SparseEncoder, or a transformers model with its `tokenizer`. Of a model in memory a copy
    is opened.

    `kind` says how to read a checkpoint when its files do not (`cross-encoder`, `bi-encoder`,
    `late-interaction`, `sparse`). `settings` overrule what the checkpoint says of itself: pooling,
    normalise, query_prefix, document_prefix, max_length, ... `bm25` needs the collection it counts in.
    """
    if isinstance(ranker, Ranker):
        return ranker
    check_device(device)
    if not isinstance(ranker, str | Path):
        return _from_memory(ranker, tokenizer, kind, device, settings)
    name = str(ranker)
    if name == "bm25":
        from whyrank.rankers.lexical import Lexical

        if collection is None:
            raise UserError("bm25 counts words in a collection", todo="give a collection")
        return Lexical.over(collection, **settings)
    from whyrank.rankers.checkpoint import Checkpoint
    from whyrank.rankers.checkpoint_files import check_settings
    from whyrank.rankers.find import find_checkpoint
    from whyrank.rankers.kinds import FITTED, loader

    check_settings(settings)
    fitted, _, folder = name.partition(":")
    if fitted in FITTED:
        return loader(fitted)(
            Checkpoint(name, Path(folder).expanduser(), Source(folder, "fitted"), settings), device
        )
    return _opened(find_checkpoint(name), kind, device, settings)


def check_device(device: str) -> None:
    """Raises for a device that PyTorch does not know, or that this machine does not have."""
    if device == "cpu":
        return
    import torch

    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, TypeError) as error:
        why = str(error).partition("\n")[0]
        todo = "choose cpu, or cuda, cuda:1 or mps where there is one"
        raise UserError(f"device cannot be {quoted(device)} ({why})", todo=todo) from error


def _from_memory(model: Any, tokenizer: Any, kind: str | None, device: str, settings: dict[str, Any]) -> Ranker:
    from whyrank.rankers.checkpoint_files import check_settings
    from whyrank.rankers.in_memory import checkpoint_in_memory

    check_settings(settings)
    return _opened(checkpoint_in_memory(model, tokenizer), kind, device, settings)


def _opened(checkpoint: Checkpoint, kind: str | None, device: str, settings: dict[str, Any]) -> Ranker:
    """The ranker of a checkpoint; what is asked for overrules what is known of it and what its files say."""
    from whyrank.rankers.kinds import detect, loader

    known = {key: value for key, value in checkpoint.settings.items() if value is not None}
    detected = detect(checkpoint.folder)
    named = kind or known.get("kind")
    chosen = replace(
        checkpoint, settings={**detected.settings, **known, **settings}, guessed=detected.guessed and not named
    )
    return loader(named or detected.kind)(chosen, device)
