"""A document as an encoder sees it: tokens, each with its role and the characters of the text it stands for."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Encoding

Span = tuple[int, int]
#: What a token is part of; `prefix` is text that the model wants before every document.
ROLES = ("special", "query", "prefix", "document")


@dataclass(frozen=True)
class Tokens:
    """Token ids and types, and for each its role and, in the document, its span of characters."""

    ids: list[int]
    type_ids: list[int]
    roles: list[str]
    spans: list[Span | None]
    words: list[int | None]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, encoding: Encoding, *, document: int, prefix: int = 0, types: bool = True) -> Tokens:
        """From the tokenizers library's encoding, in which the document is sequence `document` (0 or 1), after
        `prefix` characters that are not part of it."""
        roles, spans = [], []
        for sequence, (start, end) in zip(encoding.sequence_ids, encoding.offsets, strict=True):
            role = "special" if sequence is None else "document" if sequence == document else "query"
            role = "prefix" if role == "document" and end <= prefix else role
            roles.append(role)
            spans.append((max(0, start - prefix), end - prefix) if role == "document" else None)
        type_ids = encoding.type_ids if types else [0] * len(encoding.ids)
        return cls(encoding.ids, type_ids, roles, spans, encoding.word_ids)

    def with_marker(self, marker: int | None) -> Tokens:
        """With a special token after the first."""
        if marker is None:
            return self
        return Tokens(
            [self.ids[0], marker, *self.ids[1:]],
            [self.type_ids[0], *self.type_ids],
            [self.roles[0], "special", *self.roles[1:]],
            [self.spans[0], None, *self.spans[1:]],
            [self.words[0], None, *self.words[1:]],
        )

    def within(self, span: Span) -> list[int]:
        """The document's tokens that end inside a span of characters; a tokenizer may count the space before a
        word as the token's, so where a token starts says less."""
        start, end = span
        return [i for i, s in enumerate(self.spans) if s is not None and start < s[1] <= end and s[0] < s[1]]

    def within_each(self, spans: Sequence[Span]) -> list[list[int]]:
        """The same for several spans, in order and not overlapping, in one pass over the tokens."""
        starts, found = [start for start, _ in spans], [list[int]() for _ in spans]
        for i, span in enumerate(self.spans):
            if span is not None and span[0] < span[1]:
                place = bisect_left(starts, span[1]) - 1
                if place >= 0 and span[1] <= spans[place][1]:
                    found[place].append(i)
        return found
