"""Tokenizers of the three usual kinds, trained on the demo collection: WordPiece, byte-level BPE, Unigram."""

from __future__ import annotations

from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from whyrank.collections.demo import open_demo
from whyrank.text.pieces import Pieces

KINDS = ("wordpiece", "bpe", "sentencepiece")
SPECIAL = ["<s>", "</s>", "<unk>", "<mask>"]


@cache
def trained(kind: str) -> Pieces:
    """A tokenizer with a vocabulary so small that many words have several pieces."""
    texts = [document.text for document in open_demo().documents()]
    if kind == "wordpiece":
        one = Tokenizer(models.WordPiece(unk_token="<unk>"))
        one.normalizer, one.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=SPECIAL)
    elif kind == "bpe":
        one = Tokenizer(models.BPE())
        one.pre_tokenizer, one.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet)
    else:
        one = Tokenizer(models.Unigram())
        one.normalizer, one.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=1500, special_tokens=SPECIAL, unk_token="<unk>")
    one.train_from_iterator(texts, trainer)
    start, end = ((token, one.token_to_id(token)) for token in ("<s>", "</s>"))
    one.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[start, end]
    )
    return Pieces(one, max_length=64, pad_id=0)
