"""What families share that encode query and document apart: each distinct text is encoded once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.neural import (
    TOKENS_PER_BATCH,
    NeuralRanker,
    ReadOut,
    batches_by_length,
    no_gradients,
)
from whyrank.rankers.ranker import Pair, Scorer, Scores, finite
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens

#: Sides of a pair, each with an encoding of its own.
SIDES = ("query", "document")
#: Pairs whose representations are held at once at the least.
PAIRS_AT_A_TIME = 512
#: What may be held beyond that, for texts that come again.
MEMORY_BYTES = 256 * 2**20


class DualRanker(NeuralRanker):
    """score = similarity(represent(query), represent(document)); a family says how to represent and compare."""

    tokens_per_batch = TOKENS_PER_BATCH

    @abstractmethod
    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        """One representation a sequence from the last hidden states."""

    @abstractmethod
    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        """The score of one representation against another: a number."""

    @abstractmethod
    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        """The texts as this family's encoder reads them on this side."""

    def encode(
        self, texts: Sequence[str], side: str, progress: Progress | None = None
    ) -> tuple[list[Tensor], list[bool]]:
        """Each text's representation, and whether it was cut."""
        sequences = self.sequences(texts, side)
        encoded: list[Tensor] = [torch.empty(0)] * len(texts)
        for indices in batches_by_length(sequences, self.tokens_per_batch):
            with no_gradients():
                inputs = self.batch([sequences[i] for i in indices])
                hidden = self.encoder.run(inputs, rows=self.rows).hidden
                for i, one in zip(indices, self.represent(hidden, inputs, side), strict=True):
                    encoded[i] = one
            if progress:
                progress(len(indices))
        return encoded, [sequence.cut for sequence in sequences]

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        return self._scores(pairs, progress, Memory())

    def long_scorer(self) -> Scorer:
        memory = Memory()
        return lambda pairs, progress: self._scores(pairs, progress, memory)

    def _scores(self, pairs: Sequence[Pair], progress: Progress | None, memory: Memory) -> Scores:
        """A text that recurs is encoded once, as long as the memory has room for it."""
        values, cut = np.empty(len(pairs), dtype=np.float32), 0
        for start in range(0, len(pairs), PAIRS_AT_A_TIME):
            some = pairs[start : start + PAIRS_AT_A_TIME]
            sides = {"query": dict.fromkeys(q for q, _ in some), "document": dict.fromkeys(d for _, d in some)}
            new = {side: [text for text in texts if (side, text) not in memory] for side, texts in sides.items()}
            share = Share(progress, len(some), sum(map(len, new.values())))
            for side, texts in new.items():
                for text, one, was_cut in zip(texts, *self.encode(texts, side, share), strict=True):
                    memory[side, text] = (one, was_cut)
            with no_gradients():
                for i, (query, text) in enumerate(some, start=start):
                    document, was_cut = memory["document", text]
                    values[i] = self.similarity(memory["query", query][0], document)
                    cut += was_cut
            share.finish()
            memory.forget_beyond(MEMORY_BYTES)
        return Scores(finite(values, pairs, self.name), cut)

    def opened_inputs(self, pairs: Sequence[Pair], side: str = "document") -> Inputs:
        return self.batch(self.sequences([pair[side == "document"] for pair in pairs], side))

    def score_states(
        self, states: Tensor, inputs: Inputs, pairs: Sequence[Pair], side: str = "document"
    ) -> Tensor:
        other_side = _other(side)
        others = [pair[other_side == "document"] for pair in pairs]
        encoded = self._plain(list(dict.fromkeys(others)), other_side)
        return self._compare(states, inputs, [encoded[other] for other in others], side)

    def read_outs(self, pairs: Sequence[Pair], side: str = "document") -> list[ReadOut]:
        texts = [pair[_other(side) == "document"] for pair in pairs]
        with torch.no_grad():
            encoded = self._plain(list(dict.fromkeys(texts)), _other(side))

        def one(other: Tensor) -> ReadOut:
            return lambda states, inputs: self._compare(states, inputs, [other] * len(states), side)

        return [one(encoded[text]) for text in texts]

    def _compare(self, states: Tensor, inputs: Inputs, others: Sequence[Tensor], side: str) -> Tensor:
        """The scores of opened sequences against the other side's representations."""
        scores = []
        for mine, other in zip(self.represent(states, inputs, side), others, strict=True):
            query, document = (mine, other) if side == "query" else (other, mine)
            scores.append(self.similarity(query, document))
        return torch.stack(scores)

    def opened_tokens(self, query: str, text: str, side: str = "document") -> Tokens:
        self.check_side(side)
        return self.document_tokens(query, text) if side == "document" else self.query_tokens(text)

    def query_tokens(self, text: str) -> Tokens:
        """The sequence in which the encoder reads a query, each token with its role."""
        return self.pieces.whole(text)

    def check_side(self, side: str) -> None:
        if side not in SIDES:
            raise UserError(f"unknown side '{side}'", todo=f"choose {' or '.join(SIDES)}")

    def _plain(self, texts: Sequence[str], side: str) -> dict[str, Tensor]:
        """Representations by text, with gradients where they are switched on."""
        inputs = self.batch(self.sequences(texts, side))
        hidden = self.encoder.run(inputs, rows=self.rows).hidden
        return dict(zip(texts, self.represent(hidden, inputs, side), strict=True))


def _other(side: str) -> str:
    return "document" if side == "query" else "query"


class Memory(dict[tuple[str, str], tuple[Tensor, bool]]):
    """Representations by side and text, with whether the text was cut; the oldest are forgotten first."""

    def forget_beyond(self, size: int) -> None:
        """Until what is held is at most `size` bytes."""
        held = sum(one.nbytes for one, _ in self.values())
        for key in list(self):
            if held <= size:
                return
            held -= self.pop(key)[0].nbytes


class Share:
    """Progress in pairs while the work is in texts: so many of the pairs for each text done."""

    def __init__(self, progress: Progress | None, pairs: int, texts: int) -> None:
        self.progress, self.pairs, self.texts = progress, pairs, texts
        self.done = self.reported = 0

    def __call__(self, texts: int) -> None:
        self.done += texts
        self._report(self.pairs * self.done // max(1, self.texts))

    def finish(self) -> None:
        self._report(self.pairs)

    def _report(self, pairs: int) -> None:
        if self.progress and pairs > self.reported:
            self.progress(pairs - self.reported)
            self.reported = pairs
