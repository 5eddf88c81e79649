"""Which code made a number: the versions that every run and every kept piece of work are identified by."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import whyrank

#: Other packages whose version can change a score.
OTHERS = ("torch", "transformers")


@cache
def content_version() -> str:
    """`0.1.0+3f9a1c0b27de`: whyrank's version and a hash of its source files, so that a changed line shows."""
    root = Path(whyrank.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix()):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{whyrank.__version__}+{digest.hexdigest()[:12]}"


def versions() -> dict[str, str | None]:
    """What results depend on beside their inputs: whyrank's content, torch and transformers."""
    return {"whyrank": content_version(), **{name: installed_version(name) for name in OTHERS}}


def installed_version(name: str) -> str | None:
    """The version of an installed package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
