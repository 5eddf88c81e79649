"""DistilBERT: post-LN as BERT, other names, no token types and no pooler."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from whyrank.encoders.anatomy import Anatomy, Block, HuggingFaceModule, Projection
from whyrank.encoders.bert import same_everywhere
from whyrank.encoders.linear import apply

MODEL_TYPES = ("distilbert",)


def anatomy(model: HuggingFaceModule) -> Anatomy:
    """The parts of a `DistilBertModel`."""
    config, layers = model.config, model.transformer.layer
    return Anatomy(
        architecture="distilbert",
        module=model,
        blocks=tuple(_block(layer) for layer in layers),
        heads=config.n_heads,
        width=config.dim,
        max_length=config.max_position_embeddings,
        word_embeddings=model.embeddings.word_embeddings,
        embed=lambda inputs: model.embeddings(inputs.ids),
        geometry=lambda inputs, h: same_everywhere(len(layers), inputs, h),
    )


def classify(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, labels] of the ranking head, of the rows [B, 1, d] that it reads."""
    return model.classifier(functional.relu(model.pre_classifier(h[:, 0])))


def predict_words(model: HuggingFaceModule, h: Tensor) -> Tensor:
    """Logits [B, S, vocabulary] of the masked-language-model head."""
    return model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(h))))


def _block(layer: HuggingFaceModule) -> Block:
    attention, ffn = layer.attention, layer.ffn
    return Block(
        query=Projection(attention.q_lin),
        key=Projection(attention.k_lin),
        value=Projection(attention.v_lin),
        output=Projection(attention.out_lin),
        mlp=lambda x: apply(ffn.lin2, ffn.activation(apply(ffn.lin1, x))),
        norm_after_attention=layer.sa_layer_norm,
        norm_after_mlp=layer.output_layer_norm,
    )
