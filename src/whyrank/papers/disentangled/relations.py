"""Which relations between a query's words and a document's are spurious.

A relation is the same word, or near: the cosine of the two words in the backbone's input embeddings, before any
training, is as high as that of few pairs of unrelated words; all others are spurious. Unrelated are a query's
words and those of another query's document. The measure is the same for all models, whatever they learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from whyrank.learning.models.network import TransformerNetwork
from whyrank.rankers.ranker import Pair
from whyrank.text.tokens import Tokens

#: A word is near another if no more than this share of unrelated pairs of words are as near.
UNRELATED = 0.05
UNKNOWN = ("[UNK]", "<unk>")


@dataclass(frozen=True, eq=False)
class Reading:
    """One (query, document) as the models read it in one sequence: where their words' pieces stand, and for each
    piece its word: the ids of all its pieces, and their mean embedding [d], normalised; and whether the
    document is judged relevant."""

    qid: str
    pair: Pair
    query: list[int]
    document: list[int]
    words: dict[int, tuple[int, ...]]
    vectors: Tensor
    relevant: bool = False

    @property
    def same(self) -> Tensor:
        """[m, n]: the same word."""
        asked = [self.words[i] for i in self.query]
        return torch.tensor([[word == self.words[j] for j in self.document] for word in asked])

    def cosines(self, other: Reading | None = None) -> Tensor:
        """[m, n]: of this query's words and this document's, or another's."""
        document = other or self
        there = document.vectors[len(document.query) :]
        return self.vectors[: len(self.query)] @ there.T

    def spurious(self, threshold: float) -> Tensor:
        """[m, n]: neither the same word nor near."""
        return ~self.same & (self.cosines() < threshold)


def read(network: TransformerNetwork, embeddings: Tensor, qid: str, pair: Pair) -> Reading | None:
    """A pair as the network reads it in one chunk, word embeddings [V, d] given; None where one side has no word.
    Punctuation and what the tokenizer does not know are not words."""
    assert network.chunker.most == 1, "a pair is read in one sequence"
    tokens = network.backbone.pieces.whole(pair[1], query=network.chunker.cut_query(pair[0]))
    ids = network.read([pair]).inputs.ids[0].tolist()
    assert ids[:-1] == tokens.ids[: len(ids) - 1], "the chunk is the beginning of the whole"
    known = [i for i in range(len(ids) - 1) if _is_word(network, ids[i])]
    sides = {role: [i for i in known if tokens.roles[i] == role] for role in ("query", "document")}
    if not all(sides.values()):
        return None
    places = [*sides["query"], *sides["document"]]
    words = _words(tokens)
    vectors = torch.stack([embeddings[list(words[i])].mean(dim=0) for i in places])
    return Reading(qid, pair, sides["query"], sides["document"], words, normalize(vectors.detach(), dim=1))


def near_threshold(readings: Sequence[Reading], share: float = UNRELATED) -> float:
    """The cosine that this share of unrelated pairs of words reach: each query with the next other query's
    document, the same words dropped."""
    found: list[Tensor] = []
    for i, one in enumerate(readings):
        others = (readings[(i + j) % len(readings)] for j in range(1, len(readings)))
        other = next((other for other in others if other.qid != one.qid), None)
        if other is not None:
            asked = [one.words[place] for place in one.query]
            same = torch.tensor([[word == other.words[place] for place in other.document] for word in asked])
            found.append(one.cosines(other)[~same])
    if not found:
        raise ValueError("readings of one query only: nothing is unrelated")
    return float(np.quantile(torch.cat(found).numpy(), 1 - share))


def share_of(mass: Tensor, spurious: Tensor) -> float:
    """The part of a mass [..., m, n] that lies on spurious relations [m, n]; NaN where there is no mass."""
    total = float(mass.sum())
    return float((mass * spurious).sum()) / total if total > 0 else float("nan")


def both_ways(pattern: Tensor, reading: Reading) -> Tensor:
    """[..., m, n] of a pattern [..., S, S]: query words to document words, and the document's to the query's."""
    there = pattern[..., reading.query, :][..., reading.document]
    return there + pattern[..., reading.document, :][..., reading.query].mT


def _is_word(network: TransformerNetwork, piece: int) -> bool:
    name = str(network.backbone.pieces.tokenizer.id_to_token(piece))
    return name not in UNKNOWN and any(letter.isalnum() for letter in name)


def _words(tokens: Tokens) -> dict[int, tuple[int, ...]]:
    """The ids of all pieces of the word that each token is part of."""
    members: dict[tuple[str, int], list[int]] = {}
    for i, (role, word) in enumerate(zip(tokens.roles, tokens.words, strict=True)):
        if word is not None:
            members.setdefault((role, word), []).append(i)
    found: dict[int, tuple[int, ...]] = {}
    for places in members.values():
        ids = tuple(tokens.ids[i] for i in places)
        found |= dict.fromkeys(places, ids)
    return found
