"""A user's words and phrases to suppress: a text file with one per line, or a list.

A phrase (several words, or words with hyphens) is matched as its words, one after another. It can only be turned
down by its pieces: each of its words counts for less wherever it stands, also outside of the phrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tokenizers import Tokenizer

from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.edits.edit import RULES, Edit, TermEdit
from whyrank.edits.term_pieces import pieces_of
from whyrank.text.words import word_spans, words

EMPTY, WRITE = "this block list is empty", "write one word or phrase per line"


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
    """The words and phrases that can be suppressed, each once, and the entries that cannot, by the reason; the
    file that they are from, if they are from one."""

    words: tuple[str, ...]
    skipped: dict[str, tuple[str, ...]] = field(default_factory=dict)
    source: Path | None = None

    @classmethod
    def read(cls, terms: Path | str | Iterable[str], tokenizer: Tokenizer) -> BlockList:
        """Of a file or a list."""
        kept: dict[str, None] = {}
        spelled: set[tuple[int, ...]] = set()  # an uncased ranker reads Word and word alike
        skipped: dict[str, tuple[str, ...]] = {}
        for entry in entries_of(terms):
            reason = _reason_against(entry, tokenizer)
            if reason:
                skipped[reason] = (*skipped.get(reason, ()), entry)
                continue
            several = words(entry)
            one = entry if len(several) == 1 else " ".join(several)
            if pieces_of(tokenizer, one) not in spelled:
                spelled.add(pieces_of(tokenizer, one))
                kept[one] = None
        where = Path(terms) if isinstance(terms, Path | str) else None
        if not kept:
            why = "; ".join(f"{len(some)} {reason}" for reason, some in skipped.items())
            raise UserError(f"no entry of this block list can be suppressed ({why})", where=where, todo=WRITE)
        return cls(tuple(kept), skipped, where)

    def edit(self, scale: float, rule: str = RULES[0]) -> Edit:
        """All words turned down at once."""
        return Edit(tuple(TermEdit(word, "down", scale, rule) for word in self.words))

    @property
    def phrases(self) -> tuple[str, ...]:
        """The entries of several words."""
        return tuple(entry for entry in self.words if len(words(entry)) > 1)

    def holds_none(self, text: str) -> bool:
        """Whether a text is safe: without any listed word or phrase."""
        return next(self._found(words(text)), None) is None

    def without(self, text: str) -> str:
        """The text with every listed word and phrase deleted; as it is where nothing else would be left."""
        spans = word_spans(text)
        gone = {i for start, end in self._found([one.word for one in spans]) for i in range(start, end)}
        kept, at = [], 0
        for i in sorted(gone):
            kept.append(text[at : spans[i].start])
            at = spans[i].end
        left = " ".join("".join([*kept, text[at:]]).split()) if gone else text
        return left if words(left) or not gone else text

    def _found(self, found: list[str]) -> Iterator[tuple[int, int]]:
        """From which word to which a listed entry stands among these words."""
        for i, word in enumerate(found):
            for entry in self._by_first.get(word, ()):
                if tuple(found[i : i + len(entry)]) == entry:
                    yield i, i + len(entry)

    @cached_property
    def _by_first(self) -> dict[str, list[tuple[str, ...]]]:
        """The entries as words, by their first word."""
        found: dict[str, list[tuple[str, ...]]] = {}
        for entry in self.words:
            spelled = tuple(words(entry))
            found.setdefault(spelled[0], []).append(spelled)
        return found


def _plain(entry: str) -> str:
    """As its words are written one after another, hyphens and blanks between them."""
    return " ".join(entry.lower().replace("’", "'").replace("-", " ").split())


def _reason_against(entry: str, tokenizer: Tokenizer) -> str | None:
    if not words(entry) or " ".join(words(entry)) != _plain(entry):
        return "not words"
    try:
        pieces_of(tokenizer, _plain(entry))
    except UserError:
        return "not in the ranker's vocabulary"
    return None
