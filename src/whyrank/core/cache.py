"""Where whyrank keeps what it fetched or made: one folder, the user's to move or delete."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(*parts: str) -> Path:
    """A folder below `$WHYRANK_CACHE`, else below `$XDG_CACHE_HOME/whyrank`, else `~/.cache/whyrank`."""
    root = os.environ.get("WHYRANK_CACHE")
    base = Path(root) if root else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whyrank"
    return base.expanduser().joinpath(*parts)
