"""Matching scores of many (query, document) pairs in batches: what query tokens read of the document.

Nothing but the query's rows of each pattern is made, so a pass costs little more than scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from whyrank.circuits.reading import positions, read_layers
from whyrank.core.progress import Progress
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.neural import batches_by_length, no_gradients
from whyrank.rankers.ranker import Pair
from whyrank.text.pieces import Sequenced
from whyrank.text.tokens import Tokens


class Matched(NamedTuple):
    """One pair: its query's m tokens, and what each reads through every head (layer by layer) of L layers.

    `document` [m, L * H] sums the attention to the document's tokens, `separator` [m, L * H] is that to the final
    [SEP]. `score` is the ranker's own, NaN where it was not asked for.
    """

    ids: np.ndarray
    document: np.ndarray
    separator: np.ndarray
    score: float
    cut: bool


def read_matching(
    ranker: CrossEncoder,
    pairs: Sequence[Pair],
    *,
    layers: int | None = None,
    scored: bool = False,
    progress: Progress | None = None,
) -> list[Matched]:
    """The pairs in their order; through the first `layers` layers or all; with the scores of the same pass."""
    tokens, cuts = tokenised(ranker, pairs)
    sequences = [Sequenced(one.ids, one.type_ids) for one in tokens]
    found: list[Matched | None] = [None] * len(pairs)
    for indices in batches_by_length(sequences):
        some = [tokens[i] for i in indices]
        for i, one in zip(indices, _batch(ranker, some, layers, scored), strict=True):
            found[i] = one._replace(cut=cuts[i])
        if progress:
            progress(len(indices))
    return [one for one in found if one is not None]


def tokenised(ranker: CrossEncoder, pairs: Sequence[Pair]) -> tuple[list[Tokens], list[bool]]:
    """The sequences as the ranker cuts them, each token with its role, and which of them were cut."""
    pieces = ranker.pieces
    pieces.tokenizer.enable_truncation(pieces.max_length)
    encoded = pieces.tokenizer.encode_batch(list(pairs))
    tokens = [Tokens.of(one, document=1, types=pieces.types) for one in encoded]
    return tokens, [bool(one.overflowing) for one in encoded]


def _batch(ranker: CrossEncoder, tokens: Sequence[Tokens], layers: int | None, scored: bool) -> Iterator[Matched]:
    queries = [positions(one, "query") for one in tokens]
    rows = 1 + max(place for places in queries for place in [0, *places])
    with no_gradients():
        inputs = ranker.batch([Sequenced(one.ids, one.type_ids) for one in tokens])
        places = _places(tokens, inputs.ids.shape[1]).to(ranker.encoder.device)
        sums: list[Tensor] = []
        top: Tensor | None = None
        for state, pattern in read_layers(ranker.encoder, inputs, layers, rows):
            sums.append((pattern.flatten(1, 2) @ places).unflatten(1, pattern.shape[1:3]))  # [B, H, rows, 2]
            top = state
        read = torch.cat(sums, dim=1).permute(3, 0, 2, 1).cpu().numpy()  # [2, B, rows, L * H]
        scores = np.full(len(tokens), np.nan)
        if scored:
            hidden = ranker.encoder.run(inputs, start=len(sums) - 1, state=top, rows=ranker.rows).hidden
            scores = ranker.read_out(hidden, inputs).cpu().double().numpy()
    for i, (one, query) in enumerate(zip(tokens, queries, strict=True)):
        document, separator = read[:, i, query]
        yield Matched(np.array(one.ids)[query], document, separator, float(scores[i]), cut=False)


def _places(tokens: Sequence[Tokens], longest: int) -> Tensor:
    """1 at the tokens whose attention is summed, [B, S, 2]: the document's, and the last one, the final [SEP]."""
    places = torch.zeros(len(tokens), longest, 2)
    for i, one in enumerate(tokens):
        places[i, positions(one, "document"), 0] = 1
        places[i, len(one) - 1, 1] = float(one.roles[-1] == "special")
    return places
