"""Every word as a mixture of all refined words of its chunk: Eq. 12, which no mask makes sparse."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.packing import Packing


class DenseAttention(nn.Module):
    """Z = softmax((W_a h)(W_h h)^T) h, padding masked.

    With `scale` the products are divided by sqrt(d), as attention usually is; the equation has no such factor. As
    W_a and W_h only ever meet as W_a^T W_h, that product is made once and applied to one side.
    """

    def __init__(self, width: int, scale: bool = True) -> None:
        super().__init__()
        self.asking = nn.Linear(width, width, bias=False)
        self.asked = nn.Linear(width, width, bias=False)
        self.factor = width**-0.5 if scale else 1.0

    def forward(self, tokens: Tensor, packing: Packing, chunks: Chunks) -> Tensor:
        """Z [C, S, d] of the packed h [N, d]; rows of padding are of no use."""
        both = self.asking.weight.T @ self.asked.weight
        asking, words = packing.unpack(tokens @ both)[:, None], packing.unpack(tokens)[:, None]
        mask = None if chunks.inputs.mask is None else chunks.real[:, None, None, :]
        return scaled_dot_product_attention(asking, words, words, attn_mask=mask, scale=self.factor)[:, 0]
