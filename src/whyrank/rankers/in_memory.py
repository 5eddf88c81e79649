"""Models in memory as checkpoints: saved by their own library into a temporary folder, and read from there.

So every check that a folder passes is made of them, too, and what is opened is a copy: later changes of the object
are not seen. The folder is deleted when the last ranker that was made of it is gone.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from whyrank.core.errors import UserError
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.library_errors import library_errors
from whyrank.rankers.ranker import Source
from whyrank.rankers.weights import stored_precision

GIVE = "give a name, a sentence-transformers model, or a transformers model with tokenizer=..."


def checkpoint_in_memory(model: Any, tokenizer: Any = None) -> Checkpoint:
    """The checkpoint of a sentence-transformers CrossEncoder, SentenceTransformer or SparseEncoder, or of a
    transformers model with its tokenizer."""
    what = type(model).__name__
    if not hasattr(model, "save_pretrained"):
        raise UserError(f"a {what} cannot be loaded", todo=GIVE)
    whole = type(model).__module__.startswith("sentence_transformers.")
    if not whole and not hasattr(tokenizer, "save_pretrained"):
        raise UserError(f"{what} comes without a tokenizer", todo="give it: load(model, tokenizer=tokenizer)")
    held = TemporaryDirectory(prefix="whyrank-")
    folder = Path(held.name)
    with library_errors(f"this {what} cannot be saved", folder):
        model.save_pretrained(str(folder))
        if tokenizer is not None:
            tokenizer.save_pretrained(str(folder))
    place = f"in memory ({what})"
    return Checkpoint(_name_of(model), folder, Source(place, stored_precision(folder)), held=held)


def _name_of(model: Any) -> str:
    """What the model was loaded by, as far as it knows."""
    config = getattr(model, "config", None)
    known = getattr(config, "_name_or_path", "") or getattr(config, "name_or_path", "")
    return str(known) or type(model).__name__
