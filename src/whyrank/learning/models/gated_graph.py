"""Words refined by what they hear from related words: the gated graph network of Eq. 11."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from whyrank.learning.models.packing import Packing
from whyrank.learning.models.quick_tanh import quick_tanh_
from whyrank.learning.models.word_graph import WordGraph


class GatedGraph(nn.Module):
    """T steps, with the same weights at each step and each layer.

        a = A x
        z = sigmoid(W_z a + U_z x)
        r = sigmoid(W_r a + U_r x)
        h = tanh(W_h a + U_h (r * x))
        x' = z * h + (1 - z) * x

    With `bias` each gate has one, as in LGRe's published code; the equations have none. `gate_*` are z and r one
    above the other, in one product.
    """

    def __init__(self, width: int, steps: int = 2, bias: bool = True) -> None:
        super().__init__()
        self.steps = steps
        self.gate_heard = nn.Linear(width, 2 * width, bias=bias)
        self.gate_word = nn.Linear(width, 2 * width, bias=False)
        self.new_heard = nn.Linear(width, width, bias=bias)
        self.new_word = nn.Linear(width, width, bias=False)

    def forward(self, state: Tensor, graph: WordGraph, packing: Packing) -> Tensor:
        """The refined words [N, d], packed, of a state [C, S, d]."""
        words = packing.pack(state)
        for _ in range(self.steps):
            words = self._step(packing.pack(graph.messages(packing.unpack(words))), words)
        return words

    def _step(self, heard: Tensor, words: Tensor) -> Tensor:
        """In place wherever the gradient does not need what was there: half the time beside the products is
        otherwise spent on moving memory."""
        gates = self.gate_heard(heard).addmm_(words, self.gate_word.weight.T).sigmoid_()
        update, reset = gates.chunk(2, dim=1)
        new = self.new_heard(heard).addmm_(reset * words, self.new_word.weight.T)
        return torch.lerp(words, quick_tanh_(new), update)
