"""Attention, whole or for a few rows only, with every intermediate value open to the caller."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from whyrank.encoders.anatomy import Block, Geometry


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, S, heads * d_head] -> [B, heads, S, d_head]."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def merge_heads(z: Tensor) -> Tensor:
    """[B, heads, S, d_head] -> [B, S, heads * d_head]."""
    return z.transpose(1, 2).flatten(2)


def padding_bias(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """What to add to the scores so that padding is never attended to: [B, 1, 1, S], or None."""
    return None if mask is None else forbid(~mask[:, None, None, :], dtype)


def forbid(forbidden: Tensor, dtype: torch.dtype) -> Tensor:
    """0 where allowed, the lowest finite number where not: a row with nothing allowed stays free of NaN."""
    return torch.zeros(forbidden.shape, dtype=dtype, device=forbidden.device).masked_fill(
        forbidden, torch.finfo(dtype).min
    )


def rotate(x: Tensor, rotation: tuple[Tensor, Tensor] | None) -> Tensor:
    """Rotary positions: (x cos + rotate_half(x) sin), for x [B, heads, S, d_head]."""
    if rotation is None:
        return x
    cos, sin = (part.unsqueeze(1) for part in rotation)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def attention_pattern(q: Tensor, k: Tensor, bias: Tensor | None) -> Tensor:
    """softmax(q k^T / sqrt(d_head) + bias): [B, heads, S, S]."""
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return torch.softmax(scores if bias is None else scores + bias, dim=-1)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
    """The heads' outputs z without ever holding the pattern."""
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)


def rows_attention(block: Block, u: Tensor, geometry: Geometry, rows: list[int], heads: int) -> Tensor:
    """z at a few rows only: [B, heads, R, d_head] from the block's (normed) input u [B, S, d].

    Without rotation neither K nor V is needed for the other tokens: with q_h the query of head h,
    scores = (W_K,h^T q_h) . u, since the key's bias is the same for every key and cancels in the softmax,
    and z_h = W_V,h (sum_j p_j u_j) + b_V,h, since p sums to 1.
    """
    q = split_heads(block.query(u[:, rows]), heads)
    bias = None if geometry.bias is None else _rows_of(geometry.bias, rows)
    d_head = q.shape[-1]
    if geometry.rotation is not None or len(rows) * heads >= u.shape[-1]:
        at_rows = geometry.rotation and (geometry.rotation[0][:, rows], geometry.rotation[1][:, rows])
        k = rotate(split_heads(block.key(u), heads), geometry.rotation)
        return fused_attention(rotate(q, at_rows), k, split_heads(block.value(u), heads), bias)
    W_K, W_V = (w.weight.unflatten(0, (heads, d_head)) for w in (block.key, block.value))
    keyed = torch.einsum("bhrc,hcd->bhrd", q, W_K).flatten(1, 2)  # [B, heads * R, d]
    scores = (keyed @ u.transpose(1, 2)).unflatten(1, (heads, len(rows))) / math.sqrt(d_head)
    pattern = torch.softmax(scores if bias is None else scores + bias, dim=-1)
    mixed = (pattern.flatten(1, 2) @ u).unflatten(1, (heads, len(rows)))
    z = torch.einsum("bhrd,hcd->bhrc", mixed, W_V)
    return z if block.value.bias is None else z + block.value.bias.unflatten(0, (heads, 1, d_head))


def _rows_of(bias: Tensor, rows: list[int]) -> Tensor:
    """The query rows of a bias that may be the same for all of them."""
    return bias if bias.shape[-2] == 1 else bias[..., rows, :]
