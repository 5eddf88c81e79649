"""A long document in pieces that a transformer can read: [CLS] query [SEP] piece [SEP], as often as needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from whyrank.encoders.inputs import Inputs
from whyrank.errors import UserError
from whyrank.rankers.ranker import Pair
from whyrank.text.pieces import Pieces, Sequenced

#: A query may take this share of a sequence; what is longer is cut.
QUERY_SHARE = 0.5
#: [CLS], [SEP], [SEP], and RoBERTa's fourth.
SPECIAL = 4


@dataclass(frozen=True)
class Chunks:
    """B examples as C >= B chunks of at most S tokens, those of an example one after another.

    `owner` [C] is the example of each chunk. The masks [C, S] say which tokens are the query's word pieces, the
    document's, the separators between the two (`middle`) and the last one (`final`); [CLS] is position 0. Padding
    is none of these. `cut` counts the examples of which not all was read, or a passage not whole.
    """

    inputs: Inputs
    owner: Tensor
    examples: int
    query: Tensor
    document: Tensor
    middle: Tensor
    final: Tensor
    cut: int = 0

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def real(self) -> Tensor:
        """The tokens [C, S] that are not padding."""
        return self.inputs.attention_mask

    @property
    def counts(self) -> Tensor:
        """How many chunks each example has [B]."""
        return torch.bincount(self.owner, minlength=self.examples)

    @property
    def first(self) -> Tensor:
        """The first chunk of each example [B]."""
        return self.counts.cumsum(dim=0) - self.counts

    def sum_over_chunks(self, values: Tensor) -> Tensor:
        """[C, ...] -> [B, ...]: each example's sum over its chunks."""
        return values.new_zeros(self.examples, *values.shape[1:]).index_add(0, self.owner, values)

    def mean_over_chunks(self, values: Tensor) -> Tensor:
        """[C, ...] -> [B, ...]: each example's mean over its chunks."""
        counts = self.counts.to(values.dtype)
        return self.sum_over_chunks(values) / counts.view(-1, *[1] * (values.ndim - 1))

    def beside(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """[C, ...] -> [B, P, ...]: each example's chunks side by side, zeros after its last; and which of them
        are there [B, P]."""
        place = torch.arange(len(self), device=self.owner.device) - self.first[self.owner]
        there = torch.arange(int(self.counts.max()), device=place.device) < self.counts[:, None]
        padded = values.new_zeros(*there.shape, *values.shape[1:])
        return padded.index_put((self.owner, place), values), there


class Chunker:
    """Makes chunks, always the same of the same texts: tokens in order, at most `most` chunks a document.

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

    def of(self, pairs: Sequence[Pair], device: torch.device | str = "cpu") -> Chunks:
        """The chunks of some (query, document) examples."""
        each = [self._chunks(query, text) for query, text in pairs]
        cut = sum(was_cut for _, was_cut in each)
        encodings = [encoding for chunks, _ in each for encoding in chunks]
        owner = [i for i, (chunks, _) in enumerate(each) for _ in chunks]
        return self._batch(encodings, owner, len(pairs), cut, device)

    def _chunks(self, query: str, text: str) -> tuple[list[Encoding], bool]:
        asked, passages = self.cut_query(query), self._passages(text)
        tokenizer = self._tokenizer()
        each = [tokenizer.encode(asked, passage) for passage in passages[: self.most]]
        left = asked != query or len(passages) > self.most
        if self.words:
            return each, left or any(one.overflowing for one in each)
        found = [each[0], *each[0].overflowing]
        return found[: self.most], left or len(found) > self.most

    def _tokenizer(self) -> Tokenizer:
        self.pieces.tokenizer.enable_truncation(self.max_length, strategy="only_second")
        return self.pieces.tokenizer

    def cut_query(self, query: str) -> str:
        """The query, or as much of it as there is room for."""
        self.pieces.tokenizer.no_truncation()
        offsets = self.pieces.tokenizer.encode(query, add_special_tokens=False).offsets
        return query if len(offsets) <= self._query_room else query[: offsets[self._query_room - 1][1]]

    def _passages(self, text: str) -> list[str]:
        if self.words is None or self.stride is None:
            return [text]
        words = text.split()
        starts = range(0, max(1, len(words) - self.words + self.stride), self.stride)
        return [" ".join(words[start : start + self.words]) for start in starts]

    def _batch(
        self, encodings: Sequence[Encoding], owner: list[int], examples: int, cut: int, device: torch.device | str
    ) -> Chunks:
        types = self.pieces.types
        sequences = [Sequenced(one.ids, one.type_ids if types else [0] * len(one.ids)) for one in encodings]
        inputs = Inputs.of(sequences, self.pieces.pad_id, device)
        roles = torch.zeros_like(inputs.ids)
        for row, one in zip(roles, encodings, strict=True):
            row[: len(one.ids)] = torch.tensor(_roles(one), device=device)
        masks = {name: roles == number for number, name in enumerate(ROLES, start=1)}
        return Chunks(inputs, torch.tensor(owner, device=device), examples, **masks, cut=cut)


#: What a token may be, beside [CLS] and padding, which are 0.
ROLES = ("query", "document", "middle", "final")


def _roles(encoding: Encoding) -> list[int]:
    """The number of each token's role; the middle separators are those before the last token."""
    last = len(encoding.ids) - 1
    special = {0: 0, last: 4}
    return [
        special.get(i, 3) if sequence is None else 1 + sequence for i, sequence in enumerate(encoding.sequence_ids)
    ]
