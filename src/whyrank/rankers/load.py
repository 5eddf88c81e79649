"""`load`: from a name to a ranker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.core.errors import UserError
from whyrank.rankers.ranker import Ranker, Source

if TYPE_CHECKING:
    from whyrank.collections.collection import Collection


def load(
    name: str,
    *,
    kind: str | None = None,
    collection: Collection | None = None,
    device: str = "cpu",
    **settings: Any,
) -> Ranker:
    """Opens a ranker: a checkpoint's folder, a hub id (`owner/name`), a short name (`ce-minilm-l12`, `bm25`), or
    what a command fitted (`semantic-bm:RUN`).

    `kind` says how to read a checkpoint when its files do not (`cross-encoder`, `bi-encoder`,
    `late-interaction`, `sparse`). `settings` overrule what the checkpoint says of itself: pooling,
    normalise, query_prefix, document_prefix, max_length, ... `bm25` needs the collection it counts in.
    """
    if name == "bm25":
        from whyrank.rankers.lexical import Lexical

        if collection is None:
            raise UserError("bm25 counts words in a collection", todo="give one: load('bm25', collection=...)")
        return Lexical.over(collection, **settings)
    from whyrank.rankers.checkpoint import Checkpoint
    from whyrank.rankers.checkpoint_files import check_settings
    from whyrank.rankers.find import find_checkpoint
    from whyrank.rankers.kinds import FITTED, detect, loader

    check_settings(settings)
    fitted, _, folder = name.partition(":")
    if fitted in FITTED:
        return loader(fitted)(
            Checkpoint(name, Path(folder).expanduser(), Source(folder, "fitted"), settings), device
        )
    checkpoint = find_checkpoint(name)
    known = {key: value for key, value in checkpoint.settings.items() if value is not None}
    detected = detect(checkpoint.folder)
    named = kind or known.get("kind")
    chosen = replace(
        checkpoint, settings={**detected.settings, **known, **settings}, guessed=detected.guessed and not named
    )
    return loader(named or detected.kind)(chosen, device)
