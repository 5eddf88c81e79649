"""From texts to chunks: how a query is cut, a document split, and what was read cached."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import torch
from tokenizers import Encoding, Tokenizer

from whyrank.core.errors import UserError
from whyrank.encoders.inputs import Inputs
from whyrank.learning.models.chunks import ROLES, Chunks
from whyrank.learning.models.lru_cache import LRUCache
from whyrank.rankers.ranker import Pair
from whyrank.text.pieces import Pieces, Sequenced

#: A query may take this share of a sequence; what is longer is cut.
QUERY_SHARE = 0.5
#: [CLS], [SEP], [SEP], and RoBERTa's fourth.
SPECIAL = 4
#: What stands between spaces.
WORD = re.compile(r"\S+")
#: Tokens, six bytes each, and queries that are kept in case they are read again, as validation does every epoch;
#: a chunk counts as so many tokens more than it has.
KEPT_TOKENS, KEPT_QUERIES, BESIDE_TOKENS = 4_000_000, 10_000, 64


class Chunk(NamedTuple):
    """One sequence, in few bytes: the token ids and types, and the number of each token's role."""

    ids: array[int]
    types: bytes
    roles: bytes


class ReadText(NamedTuple):
    """The chunks of one example, and whether something was cut off."""

    chunks: list[Chunk]
    cut: bool


class Chunker:
    """Makes chunks, always the same of the same texts: tokens in order, at most `most` chunks per document.

    With `words`, chunks are passages of so many words (between spaces), each `stride` words after the one before,
    the last the first that reaches the end; without, they are as many tokens as fit, one after another.
    """

    def __init__(
        self, pieces: Pieces, max_length: int, most: int = 1, words: int | None = None, stride: int | None = None
    ) -> None:
        self.pieces, self.max_length, self.most = pieces, min(max_length, pieces.max_length), most
        self.words, self.stride = words, stride or words
        self._query_room = int(self.max_length * QUERY_SHARE) - SPECIAL
        if self._query_room < 1:
            least = int((SPECIAL + 1) / QUERY_SHARE)
            raise UserError(f"{self.max_length} tokens are too few to read", todo=f"max_length is {least} or more")
        self._read: LRUCache[Pair, ReadText] = LRUCache(KEPT_TOKENS, _tokens)
        self._queries: LRUCache[str, str] = LRUCache(KEPT_QUERIES, _one)

    @property
    def longest(self) -> int:
        """How many tokens a sequence of a query and a document may have for all of it to be read.

        A query takes half of a chunk at most. A text has no more words than tokens; where a passage of so many
        words may be longer than a chunk, only what fits into one is sure to be read.
        """
        if self.words is None or self.stride is None:
            before = self.max_length // 2
            return self.most * (self.max_length - before) + before
        reached = self.words + (self.most - 1) * self.stride
        fits = self.words + self._query_room + SPECIAL <= self.max_length
        return reached if fits else min(self.max_length, reached)

    def of(self, pairs: Sequence[Pair], device: torch.device | str = "cpu") -> Chunks:
        """The chunks of some (query, document) examples."""
        each = [self._read_text(pair) for pair in pairs]
        chunks = [chunk for one in each for chunk in one.chunks]
        owner = [i for i, one in enumerate(each) for _ in one.chunks]
        return self._batch(chunks, owner, len(pairs), sum(one.cut for one in each), device)

    def cuts(self, query: str, text: str) -> bool:
        """Whether not all of an example is read."""
        return self._read_text((query, text)).cut

    def _read_text(self, pair: Pair) -> ReadText:
        return self._read.get(pair, lambda: self._chunks(*pair))

    def _chunks(self, query: str, text: str) -> ReadText:
        asked, passages = self.cut_query(query), self._passages(text)
        tokenizer = self._tokenizer()
        each = [tokenizer.encode(asked, passage) for passage in passages[: self.most]]
        left = asked != query or len(passages) > self.most
        if self.words:
            return ReadText(list(map(self._chunk, each)), left or any(one.overflowing for one in each))
        found = [each[0], *each[0].overflowing]
        return ReadText(list(map(self._chunk, found[: self.most])), left or len(found) > self.most)

    def _chunk(self, encoding: Encoding) -> Chunk:
        types = encoding.type_ids if self.pieces.types else [0] * len(encoding.ids)
        return Chunk(array("i", encoding.ids), bytes(types), bytes(_roles(encoding)))

    def _tokenizer(self) -> Tokenizer:
        self.pieces.tokenizer.enable_truncation(self.max_length, strategy="only_second")
        return self.pieces.tokenizer

    def cut_query(self, query: str) -> str:
        """The query, or as much of it as there is room for."""
        return self._queries.get(query, lambda: self._cut_query(query))

    def _cut_query(self, query: str) -> str:
        self.pieces.tokenizer.no_truncation()
        offsets = self.pieces.tokenizer.encode(query, add_special_tokens=False).offsets
        return query if len(offsets) <= self._query_room else query[: offsets[self._query_room - 1][1]]

    def _passages(self, text: str) -> list[str]:
        if self.words is None or self.stride is None:
            return [text]
        words = [match.span() for match in WORD.finditer(text)]
        if len(words) <= self.words:
            return [text]
        starts = range(0, len(words) - self.words + self.stride, self.stride)
        last = len(words) - 1
        return [text[words[start][0] : words[min(start + self.words - 1, last)][1]] for start in starts]

    def _batch(
        self, chunks: Sequence[Chunk], owner: list[int], examples: int, cut: int, device: torch.device | str
    ) -> Chunks:
        sequences = [Sequenced(one.ids.tolist(), list(one.types)) for one in chunks]
        inputs = Inputs.of(sequences, self.pieces.pad_id, device)
        longest = inputs.ids.shape[1]
        roles = torch.tensor([list(one.roles.ljust(longest, b"\0")) for one in chunks], device=device)
        masks = {name: roles == number for number, name in enumerate(ROLES, start=1)}
        return Chunks(inputs, torch.tensor(owner, device=device), examples, **masks, cut=cut)


def _roles(encoding: Encoding) -> list[int]:
    """The number of each token's role; the middle separators are those before the last token."""
    last = len(encoding.ids) - 1
    special = {0: 0, last: 4}
    return [
        special.get(i, 3) if sequence is None else 1 + sequence for i, sequence in enumerate(encoding.sequence_ids)
    ]


def _tokens(read: ReadText) -> int:
    return sum(len(chunk.ids) + BESIDE_TOKENS for chunk in read.chunks)


def _one(query: str) -> int:
    return 1
