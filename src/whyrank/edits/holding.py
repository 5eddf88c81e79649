"""Which texts hold a term."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from whyrank.text.words import words


def holding(term: str) -> Callable[[str], bool]:
    """Whether a text holds the term: as whole words, one after another, whatever their case."""
    wanted = words(term)
    if " ".join(wanted) == _plain(term):
        n = len(wanted)

        def holds(text: str) -> bool:
            found = words(text)
            return any(found[i : i + n] == wanted for i in range(len(found) - n + 1))

        return holds
    pattern = re.compile(rf"(?<!\w){re.escape(_plain(term))}(?!\w)")  # `_plain` leaves single blanks only
    return lambda text: pattern.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).lower().replace("’", "'").split())
