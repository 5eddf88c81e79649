"""A user's words to suppress: a text file with one word per line, or a list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.edits.edit import RULES, Edit, TermEdit
from whyrank.edits.term_pieces import pieces_of
from whyrank.text.words import words

EMPTY, WRITE = "this block list is empty", "write one word per line"


def entries_of(terms: Path | str | Iterable[str]) -> tuple[str, ...]:
    """What a file or a list names, each once, whatever it is; at least one. In a file, blank lines and lines that
    begin with # are no entries."""
    if not isinstance(terms, Path | str):
        found = tuple(dict.fromkeys(terms))
        if not found:
            raise UserError(EMPTY, todo="give one word or more")
        return found
    lines = (line.text.strip() for line in read_lines(Path(terms)))
    found = tuple(dict.fromkeys(line for line in lines if not line.startswith("#")))
    if not found:
        raise UserError(EMPTY, where=terms, todo=WRITE)
    return found


@dataclass(frozen=True)
class BlockList:
    """The words that can be suppressed, each once, and the entries that cannot, by the reason."""

    words: tuple[str, ...]
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, terms: Path | str | Iterable[str], tokenizer: Tokenizer) -> BlockList:
        """Of a file or a list. Only single words can be turned down."""
        kept: dict[str, None] = {}
        spelled: set[tuple[int, ...]] = set()  # an uncased ranker reads Word and word alike
        skipped: dict[str, tuple[str, ...]] = {}
        for entry in entries_of(terms):
            reason = _reason_against(entry, tokenizer)
            if reason:
                skipped[reason] = (*skipped.get(reason, ()), entry)
            elif pieces_of(tokenizer, entry) not in spelled:
                spelled.add(pieces_of(tokenizer, entry))
                kept[entry] = None
        if not kept:
            why = "; ".join(f"{len(some)} {reason}" for reason, some in skipped.items())
            where = terms if isinstance(terms, Path | str) else None
            raise UserError(f"no entry of this block list can be suppressed ({why})", where=where, todo=WRITE)
        return cls(tuple(kept), skipped)

    def edit(self, scale: float, rule: str = RULES[0]) -> Edit:
        """All words turned down at once."""
        return Edit(tuple(TermEdit(word, "down", scale, rule) for word in self.words))

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
