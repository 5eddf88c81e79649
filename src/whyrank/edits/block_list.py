"""A user's list of words to suppress: a text file, one word a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.edits.term_edit import Edits, TermEdit
from whyrank.edits.term_pieces import pieces_of
from whyrank.text.words import words


@dataclass(frozen=True)
class BlockList:
    """The words that can be suppressed, each once, and the entries that cannot, by the reason."""

    words: tuple[str, ...]
    skipped: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, tokenizer: Tokenizer) -> BlockList:
        """Blank lines and lines that begin with # are no entries. Only single words can be turned down."""
        kept: dict[str, None] = {}
        spelled: set[tuple[int, ...]] = set()  # an uncased ranker reads Word and word alike
        skipped: dict[str, list[str]] = {}
        for entry in cls.entries(path):
            reason = _reason_against(entry, tokenizer)
            if reason:
                skipped.setdefault(reason, []).append(entry)
            elif pieces_of(tokenizer, entry) not in spelled:
                spelled.add(pieces_of(tokenizer, entry))
                kept[entry] = None
        if not kept:
            told = "; ".join(f"{len(some)} {reason}" for reason, some in skipped.items())
            raise UserError(
                f"no entry of this block list can be suppressed ({told})", where=path, todo="write one word a line"
            )
        return cls(tuple(kept), skipped)

    @staticmethod
    def entries(path: Path) -> list[str]:
        """What the file lists, each once, whatever it is; at least one."""
        lines = (line.text.strip() for line in read_lines(path))
        found = list(dict.fromkeys(line for line in lines if not line.startswith("#")))
        if not found:
            raise UserError("this block list is empty", where=path, todo="write one word a line")
        return found

    def edits(self, scale: float, rule: str = "from-one") -> Edits:
        """All words turned down at once."""
        return Edits(tuple(TermEdit(word, "down", scale, rule) for word in self.words))

    def holds_none(self, text: str) -> bool:
        """Whether a text is safe: without any listed word."""
        return self._spelled.isdisjoint(words(text))

    @cached_property
    def _spelled(self) -> set[str]:
        return {_plain(word) for word in self.words}


def _plain(word: str) -> str:
    """As `words` writes it."""
    return word.lower().replace("’", "'")


def _reason_against(entry: str, tokenizer: Tokenizer) -> str | None:
    if words(entry) != [_plain(entry)]:
        return "not a single word"
    try:
        pieces_of(tokenizer, entry)
    except UserError:
        return "not in the ranker's vocabulary"
    return None
