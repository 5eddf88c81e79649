"""A ranker seen through an edit: other scores, the same weights, safe to use from several threads.

    view = Edit.parse("up waterproof=2sd").view("ce-minilm-l12", side="query")
    view.rank(query, documents)                      # the original ranker scores as before, at the same time
    per_query("ce-minilm-l12", {"rain jacket": Edit.parse("up waterproof=2sd")})

An edit that is applied changes rows of the embedding matrix, for every text and every thread. A view adds

    delta[t] = (U_0'[t] - U_0[t]) S_0 V_0

to the embedding where token t is read on its side: of a query, of a document, or of both. A cross-encoder reads
the query up to the first separator of the sequence; families that encode both sides apart have an encoder for
each. The modules are copied, their weights are not: a view costs no memory. In a sparse ranker it changes what is
read, never what is written (an applied edit changes both where they are one matrix). What only the query's side
changes needs no document to be encoded again.
"""

from __future__ import annotations

import copy
import hashlib
import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from whyrank.collections.collection import Collection
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.edits.dialed import Dialed
from whyrank.edits.edit import Edit
from whyrank.edits.rows import RowChange
from whyrank.encoders.adapters import open_encoder
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.dual import SIDES, DualRanker
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker, Scorer, Scores
from whyrank.text.pieces import Pieces, Sequenced
from whyrank.text.tokens import Tokens

BOTH = "both"


def view(
    ranker: str | Ranker, edit: Edit, side: str = "query", collection: str | Collection | None = None,
    *, idf: str = "collection",
) -> NeuralRanker:  # fmt: skip
    """The ranker seen through the edit (`Edit.view`)."""
    dialed = _opened(ranker, collection, idf, side)
    return _view(dialed.ranker, dialed.dial.change(edit), side)


def per_query(
    ranker: str | Ranker, edits: Mapping[str, Edit], side: str = "query",
    collection: str | Collection | None = None, *, idf: str = "collection",
) -> PerQuery:  # fmt: skip
    """The ranker with an edit for each of some queries, by their texts; other queries are scored as ever."""
    dialed = _opened(ranker, collection, idf, side)
    views = {query: _view(dialed.ranker, dialed.dial.change(edit), side) for query, edit in edits.items()}
    return PerQuery(_clone(dialed.ranker), views)


def _opened(ranker: str | Ranker, collection: str | Collection | None, idf: str, side: str) -> Dialed:
    from whyrank.core.caller import SILENT

    if side not in (*SIDES, BOTH):
        raise UserError(f"unknown side '{side}'", todo=f"choose {', '.join(SIDES)} or {BOTH}")
    return Dialed.open(ranker, collection, idf, SILENT, "cpu")


def _view(ranker: NeuralRanker, change: RowChange, side: str) -> NeuralRanker:
    if not isinstance(ranker, CrossEncoder | DualRanker):
        raise UserError(f"{ranker.name} ({ranker.kind}) cannot be viewed through an edit", todo="apply the edit")
    if isinstance(ranker, DualRanker) and side != BOTH:
        return OneSided(_clone(ranker), _clone(ranker, change), side)
    return _clone(ranker, change, None if side == BOTH else Query(ranker.pieces.tokenizer, side))


def _clone(ranker: NeuralRanker, change: RowChange | None = None, query: Query | None = None) -> NeuralRanker:
    """The ranker with modules and a tokenizer of its own, and the original's weights; through the change, if
    any."""
    found, plain = copy.copy(ranker), ranker.model  # type: ignore[attr-defined]
    shared = {id(one): one for one in chain(plain.parameters(), plain.buffers())}
    model = copy.deepcopy(plain, shared)
    if change is not None:
        model.base_model.set_input_embeddings(SeenThrough(model.base_model.get_input_embeddings(), change, query))
    found.model, found.encoder = model, open_encoder(model.base_model)  # type: ignore[attr-defined]
    found.pieces = PerThread(ranker.pieces)
    return found


class Query:
    """Which tokens of a pair's sequence are the query's: those before the first separator."""

    def __init__(self, tokenizer: Tokenizer, side: str) -> None:
        self.side = side
        tokenizer.no_truncation()
        encoded = tokenizer.encode("a", "b")
        last = max(i for i, sequence in enumerate(encoded.sequence_ids) if sequence == 0)
        if encoded.sequence_ids[last + 1] is not None:
            raise UserError("this ranker reads query and document without a separator", todo="give side both")
        self.separator, before = encoded.ids[last + 1], encoded.ids[: encoded.sequence_ids.index(0)]
        self.leading = before.count(self.separator)

    def mask(self, ids: Tensor) -> Tensor:
        """Where `ids` [B, S] are on this side."""
        is_query = (ids == self.separator).cumsum(dim=-1) <= self.leading
        return is_query if self.side == "query" else ~is_query


class SeenThrough(nn.Module):
    """An embedding module with something added for some tokens; it keeps no state between calls."""

    def __init__(self, plain: nn.Embedding, change: RowChange, query: Query | None) -> None:
        super().__init__()
        self.plain, self.query = plain, query
        rows, device = len(plain.weight), plain.weight.device
        place = torch.zeros(rows, dtype=torch.long)
        place[list(change.tokens)] = torch.arange(1, len(change.tokens) + 1)
        added = torch.cat([torch.zeros(1, change.rows.shape[1], dtype=torch.float64), change.rows])
        self.register_buffer("place", place.to(device))
        self.register_buffer("added", added.to(device, plain.weight.dtype))

    @property
    def weight(self) -> Tensor:
        return self.plain.weight

    def forward(self, ids: Tensor) -> Tensor:
        place = self.place[ids]  # type: ignore[index]
        if self.query is not None:
            place = place * self.query.mask(ids)
        found: Tensor = self.plain(ids) + self.added[place]  # type: ignore[index]
        return found


class PerThread(Pieces):
    """Word pieces by a tokenizer for each thread: one tokenizer cannot be told two lengths at once."""

    def __init__(self, pieces: Pieces) -> None:
        self._text, self._local = pieces.tokenizer.to_str(), threading.local()
        self.max_length, self.pad_id, self.types = pieces.max_length, pieces.pad_id, pieces.types

    @property
    def tokenizer(self) -> Tokenizer:
        """This thread's own."""
        if not hasattr(self._local, "tokenizer"):
            self._local.tokenizer = Tokenizer.from_str(self._text)
            self._local.tokenizer.no_padding()
            self._local.tokenizer.no_truncation()
        found: Tokenizer = self._local.tokenizer
        return found

    @tokenizer.setter
    def tokenizer(self, tokenizer: Tokenizer) -> None:
        raise AttributeError("each thread has a tokenizer of its own")


class OneSided(DualRanker):
    """Queries, or documents, encoded through an edit, the other side as ever. It scores and encodes; what is
    inside of an edited ranker is opened by `Edit.apply`."""

    def __init__(self, plain: NeuralRanker, edited: NeuralRanker, side: str) -> None:
        assert isinstance(plain, DualRanker) and isinstance(edited, DualRanker)
        super().__init__(plain.checkpoint, plain.encoder, plain.pieces)
        self.kind, self.name, self.source, self.rows = plain.kind, plain.name, plain.source, plain.rows
        self.plain, self.edited, self.side = plain, edited, side

    def encode(
        self, texts: Sequence[str], side: str, progress: Progress | None = None
    ) -> tuple[list[Tensor], list[bool]]:
        return (self.edited if side == self.side else self.plain).encode(texts, side, progress)

    def represent(self, hidden: Tensor, inputs: Inputs, side: str) -> list[Tensor]:
        return self.plain.represent(hidden, inputs, side)

    def similarity(self, query: Tensor, document: Tensor) -> Tensor:
        return self.plain.similarity(query, document)

    def sequences(self, texts: Sequence[str], side: str) -> list[Sequenced]:
        return self.plain.sequences(texts, side)

    def document_tokens(self, query: str, text: str) -> Tokens:
        return self.plain.document_tokens(query, text)

    @property
    def document_length(self) -> int:
        return self.plain.document_length

    def opened_inputs(self, pairs: Sequence[Pair], side: str = "document") -> Inputs:
        raise UserError("a view of one side is not opened", todo="open the edited ranker: edit.apply(ranker)")

    def head_weights(self) -> Iterable[Tensor]:
        return self.plain.head_weights()

    def fingerprint(self) -> str:
        both = (self.plain.fingerprint(), self.edited.fingerprint(), self.side)
        return hashlib.sha256(" ".join(both).encode()).hexdigest()


class PerQuery(Ranker):
    """A ranker with a view for each of some queries."""

    def __init__(self, plain: NeuralRanker, views: Mapping[str, NeuralRanker]) -> None:
        self.kind, self.name, self.source = plain.kind, plain.name, plain.source
        self.plain, self.views = plain, dict(views)

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> Scores:
        return self._scores(pairs, progress, {})

    def long_scorer(self) -> Scorer:
        scorers: dict[str | None, Scorer] = {}
        return lambda pairs, progress: self._scores(pairs, progress, scorers)

    def _scores(
        self, pairs: Sequence[Pair], progress: Progress | None, scorers: dict[str | None, Scorer]
    ) -> Scores:
        """Each query's pairs by its own view; all others together."""
        by_view: dict[str | None, list[int]] = {}
        for i, (query, _) in enumerate(pairs):
            by_view.setdefault(query if query in self.views else None, []).append(i)
        values, cut = np.empty(len(pairs), dtype=np.float32), 0
        for viewed, places in by_view.items():
            ranker = self.plain if viewed is None else self.views[viewed]
            scorer = scorers.setdefault(viewed, ranker.long_scorer())
            found = scorer([pairs[i] for i in places], progress)
            values[places], cut = found.values, cut + found.cut
        return Scores(values, cut)

    def characters_read(self, query: str, text: str) -> int:
        return self.plain.characters_read(query, text)

    def fingerprint(self) -> str:
        views = [f"{query} {one.fingerprint()}" for query, one in sorted(self.views.items())]
        return hashlib.sha256("\n".join([self.plain.fingerprint(), *views]).encode()).hexdigest()
