"""Tiny checkpoints on disk, with a word-level tokenizer, for tests of loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from tests.tiny import CONFIGS, LONGEST, VOCABULARY, tiny_model

SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]", "[unused0]", "[unused1]"]
WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "berlin", "people", "live", "in", "how", "many", "tree"]
WORDS += ["house", "runs", "fast", "slow", "red", "blue"]


def tokenizer(architecture: str) -> PreTrainedTokenizerFast:
    """One token a word; pads with the id that the architecture pads with."""
    vocabulary = [*SPECIAL, *WORDS]
    if CONFIGS[architecture].pad_token_id == 1:
        vocabulary[0], vocabulary[1] = vocabulary[1], vocabulary[0]
    ids = {word: number for number, word in enumerate(vocabulary)}
    assert len(ids) <= VOCABULARY
    one = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    one.normalizer, one.pre_tokenizer = Lowercase(), Whitespace()
    second = 1 if getattr(CONFIGS[architecture], "type_vocab_size", 1) > 1 else 0
    one.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A [SEP] $B:{second} [SEP]:{second}",
        special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])],
    )
    names = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    reads = ["input_ids", "attention_mask", *(["token_type_ids"] if second else [])]
    return PreTrainedTokenizerFast(
        tokenizer_object=one,
        unk_token="[UNK]",
        mask_token="[MASK]",
        model_max_length=LONGEST,
        model_input_names=reads,
        **names,
    )


def save(folder: Path, architecture: str = "bert", head: str = "AutoModel", model: Any = None) -> Path:
    """A random checkpoint of this architecture as transformers saves it."""
    (model or tiny_model(architecture, head)).save_pretrained(folder)
    tokenizer(architecture).save_pretrained(folder)
    return folder
