"""How much of everything the study does, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whyrank.encoders.encoder import Encoder

#: Operations that a study may cost: about fifty minutes on two cores.
AFFORDABLE = 4e14
#: Sets of pairs whose heads are all patched: those of full size, and the others.
FULL, OTHERS = 2, 12
#: All that is not a sweep of all heads (blocks, TFC2, flow, attention), as a part of those.
REST = 0.6
#: What a study costs at the least before anything is patched: documents that are encoded, words of a query.
POOL, WORDS = 6000, 6


@dataclass(frozen=True)
class Sizes:
    """Queries, and documents of either band that choose a query's term; pairs of append and prepend (half of ranks
    1 to 10, half of 91 to 100) and of every other variant; of those, pairs whose blocks are patched and whose flow
    is followed; documents for TFC2; pairs for each audit; tokens that are read; where documents come from."""

    queries: int = 40
    ask: int = 4
    pairs: int = 60
    others: int = 30
    blocks: int = 24
    flow: int = 12
    counting: int = 30
    most_k: int = 10
    audit: int = 60
    max_length: int = 128
    pool: str = "all"

    @classmethod
    def quick(cls) -> Sizes:
        """Under eight minutes for a small ranker: to see that all is well."""
        return cls(
            queries=16, ask=2, pairs=8, others=4, blocks=4, flow=2, counting=4, most_k=5, audit=10, max_length=96,
            pool="candidates",
        )  # fmt: skip

    def affordable(self, encoder: Encoder) -> Sizes:
        """Fewer pairs for larger models, so that the study takes no longer than it may."""
        share = (AFFORDABLE - self._before(encoder)) / self._patching(encoder)
        if share >= 1:
            return self

        def fewer(count: int, least: int) -> int:
            return min(count, max(least, round(count * share)))

        return replace(
            self, pairs=fewer(self.pairs, 20), others=fewer(self.others, 8), blocks=fewer(self.blocks, 6),
            flow=fewer(self.flow, 4), counting=fewer(self.counting, 12),
        )  # fmt: skip

    def _before(self, encoder: Encoder) -> float:
        """Encoding the pool, and asking for each query's strongest term."""
        documents = POOL if self.pool == "all" else POOL / 4
        asked = self.queries * WORDS * 2 * self.ask
        return (documents + asked) * encoder.layers * one_layer(encoder, self.max_length)

    def _patching(self, encoder: Encoder) -> float:
        sets = FULL * self.pairs + OTHERS * self.others
        return (1 + REST) * sets * all_heads(encoder) * one_layer(encoder, self.max_length)


def one_layer(encoder: Encoder, tokens: int) -> float:
    """Operations of a layer's 12 d^2 weights on one text."""
    return 24.0 * encoder.width**2 * tokens


def all_heads(encoder: Encoder) -> float:
    """Layers that an exact sweep of all heads of one pair runs again: for each head those above it (the patched
    layer needs no attention, the top one a row)."""
    return encoder.heads * sum(0.64 + max(0, encoder.layers - 2 - layer) for layer in range(encoder.layers))
