"""What families share that encode query and document apart: each distinct text is encoded once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from whyrank.encoders.inputs import Inputs
from whyrank.encoders.site import Site
from whyrank.encoders.tap import Value
from whyrank.rankers.neural import (
    TOKENS_A_BATCH,
    NeuralRanker,
    RankerTrace,
    batches_by_length,
    no_gradients,
    split_logits,
    traced,
)
from whyrank.rankers.ranker import Pair, Progress, Scores
from whyrank.text.pieces import Sequenced

SIDES = ("query", "document")


class DualRanker(NeuralRanker):
    """score = similarity(represent(query), represent(document)); a family says how to represent and compare."""

    #: Distinct pairs whose representations are held at once; bounds the memory.
    pairs_at_a_time = 20_000
    tokens_a_batch = TOKENS_A_BATCH
    #: The rows of the last layer that the family reads; None is all.
    rows: tuple[int, ...] | None = None

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
        for indices in batches_by_length(sequences, self.tokens_a_batch):
            with no_gradients():
                inputs = self.batch([sequences[i] for i in indices])
                hidden = self.encoder.run(inputs, rows=self.rows).hidden
                for i, one in zip(indices, self.represent(hidden, inputs, side), strict=True):
                    encoded[i] = one
            if progress:
                progress(len(indices))
        return encoded, [sequence.cut for sequence in sequences]

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        values, cut = np.empty(len(pairs), dtype=np.float32), 0
        for start in range(0, len(pairs), self.pairs_at_a_time):
            some = pairs[start : start + self.pairs_at_a_time]
            queries = {query: i for i, query in enumerate(dict.fromkeys(query for query, _ in some))}
            documents = {text: i for i, text in enumerate(dict.fromkeys(text for _, text in some))}
            share = Share(progress, len(some), len(queries) + len(documents))
            encoded_queries, _ = self.encode(list(queries), "query", share)
            encoded_documents, cuts = self.encode(list(documents), "document", share)
            with no_gradients():
                for i, (query, text) in enumerate(some, start=start):
                    values[i] = self.similarity(
                        encoded_queries[queries[query]], encoded_documents[documents[text]]
                    )
            cut += sum(cuts[documents[text]] for _, text in some)
            share.finish()
        return Scores(values, cut)

    def trace(
        self,
        pairs: Sequence[Pair],
        *,
        side: str = "document",
        read: Iterable[Site] = (),
        replace: Mapping[Site, Value] | None = None,
        categories: Mapping[str, Tensor] | None = None,
    ) -> RankerTrace:
        inner, logits = split_logits(read)
        queries, documents = ([pair[i] for pair in pairs] for i in (0, 1))
        opened, other = (queries, documents) if side == "query" else (documents, queries)
        inputs = self.batch(self.sequences(opened, side))
        run = self.encoder.run(inputs, rows=self.rows, read=inner, replace=replace, categories=categories)
        mine = self.represent(run.hidden, inputs, side)
        theirs = self._plain(other, "document" if side == "query" else "query")
        both = zip(mine, theirs, strict=True) if side == "query" else zip(theirs, mine, strict=True)
        return traced(torch.stack([self.similarity(query, text) for query, text in both]), run.values, logits)

    def _plain(self, texts: Sequence[str], side: str) -> list[Tensor]:
        """Representations with gradients where they are switched on, in the texts' order."""
        inputs = self.batch(self.sequences(texts, side))
        return self.represent(self.encoder.run(inputs, rows=self.rows).hidden, inputs, side)


class Share:
    """Progress in pairs while the work is in texts: so many of the pairs for each text done."""

    def __init__(self, progress: Progress | None, pairs: int, texts: int) -> None:
        self.progress, self.pairs, self.texts = progress, pairs, texts
        self.done = self.told = 0

    def __call__(self, texts: int) -> None:
        self.done += texts
        self._tell(self.pairs * self.done // max(1, self.texts))

    def finish(self) -> None:
        self._tell(self.pairs)

    def _tell(self, pairs: int) -> None:
        if self.progress and pairs > self.told:
            self.progress(pairs - self.told)
            self.told = pairs
