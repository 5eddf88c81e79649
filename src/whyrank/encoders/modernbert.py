"""ModernBERT: pre-LN, rotary positions, a gated MLP, and layers that see a window beside layers that see all.

The residual stream is never normed inside a block, so `L4.resid` is the sum of everything written before;
one LayerNorm at the very end makes the last hidden states. Layer 0 has no norm before its attention, since
the embeddings are normed already.
"""

from __future__ import annotations

import torch
from torch import Tensor

from whyrank.encoders.anatomy import Anatomy, Block, Geometry, HuggingFaceModule, Projection
from whyrank.encoders.attention import forbid, padding_bias
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.linear import apply

MODEL_TYPES = ("modernbert",)


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of a `ModernBertModel`."""
    config = model.config
    return Anatomy(
        architecture="modernbert",
        module=model,
        blocks=tuple(_block(layer, config.hidden_size) for layer in model.layers),
        heads=config.num_attention_heads,
        width=config.hidden_size,
        max_length=config.max_position_embeddings,
        word_embeddings=model.embeddings.tok_embeddings,
        embed=lambda inputs: model.embeddings(input_ids=inputs.ids),
        geometry=lambda inputs, h: _geometry(model, inputs, h),
        final_norm=model.final_norm,
    )


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(model.head(h[:, 0]))


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.decoder(model.head(h))


def _geometry(model: HuggingFaceModule, inputs: Inputs, h: Tensor) -> tuple[Geometry, ...]:
    """Local layers see |i - j| <= window, and turn q and k at their own base frequency."""
    positions = torch.arange(h.shape[1], device=h.device)
    far = (positions[:, None] - positions[None, :]).abs() > model.config.sliding_window
    unseen = far[None, None] if inputs.mask is None else far[None, None] | ~inputs.mask[:, None, None, :]
    bias = {
        "full_attention": padding_bias(inputs.mask, h.dtype),
        "sliding_attention": forbid(unseen, h.dtype) if far.any() else padding_bias(inputs.mask, h.dtype),
    }
    kinds = model.config.layer_types
    turn = {kind: model.rotary_emb(h, positions[None], kind) for kind in set(kinds)}
    each = {kind: Geometry(bias[kind], turn[kind]) for kind in set(kinds)}
    return tuple(each[kind] for kind in kinds)


def _block(layer: HuggingFaceModule, width: int) -> Block:
    fused, mlp = layer.attn.Wqkv, layer.mlp
    return Block(
        query=Projection(fused, slice(0, width)),
        key=Projection(fused, slice(width, 2 * width)),
        value=Projection(fused, slice(2 * width, 3 * width)),
        output=Projection(layer.attn.Wo),
        mlp=lambda x: _gated(mlp, x),
        norm_before_attention=layer.attn_norm,
        norm_before_mlp=layer.mlp_norm,
    )


def _gated(mlp: HuggingFaceModule, x: Tensor) -> Tensor:
    signal, gate = apply(mlp.Wi, x).chunk(2, dim=-1)
    return apply(mlp.Wo, mlp.act(signal) * gate)
