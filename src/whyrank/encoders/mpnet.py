"""MPNet: post-LN as BERT, and one relative position bias per head, shared by all layers, added to the scores.

Positions are counted as RoBERTa counts them (padding id 1), and there are no token types.
"""

from __future__ import annotations

from torch import Tensor

from whyrank.encoders.anatomy import Anatomy, Block, Geometry, HuggingFaceModule, Projection
from whyrank.encoders.attention import padding_bias
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.linear import apply

MODEL_TYPES = ("mpnet",)


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of an `MPNetModel`."""
    config = model.config
    return Anatomy(
        architecture="mpnet",
        module=model,
        blocks=tuple(_block(layer) for layer in model.encoder.layer),
        heads=config.num_attention_heads,
        width=config.hidden_size,
        max_length=config.max_position_embeddings - model.embeddings.padding_idx - 1,
        word_embeddings=model.embeddings.word_embeddings,
        embed=lambda inputs: model.embeddings(input_ids=inputs.ids),
        geometry=lambda inputs, h: _geometry(model, inputs, h),
    )


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(h)


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.lm_head(h)


def _geometry(model: HuggingFaceModule, inputs: Inputs, h: Tensor) -> tuple[Geometry, ...]:
    relative = model.encoder.compute_position_bias(h[:1])  # [1, heads, S, S], the same for every sequence
    padding = padding_bias(inputs.mask, h.dtype)
    if padding is not None:
        relative = relative.masked_fill(padding < 0, padding.min())
    return (Geometry(relative),) * len(model.encoder.layer)


def _block(layer: HuggingFaceModule) -> Block:
    attention, inner, outer = layer.attention, layer.intermediate, layer.output
    return Block(
        query=Projection(attention.attn.q),
        key=Projection(attention.attn.k),
        value=Projection(attention.attn.v),
        output=Projection(attention.attn.o),
        mlp=lambda x: apply(outer.dense, inner.intermediate_act_fn(apply(inner.dense, x))),
        norm_after_attention=attention.LayerNorm,
        norm_after_mlp=outer.LayerNorm,
    )
