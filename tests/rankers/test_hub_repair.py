"""What lies damaged in the hub's local cache is found by its hash and fetched anew, from a hub on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints import save
from whyrank.rankers.hub import damaged_file

pytestmark = pytest.mark.security

COMMIT = "1" * 40
GET = ["get", "nobody/tiny"]


def hash_of(file: Path) -> str:
    """As the hub names files: sha256 for weights, git's hash for the rest."""
    content = file.read_bytes()
    if file.suffix == ".safetensors":
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def entry(file: Path) -> dict[str, Any]:
    """A file in the hub's list."""
    size, own = file.stat().st_size, hash_of(file)
    large = {"lfs": {"oid": own, "size": size, "pointerSize": 100}} if len(own) == 64 else {}
    return {"type": "file", "path": file.name, "size": size, "oid": own[:40], **large}


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """A hub with one model, a tiny one."""
    folder = save(tmp_path / "model")

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rpartition("/")[2]
            if "/tree/" in self.path:
                return self._send(json.dumps([entry(path) for path in folder.iterdir()]).encode(), {})
            if self.path.startswith("/api/models/nobody/tiny"):
                files = [{"rfilename": path.name} for path in folder.iterdir()]
                return self._send(json.dumps({"id": "nobody/tiny", "sha": COMMIT, "siblings": files}).encode(), {})
            if "/resolve/" in self.path:
                headers = {"ETag": f'"{hash_of(folder / name)}"', "X-Repo-Commit": COMMIT}
                return self._send((folder / name).read_bytes(), headers)
            return self._send(b"", {})

        def do_HEAD(self) -> None:
            self.do_GET()

        def _send(self, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(200)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def whyrank(tmp_path: Path, hub: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    own = {"HF_ENDPOINT": hub, "HF_HOME": str(tmp_path / "hf"), "WHYRANK_CACHE": str(tmp_path / "cache")}
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    command = [sys.executable, "-P", "-m", "whyrank", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**environment, **own}, timeout=120)


def test_damaged_weights_in_the_hub_cache_are_fetched_anew_by_get(hub: str, tmp_path: Path) -> None:
    first = whyrank(tmp_path, hub, *GET)
    assert first.returncode == 0, first.stderr
    (snapshot,) = (tmp_path / "hf").rglob(f"snapshots/{COMMIT}")
    assert damaged_file(snapshot) is None
    weights = (snapshot / "model.safetensors").resolve()
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    assert damaged_file(snapshot) == snapshot / "model.safetensors"
    offline = whyrank(tmp_path, "http://127.0.0.1:9", *GET)
    assert offline.returncode == 2
    assert "file model.safetensors is damaged, and the hub is out of reach" in offline.stderr
    again = whyrank(tmp_path, hub, *GET)
    assert again.returncode == 0, again.stderr
    assert "nobody/tiny in the hub cache is damaged (file model.safetensors): fetching it anew" in again.stderr
    assert (snapshot / "model.safetensors").read_bytes() == whole
    assert damaged_file(snapshot) is None


def test_a_changed_small_file_is_found_too(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / COMMIT
    blobs.mkdir()
    snapshot.mkdir(parents=True)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    blob = blobs / hash_of(tmp_path / "config.json")
    (tmp_path / "config.json").rename(blob)
    (snapshot / "config.json").symlink_to(blob)
    assert damaged_file(snapshot) is None
    blob.write_text('{"model_type": "best"}')
    assert damaged_file(snapshot) == snapshot / "config.json"
    blob.unlink()
    assert damaged_file(snapshot) == snapshot / "config.json"
