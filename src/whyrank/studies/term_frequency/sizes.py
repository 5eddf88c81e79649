"""How much of everything the study does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whyrank.encoders.encoder import Encoder

#: What a sweep of default size may cost in the units of `cost`: all heads of 60 pairs in a model of 8 layers, 12
#: heads and width 384.
AFFORDABLE = 60 * 26 * 12 * 384**2


@dataclass(frozen=True)
class Sizes:
    """Queries; pairs of each variant (half of ranks 1 to 10, half of 91 to 100); of those, pairs whose blocks are
    patched and whose flow is followed; documents for TFC2; pairs for each audit; tokens that are read."""

    queries: int = 50
    pairs: int = 60
    blocks: int = 24
    flow: int = 12
    counting: int = 12
    most_k: int = 10
    audit: int = 60
    max_length: int = 160

    @classmethod
    def quick(cls) -> Sizes:
        """Under eight minutes for a small bi-encoder: to see that all is well."""
        return cls(queries=16, pairs=8, blocks=4, flow=2, counting=3, most_k=5, audit=10, max_length=96)

    def affordable(self, encoder: Encoder) -> Sizes:
        """Fewer pairs for larger models, so that the study takes about as long."""
        share = min(1.0, AFFORDABLE / (self.pairs * cost(encoder)))

        def fewer(count: int) -> int:
            return max(4, round(count * share))

        return replace(
            self, pairs=fewer(self.pairs), blocks=fewer(self.blocks), flow=fewer(self.flow), audit=self.audit
        )


def cost(encoder: Encoder) -> float:
    """Of an exact sweep of all heads of one pair: for each head the layers above it that run again (the patched
    layer needs no attention, the top one a row), by the width squared."""
    again = sum(0.64 + max(0, encoder.layers - 2 - layer) for layer in range(encoder.layers))
    return again * encoder.heads * encoder.width**2
