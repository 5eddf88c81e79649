"""The smallest turn of one IDF dial that makes B overtake A, both documents scored with the turned weights.

The dial of a query word is turned down (it counts for less), or up; the scale, in standard deviations of U_0 over
whole words, is doubled until B is above A, then halved between the last two scales. `whyrank edit` applies the
same turn to the ranker for good.
"""

from __future__ import annotations

from collections.abc import Sequence

from whyrank.core.errors import UserError
from whyrank.edits.dial import Dial, UnclearSign
from whyrank.edits.edit import DIRECTIONS, Edit, TermEdit
from whyrank.edits.rows import applied
from whyrank.explain.explanation import DialTurn
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Pair, Ranker

#: Query words whose dials are tried.
MOST_WORDS = 3
FIRST_SCALE, LARGEST_SCALE, HALVINGS = 0.5, 64.0, 3


def smallest_turn(ranker: Ranker, words: Sequence[str], above: Pair, below: Pair) -> DialTurn | None:
    """The turn with the smallest scale, of these words; None where none is found, or there is no dial."""
    if not isinstance(ranker, NeuralRanker):
        return None
    try:
        dial = Dial.of(ranker)
    except UnclearSign:
        return None
    best: DialTurn | None = None
    for word in words[:MOST_WORDS]:
        for way in DIRECTIONS:
            found = _Turn(dial, word, way, above, below).smallest(LARGEST_SCALE if best is None else best.scale)
            best = found if best is None or (found is not None and found.scale < best.scale) else best
    return best


class _Turn:
    """The turns of one word's dial in one direction."""

    def __init__(self, dial: Dial, word: str, direction: str, above: Pair, below: Pair) -> None:
        self.dial, self.word, self.direction, self.pairs = dial, word, direction, [above, below]

    def smallest(self, most: float) -> DialTurn | None:
        """None where no scale up to `most` is enough."""
        scale, low = FIRST_SCALE, 0.0
        while (found := self._swapped(scale)) is None:
            low, scale = scale, 2 * scale
            if low >= most or scale > LARGEST_SCALE:
                return None
        for _ in range(HALVINGS):
            middle = (low + found.scale) / 2
            better = self._swapped(middle)
            low, found = (middle, found) if better is None else (low, better)
        return found

    def _swapped(self, scale: float) -> DialTurn | None:
        """The turn and both scores, if B is above A with it."""
        edit = Edit((TermEdit(self.word, self.direction, scale),))
        try:
            change = self.dial.change(edit)
            with applied(self.dial.ranker, change) as edited:
                above, below = map(float, edited.score(self.pairs))
        except UserError:  # a word without a piece of its own, or a scale too large for the weights
            return None
        return DialTurn(self.word, self.direction, scale, above, below) if below > above else None
