"""A Python index on loopback for the tests: PEP 503's simple pages, over HTTP or HTTPS, also as a proxy."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import ssl
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest


@dataclass
class Index:
    """Files by name; `says` is the hash that the page says of each file, its own unless given."""

    files: Mapping[str, bytes]
    says: Mapping[str, str] = field(default_factory=dict)
    login: str | None = None
    address: str = ""
    asked: list[str] = field(default_factory=list)

    def page(self) -> str:
        return "".join(f'<a href="../../files/{name}{self._hash(name)}">{name}</a>' for name in self.files)

    def _hash(self, name: str) -> str:
        said = self.says.get(name, hashlib.sha256(self.files[name]).hexdigest())
        return f"#sha256={said}" if said else ""


@contextmanager
def serving(index: Index, certificate: Path | None = None) -> Iterator[Index]:
    """The index answers at `index.address` while the block lasts; asked as a proxy, it answers for any host."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            index.asked.append(self.path)
            given = self.headers.get("Authorization", "")
            if index.login and given != "Basic " + base64.b64encode(index.login.encode()).decode():
                return self._send(401, b"", {"WWW-Authenticate": "Basic"})
            if path.startswith("/simple/"):
                return self._send(200, index.page().encode(), {"Content-Type": "text/html"})
            content = index.files.get(path.removeprefix("/files/"))
            return self._send(404, b"", {}) if content is None else self._send(200, content, {})

        def _send(self, code: int, content: bytes, headers: dict[str, str]) -> None:
            self.send_response(code)
            for name, value in {**headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        index.address = f"{'https' if certificate else 'http'}://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield index
        server.shutdown()


def plain_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """pip without any setting of this machine's, and with a cache of its own."""
    settings = re.compile(r"PIP_.*|.*_proxy|(REQUESTS|CURL)_CA_BUNDLE|SSL_CERT_.*", re.IGNORECASE)
    for name in filter(settings.fullmatch, list(os.environ)):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_CACHE_DIR", str(tmp_path / "pip"))


def sdist(name: str, version: str, writes: Path) -> bytes:
    """A source archive whose every build step (setup.py, a back-end of its own) writes a file."""
    code = f"open({str(writes)!r}, 'a').write('built')\n"
    hooks = "def get_requires_for_build_wheel(*a, **k): return []\ndef build_wheel(*a, **k): pass\n"
    contents = {
        "setup.py": code + f"from setuptools import setup\nsetup(name={name!r}, version={version!r})\n",
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n',
        "own.py": code + hooks,
        "PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: {version}\n",
        "data/passages.txt": "a passage\n",
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in contents.items():
            member = tarfile.TarInfo(f"{name}-{version}/{path}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def wheel(name: str, version: str) -> bytes:
    """The smallest wheel that pip accepts."""
    about = f"{name}-{version}.dist-info"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr(f"{name}/model/config.json", "{}")
        packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        packed.writestr(f"{about}/RECORD", "")
    return buffer.getvalue()
