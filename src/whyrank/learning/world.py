"""How many processes learn together, as `--processes`, torchrun and `accelerate launch` say it."""

from __future__ import annotations

import os

#: The environment variable that names the file through which the processes of `--processes` find each other.
MEETING_POINT = "WHYRANK_MEETING_POINT"


def process_count() -> int:
    """This process and those that were started together with it."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def process_index() -> int:
    """Which of them this one is; the first, 0, writes and speaks for all."""
    return int(os.environ.get("RANK", "0"))
