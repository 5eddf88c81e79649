"""How a collection is read: its fields, its HTML, its language."""

from __future__ import annotations

from dataclasses import dataclass, field

from whyrank.collections.fields import Fields
from whyrank.text.words import ENGLISH


@dataclass(frozen=True)
class Reading:
    """Which fields hold the documents' ids, titles and texts (None: guessed by name), whether HTML is taken out of
    the texts, and the language whose stems BM25 counts (`none`: whole words)."""

    fields: Fields = field(default_factory=Fields)
    strip_html: bool = False
    language: str = ENGLISH


#: Fields guessed, texts as they are, English stems.
AS_IT_IS = Reading()
