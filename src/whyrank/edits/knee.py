"""The knee of a curve: where more stops paying (Satopaa et al. 2011, 'Finding a Kneedle in a Haystack')."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple


class Knee(NamedTuple):
    """The point of a curve over scales that is highest above the straight line from its first to its last point.

    Both axes run from 0 to 1, the scales' as logarithms; `height` is above that line.
    """

    scale: float
    value: float
    height: float

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def knee(scales: Sequence[float], values: Sequence[float]) -> Knee | None:
    """The knee of values over growing scales; None for a curve that never rises above its chord."""
    x = [math.log(scale) for scale in scales]
    low, spread = min(values), max(values) - min(values)
    if len(x) < 3 or spread == 0 or x[-1] == x[0]:
        return None
    points = [
        ((one - x[0]) / (x[-1] - x[0]), (value - low) / spread) for one, value in zip(x, values, strict=True)
    ]
    first, last = points[0][1], points[-1][1]
    heights = [y - (first + (last - first) * place) for place, y in points]
    best = max(range(len(heights)), key=lambda i: heights[i])
    return Knee(scales[best], values[best], heights[best]) if heights[best] > 1e-12 else None
