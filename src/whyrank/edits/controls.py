"""Edits that are none: as large as one of U_0, along other directions. What they do not do is U_0's own doing.

Each row moves as far as the edit moves it, |U_0' - U_0| S_0:

    U1, U2     along the next singular vectors, turned by the IDF as U_0 is
    random     along a random unit vector, the same for all rows; at least 10, by the seed, since one says little
    row        the whole row scaled: up by f = 1 + |U_0' - U_0| S_0 / |row|, which moves it as far; down by 1 / f,
               which moves it less, for a row that went as far towards zero would pass it and be turned round
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from whyrank.edits.dial import Dial
from whyrank.edits.results import Turn
from whyrank.edits.rows import RowChange
from whyrank.rankers.neural import NeuralRanker

#: Random directions, and how their names begin.
DRAWN = 20
RANDOM = "random"
#: From what the edit does to each piece to what is done to its row instead.
Control = Callable[[list[Turn]], RowChange]


def controls(dial: Dial, seed: int = 0, drawn: int = DRAWN) -> dict[str, Control]:
    """The edit itself, as `U0`, and its controls by name."""
    right = dial.spectrum.right
    named = {f"U{i}": along(dial, right[i]) for i in (1, 2) if i < len(right)}
    return {"U0": dial.change, **named, **random_directions(dial, seed, drawn), "row": along_row(dial)}


def random_directions(dial: Dial, seed: int = 0, drawn: int = DRAWN) -> dict[str, Control]:
    """Along random unit vectors; the first of many are those of few."""
    size = (drawn, dial.spectrum.right.shape[1])
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.nn.functional.normalize(torch.randn(size, generator=generator, dtype=torch.float64), dim=1)
    return {f"{RANDOM} {i + 1}": along(dial, vectors[i]) for i in range(drawn)}


def along(dial: Dial, direction: Tensor) -> Control:
    """Along a unit vector [d], to the side to which the edit moves U_0."""

    def change(turns: list[Turn]) -> RowChange:
        return RowChange(tuple(turn.token for turn in turns), _amounts(dial, turns)[:, None] * direction)

    return change


def along_row(dial: Dial) -> Control:
    """Each row scaled, as it is when the control is made; less of U_0 makes it longer."""
    matrix = dial.ranker.encoder.word_embeddings.detach().double().cpu().clone()

    def change(turns: list[Turn]) -> RowChange:
        tokens = tuple(turn.token for turn in turns)
        rows, amounts = matrix[list(tokens)], _amounts(dial, turns)
        factors = 1 + amounts.abs() / rows.norm(dim=1).clamp(min=torch.finfo(torch.float64).tiny)
        factors = torch.where(amounts > 0, 1 / factors, factors)
        return RowChange(tokens, (factors - 1)[:, None] * rows)

    return change


def set_to(ranker: NeuralRanker, tokens: Sequence[int], row: Tensor) -> RowChange:
    """These tokens' rows become `row` [d]."""
    rows = ranker.encoder.word_embeddings.detach()[list(tokens)].double().cpu()
    return RowChange(tuple(tokens), row.double().cpu() - rows)


def _amounts(dial: Dial, turns: list[Turn]) -> Tensor:
    """(U_0' - U_0) S_0 of each piece: how far its row moves, with the sign."""
    return (
        torch.tensor([turn.after - turn.before for turn in turns], dtype=torch.float64) * dial.spectrum.values[0]
    )
