"""BERT: post-LN, absolute positions, token types. RoBERTa, XLM-R and ELECTRA name their parts the same way."""

from __future__ import annotations

from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.anatomy import Anatomy, Block, Geometry, HuggingFaceModule, Projection
from whyrank.encoders.attention import padding_bias
from whyrank.encoders.inputs import Inputs
from whyrank.encoders.linear import apply

MODEL_TYPES = ("bert",)


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of a `BertModel`."""
    return bert_like("bert", model, max_length=model.config.max_position_embeddings)


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(model.bert.pooler(h))


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.cls(h)


def bert_like(architecture: str, model: HuggingFaceModule, max_length: int) -> Anatomy:
    """The parts of a model laid out as BERT is."""
    config = model.config
    if getattr(config, "position_embedding_type", None) not in (None, "absolute"):
        raise UserError(
            f"{architecture} with {config.position_embedding_type} positions is not supported",
            todo="use a checkpoint with absolute positions",
        )
    return Anatomy(
        architecture=architecture,
        module=model,
        blocks=tuple(_block(layer) for layer in model.encoder.layer),
        heads=config.num_attention_heads,
        width=config.hidden_size,
        max_length=max_length,
        word_embeddings=model.embeddings.word_embeddings,
        embed=lambda inputs: _embed(model, inputs),
        geometry=lambda inputs, h: same_everywhere(len(model.encoder.layer), inputs, h),
    )


def same_everywhere(layers: int, inputs: Inputs, h: Tensor) -> tuple[Geometry, ...]:
    """Every layer sees all tokens that are not padding."""
    return (Geometry(padding_bias(inputs.mask, h.dtype)),) * layers


def _embed(model: HuggingFaceModule, inputs: Inputs) -> Tensor:
    embedded = model.embeddings(input_ids=inputs.ids, token_type_ids=inputs.types)
    project = getattr(model, "embeddings_project", None)  # ELECTRA's small models embed in fewer dimensions
    return embedded if project is None else project(embedded)


def _block(layer: HuggingFaceModule) -> Block:
    attention, inner, outer = layer.attention, layer.intermediate, layer.output
    return Block(
        query=Projection(attention.self.query),
        key=Projection(attention.self.key),
        value=Projection(attention.self.value),
        output=Projection(attention.output.dense),
        mlp=lambda x: apply(outer.dense, inner.intermediate_act_fn(apply(inner.dense, x))),
        norm_after_attention=attention.output.LayerNorm,
        norm_after_mlp=outer.LayerNorm,
    )
