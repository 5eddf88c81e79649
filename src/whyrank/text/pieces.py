"""Word pieces: a checkpoint's own tokenizer, with what was cut off always known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tokenizers import Encoding, Tokenizer

from whyrank.text.tokens import Tokens


@dataclass(frozen=True)
class Sequenced:
    """One tokenised text, or pair of texts, special tokens included; `cut` when it did not fit.

    The last `unattended` tokens are not attended to, though they attend (ColBERT's query expansion).
    """

    ids: list[int]
    type_ids: list[int]
    cut: bool = False
    unattended: int = 0

    def __len__(self) -> int:
        return len(self.ids)

    def with_marker(self, marker: int | None) -> Sequenced:
        """The same with a marker token after the first, as late-interaction models tell query from document."""
        if marker is None:
            return self
        return Sequenced([self.ids[0], marker, *self.ids[1:]], [self.type_ids[0], *self.type_ids], self.cut)


class Pieces:
    """A tokenizer that cuts at `max_length` tokens (the longer text first) and never pads.

    `types` says whether the checkpoint's own tokenizer hands token types to the model; where it does not,
    the model was trained and is used with all of them 0.
    """

    def __init__(self, tokenizer: Tokenizer, max_length: int, pad_id: int, types: bool = True) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self.tokenizer, self.max_length, self.pad_id, self.types = tokenizer, max_length, pad_id, types

    def texts(self, texts: Sequence[str], room: int = 0, most: int | None = None) -> list[Sequenced]:
        """Each text by itself, at most `most` tokens long, leaving `room` of them free."""
        return self._encode(list(texts), min(self.max_length, most or self.max_length) - room)

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Sequenced]:
        """Each (query, document) as one sequence."""
        return self._encode(list(pairs), self.max_length)

    def _encode(self, texts: list[str] | list[tuple[str, str]], max_length: int) -> list[Sequenced]:
        self.tokenizer.enable_truncation(max_length)  # never changed back: each call sets its own
        encoded = self.tokenizer.encode_batch(texts)
        return [
            Sequenced(one.ids, one.type_ids if self.types else [0] * len(one.ids), bool(one.overflowing))
            for one in encoded
        ]

    def whole(self, text: str, query: str | None = None, prefix: str = "") -> Tokens:
        """A document uncut, with each token's role and characters: by itself after `prefix`, or after a query."""
        self.tokenizer.no_truncation()
        if query is None:
            return Tokens.of(
                self.tokenizer.encode(prefix + text), document=0, prefix=len(prefix), types=self.types
            )
        return Tokens.of(self.tokenizer.encode(query, text), document=1, types=self.types)

    def pair(self, query: str, text: str) -> Tokens:
        """One (query, document) sequence as the model reads it, cut, with each token's role."""
        self.tokenizer.enable_truncation(self.max_length)
        return Tokens.of(self.tokenizer.encode(query, text), document=1, types=self.types)

    def windows(self, text: str, tokens: int) -> Iterator[str]:
        """The text itself if it has at most so many tokens, else half-overlapping passages that have.

        Passages end at word boundaries; every word of the text is in at least one of them, save for what
        is left of a single word that is longer than a whole passage.
        """
        self.tokenizer.no_truncation()
        encoding: Encoding = self.tokenizer.encode(text, add_special_tokens=False)
        spans = _word_spans(encoding)
        if len(encoding.ids) <= tokens:
            yield text
            return
        first = 0
        while first < len(spans):
            last, size = first, 0
            while last < len(spans) and (size + spans[last][2] <= tokens or last == first):
                size += spans[last][2]
                last += 1
            yield text[spans[first][0] : spans[last - 1][1]]
            if last == len(spans):
                return
            first = max(first + 1, (first + last) // 2)


def _word_spans(encoding: Encoding) -> list[tuple[int, int, int]]:
    """(start, end, pieces) of each word, by characters of the text."""
    spans: list[tuple[int, int, int]] = []
    previous: int | None = None
    for (start, end), word in zip(encoding.offsets, encoding.word_ids, strict=True):
        if spans and word is not None and word == previous:
            spans[-1] = (spans[-1][0], end, spans[-1][2] + 1)
        else:
            spans.append((start, end, 1))
        previous = word
    return spans
