"""The Hugging Face hub and its local cache. A hub out of reach costs at most five seconds, once a process."""

from __future__ import annotations

import os
import threading
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

from whyrank.errors import UserError
from whyrank.rankers.checkpoint import WEIGHT_FILES

#: Seconds to wait for any answer at all.
PATIENCE = 4.0
#: What a ranker needs; other frameworks' weights stay where they are.
WANTED = ["*.json", "*.txt", "*.model", "*.safetensors", "pytorch_model*.bin", "*/config.json", "*.metadata"]


def cached_snapshot(hub_id: str) -> Path | None:
    """The folder in the local hub cache, if it is there with config and weights."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(hub_id, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        return None
    whole = (folder / "config.json").exists() and any((folder / name).exists() for name in WEIGHT_FILES)
    return folder if whole else None


def download_snapshot(hub_id: str) -> Path:
    """Fetches a repository; raises UserError with the reason when that cannot be done."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    if not hub_answers():
        raise UserError(f"the hub is out of reach, and {hub_id} is not in its local cache")
    try:
        patterns = [*WANTED]
        return Path(snapshot_download(hub_id, allow_patterns=patterns, ignore_patterns=["onnx/*", "openvino/*"]))
    except RepositoryNotFoundError as error:
        raise UserError(f"the hub has no model {hub_id}", todo="check its owner and name") from error
    except (HfHubHTTPError, OSError) as error:
        raise UserError(
            f"{hub_id} could not be fetched from the hub ({' '.join(str(error).split())[:150]})"
        ) from error


@cache
def hub_answers() -> bool:
    """Whether the hub answers within PATIENCE seconds; name look-ups that hang count as no."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "TRUE", "YES", "ON"):
        return False
    answered: list[bool] = []
    probe = threading.Thread(target=lambda: answered.append(_probe()), daemon=True)
    probe.start()
    probe.join(PATIENCE)
    return bool(answered and answered[0])


def _probe() -> bool:
    request = urllib.request.Request(os.environ.get("HF_ENDPOINT", "https://huggingface.co"), method="HEAD")
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500 and error.code not in (403, 407)  # a proxy that refuses is not the hub
    except (OSError, ValueError):
        return False
