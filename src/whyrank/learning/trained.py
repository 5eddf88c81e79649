"""Models trained here, as rankers: those on a transformer can be opened, those on word vectors cannot."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.encoders.inputs import Inputs
from whyrank.learning.models.chunks import Chunks, OpenedChunks
from whyrank.learning.models.network import Network, TransformerNetwork
from whyrank.learning.models.words import WordNetwork
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.neural import NOT_CONTENT, TOKENS_PER_BATCH, NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker, Scores, characters_within, finite
from whyrank.text.alignment import CannotAlign
from whyrank.text.pieces import Pieces
from whyrank.text.tokens import Tokens

#: What every trained model is loaded as.
KIND = "trained"
#: Characters per token, about: only the sizes of batches depend on it.
CHARACTERS = 4


class Trained(NeuralRanker):
    """A model on a transformer. Its opened pass is over a document that is read in one chunk."""

    kind = KIND

    def __init__(self, checkpoint: Checkpoint, network: TransformerNetwork) -> None:
        own, encoder = network.backbone.pieces, network.backbone.encoder
        pieces = Pieces(own.tokenizer, network.chunker.max_length, own.pad_id, own.types)
        super().__init__(checkpoint, encoder, pieces)
        self.network = network
        self.rows = (0,) if network.reads_cls_only else None
        self.reads_all_layers = not network.reads_cls_only

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        return network_scores(self.name, self.network, self._scores, pairs, progress)

    def _scores(self, chunks: Chunks) -> Tensor:
        """The scores [B] by our own pass, which computes no more of the top layer than the head reads."""
        if self.network.reads_cls_only:
            states = [self.encoder.run(chunks.inputs, rows=self.rows).hidden]
        else:
            states = self.network.backbone.opened_states(chunks.inputs)
        return self.network.head(states, chunks).scores

    def head_weights(self) -> Iterable[Tensor]:
        state = self.network.state_dict()
        return [weight for name, weight in state.items() if not name.startswith("backbone.")]

    def fingerprint(self) -> str:
        """Of all that decides a score: the weights, which model they are of, and its settings."""
        return hashlib.sha256(f"{super().fingerprint()} {_settings_text(self.network)}".encode()).hexdigest()

    @property
    def document_length(self) -> int:
        """What its chunks are sure to have room for."""
        return self.network.chunker.longest

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.pieces.whole(text, query=self.network.chunker.cut_query(query))

    def characters_read(self, query: str, text: str) -> int:
        """All that its chunks have room for, found by halving, token by token."""
        chunker = self.network.chunker
        asked = chunker.cut_query(query)
        if not chunker.cuts(asked, text):
            return len(text)
        ends = [span[1] for span in self.pieces.whole(text).spans if span is not None]
        return ([0, *ends])[bisect_left(ends, True, key=lambda end: chunker.cuts(asked, text[:end]))]

    def opened_tokens(self, query: str, text: str, side: str = "document") -> Tokens:
        """CannotAlign for what is short enough and not all read even so: a query longer than its room, or words of
        many tokens in a passage."""
        tokens = super().opened_tokens(query, text, side)
        if len(tokens) <= self.document_length and self.network.chunker.cuts(query, text):
            raise CannotAlign("the model does not read all of it")
        return tokens

    def opened_inputs(self, pairs: Sequence[Pair], side: str = "document") -> Inputs:
        """One sequence per pair. A document that is not read whole can be opened where one chunk was asked for."""
        chunks = self.network.read(pairs)
        if reason := self._why_not_opened(chunks):
            todo = f"load it with max_length={self.max_length}, which cuts documents there, or shorter pairs"
            raise UserError(f"{self.name}: {reason}", todo=todo)
        return OpenedChunks.of_chunks(chunks)

    def why_not_opened(self, pairs: Sequence[Pair]) -> str | None:
        reason = self._why_not_opened(self.network.read(pairs))
        return reason and f"{reason}; max_length={self.max_length} cuts documents there"

    def _why_not_opened(self, chunks: Chunks) -> str | None:
        several = len(chunks) > chunks.examples
        if several or (chunks.cut and self.network.chunker.most > 1):
            why = "of more than one chunk" if several else "that is cut"
            return f"a document {why} cannot be opened in a model that reads documents in chunks"
        return None

    def score_states(
        self, states: Tensor, inputs: Inputs, pairs: Sequence[Pair], side: str = "document"
    ) -> Tensor:
        assert isinstance(inputs, OpenedChunks)
        self.network.eval()
        layers = list(states.unbind(dim=1)) if self.reads_all_layers else [states]
        return self.network.head(layers, inputs.chunks()).scores


class TrainedOnWords(Ranker):
    """A model on word vectors, which has no transformer inside."""

    kind = KIND

    def __init__(self, checkpoint: Checkpoint, network: WordNetwork) -> None:
        self.name, self.source, self.checkpoint = checkpoint.name, checkpoint.source, checkpoint
        self.network = network

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        return network_scores(self.name, self.network, self.network, pairs, progress)

    @property
    def document_length(self) -> int:
        return int(self.network.settings.max_length)

    def characters_read(self, query: str, text: str) -> int:
        return characters_within(self.document_tokens(query, text), self.document_length, text)

    def document_tokens(self, query: str, text: str) -> Tokens:
        """The document's units; the query, which is read apart, takes no room."""
        spans = self.network.lexicon.spans(text)
        count = len(spans)
        return Tokens([0] * count, [0] * count, ["document"] * count, list(spans), [None] * count)

    def fingerprint(self) -> str:
        config = {key: value for key, value in self.checkpoint.config.items() if key not in NOT_CONTENT}
        about = f"{json.dumps([self.kind, config], sort_keys=True, default=str)} {_settings_text(self.network)}"
        digest = hashlib.sha256(about.encode())
        tokenizer = self.checkpoint.folder / "tokenizer.json"
        digest.update(tokenizer.read_bytes() if tokenizer.exists() else b"")
        for name, weight in self.network.state_dict().items():
            digest.update(name.encode() + weight.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()


def _settings_text(network: Network) -> str:
    """Which model it is, with its settings."""
    return json.dumps([network.name, asdict(network.settings)], sort_keys=True)


def as_ranker(network: Network, checkpoint: Checkpoint) -> Trained | TrainedOnWords:
    """The network as a ranker, which scores with its weights as they are at the time."""
    if isinstance(network, TransformerNetwork):
        return Trained(checkpoint, network)
    assert isinstance(network, WordNetwork)
    return TrainedOnWords(checkpoint, network)


def network_scores(
    name: str,
    network: Network,
    score: Callable[[Any], Tensor],
    pairs: Sequence[Pair],
    progress: Progress | None = None,
) -> Scores:
    """The pairs' scores in batches of like lengths, without dropping out and without gradients."""
    values, cut = np.empty(len(pairs), dtype=np.float32), 0
    network.eval()
    for indices in _batches(pairs, _most_tokens(network)):
        with torch.no_grad():
            batch = network.read([pairs[i] for i in indices])
            values[indices] = score(batch).cpu().numpy()
        cut += batch.cut
        if progress:
            progress(len(indices))
    return Scores(finite(values, pairs, name), cut)


def _most_tokens(network: Network) -> int:
    """How many tokens the network reads of a pair at most."""
    if isinstance(network, TransformerNetwork):
        return network.chunker.most * network.chunker.max_length
    return int(network.settings.max_length)


def _batches(pairs: Sequence[Pair], most: int) -> Iterator[list[int]]:
    """Indices of pairs of like lengths, the longest first, about `TOKENS_PER_BATCH` tokens a batch."""
    sizes = [min(most, (len(query) + len(text)) // CHARACTERS + 1) for query, text in pairs]
    order = sorted(range(len(pairs)), key=lambda i: -(len(pairs[i][0]) + len(pairs[i][1])))
    start = 0
    while start < len(order):
        count = max(1, TOKENS_PER_BATCH // sizes[order[start]])
        yield order[start : start + count]
        start += count
