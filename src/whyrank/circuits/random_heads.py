"""Random circuits to compare one with: as many heads from each layer as it has, since layers differ by far in what
ablating a head of theirs does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from whyrank.circuits.head import Head


def layer_matched(every: Sequence[Head], heads: Sequence[Head], count: int, seed: str) -> list[list[Head]]:
    """So many sets, drawn from `every` head of each layer, the circuit's own among them."""
    draw, sizes = random.Random(seed), Counter(head.layer for head in heads)
    by_layer = {layer: [head for head in every if head.layer == layer] for layer in sizes}
    return [
        sorted(head for layer in sorted(sizes) for head in draw.sample(by_layer[layer], sizes[layer]))
        for _ in range(count)
    ]
