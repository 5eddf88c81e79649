"""The Hugging Face hub and its local cache. A hub out of reach costs at most five seconds, once a process."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import threading
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

from whyrank.core.errors import UserError
from whyrank.rankers.weights import WEIGHT_FILES

_log = logging.getLogger(__name__)
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


def damaged_file(snapshot: Path) -> Path | None:
    """The first file that is not what the hub sent: in its cache files lie under their hashes."""
    files = sorted(path for path in snapshot.rglob("*") if path.is_symlink() or path.is_file())
    return next((file for file in files if not _is_whole(file)), None)


def _is_whole(file: Path) -> bool:
    """Whether a file has the hash that it is named by: git's for small files, sha256 for large ones."""
    name = file.resolve().name
    if not file.exists():
        return False
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", name):
        return True
    start = b"" if len(name) == 64 else b"blob %d\0" % file.stat().st_size
    digest = hashlib.new("sha256" if len(name) == 64 else "sha1", start, usedforsecurity=False)
    with file.open("rb") as content:
        while chunk := content.read(2**20):
            digest.update(chunk)
    return digest.hexdigest() == name


def repair_snapshot(hub_id: str, snapshot: Path) -> None:
    """Reads a cached repository whole, and fetches it anew where it is damaged."""
    wrong = damaged_file(snapshot)
    if wrong is None:
        return
    _log.info("%s in the hub cache is damaged (file %s): fetching it anew", hub_id, wrong.name)
    try:
        download_snapshot(hub_id, anew=True)
    except UserError as error:
        todo = "run this where the hub can be reached, or delete the folder to use another source"
        raise UserError(f"file {wrong.name} is damaged, and {error.what}", where=snapshot, todo=todo) from error


def download_snapshot(hub_id: str, *, anew: bool = False) -> Path:
    """Fetches a repository; raises UserError with the reason when that cannot be done."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError

    if not hub_answers():
        raise UserError(
            f"the hub is out of reach, and {hub_id} is not {'whole ' if anew else ''}in its local cache"
        )
    try:
        others = ["onnx/*", "openvino/*"]
        found = snapshot_download(hub_id, allow_patterns=[*WANTED], ignore_patterns=others, force_download=anew)
        return Path(found)
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
