"""Tiny random models of every supported architecture, for tests that compare with Hugging Face's own."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf

from whyrank.encoders.inputs import Inputs

VOCABULARY = 97
LONGEST = 24
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 24,
}
#: RoBERTa and MPNet count positions from padding id 1 on.
SHIFTED = {
    **SHAPE,
    "max_position_embeddings": LONGEST + 2,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
}
CONFIGS: dict[str, hf.PreTrainedConfig] = {
    "bert": hf.BertConfig(**SHAPE, max_position_embeddings=LONGEST),
    "distilbert": hf.DistilBertConfig(
        vocab_size=VOCABULARY, dim=16, n_layers=3, n_heads=4, hidden_dim=24, max_position_embeddings=LONGEST
    ),
    "roberta": hf.RobertaConfig(**SHIFTED, type_vocab_size=1),
    "xlm-roberta": hf.XLMRobertaConfig(**SHIFTED, type_vocab_size=1),
    "camembert": hf.CamembertConfig(**SHIFTED, type_vocab_size=1),
    "electra": hf.ElectraConfig(**SHAPE, embedding_size=8, max_position_embeddings=LONGEST),
    "mpnet": hf.MPNetConfig(**SHIFTED),
    "modernbert": hf.ModernBertConfig(
        **SHAPE,
        max_position_embeddings=LONGEST,
        local_attention=8,
        global_attn_every_n_layers=2,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    ),
}
ARCHITECTURES = sorted(CONFIGS)
_MODELS: dict[tuple[str, str], Any] = {}


def tiny_model(architecture: str, head: str = "AutoModel") -> Any:
    """A random model, the same one each time."""
    if (architecture, head) not in _MODELS:
        _MODELS[architecture, head] = shaken(getattr(hf, head).from_config(CONFIGS[architecture]).eval())
    return _MODELS[architecture, head]


def shaken(model: Any, seed: int = 0) -> Any:
    """The model with weights so large that every part of it, token types too, matters to the output."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            constant = parameter * bool(parameter.max() == parameter.min())  # LayerNorm weights stay near 1
            parameter.copy_(constant + torch.randn_like(parameter) * 0.2)
    return model


def random_inputs(architecture: str, lengths: list[int], seed: int = 0) -> Inputs:
    """Sequences of these lengths in one batch, padded on the right, the second half of each of type 1."""
    generator = torch.Generator().manual_seed(seed)
    config, longest = CONFIGS[architecture], max(lengths)
    ids = torch.randint(3, VOCABULARY, (len(lengths), longest), generator=generator)
    mask = torch.arange(longest) < torch.tensor(lengths)[:, None]
    types = (torch.arange(longest) >= torch.tensor(lengths)[:, None] // 2).long() * mask
    if getattr(config, "type_vocab_size", 1) < 2:
        types = torch.zeros_like(types)
    ids = ids.masked_fill(~mask, config.pad_token_id or 0)
    return Inputs(ids, types, None if mask.all() else mask)


def hugging_face_arguments(architecture: str, inputs: Inputs) -> dict[str, torch.Tensor]:
    """The same inputs as the original model takes them."""
    arguments = {"input_ids": inputs.ids, "attention_mask": inputs.attention_mask.long()}
    if getattr(CONFIGS[architecture], "type_vocab_size", 0) > 1:
        arguments["token_type_ids"] = inputs.types
    return arguments
