"""The tokenizer of a checkpoint: its files checked, its library's object made, and its limits known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from whyrank.core.errors import UserError
from whyrank.core.json_file import read_json
from whyrank.rankers.checkpoint_files import (
    SPECIAL_TOKENS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    SpecialTokens,
    TokenizerConfig,
    TokenizerFile,
)
from whyrank.rankers.library_errors import library_errors, without_panic_messages
from whyrank.text.pieces import Pieces

#: The files of a tokenizer, of which a checkpoint has some.
TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt",
    "vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model",
)  # fmt: skip
#: transformers writes a number like 10^30, at times as a float, where a tokenizer has no limit.
NO_LIMIT = 2**31
#: What is tokenised once: letters, signs, and a character that hardly any vocabulary has.
TRIAL = ("how many people", "The cat, 3.5 cm: ça va?\u2603 \u4e2d \U00013080")


def is_tokenizer_file(name: str) -> bool:
    """Whether a file of this name belongs to a tokenizer."""
    return name in TOKENIZER_FILES


def read_pieces(folder: Path, config: Any, max_length: int) -> Pieces:
    """The tokenizer, cutting at `max_length` tokens or where it says itself. `config` is transformers' own."""
    import transformers

    check_tokenizer_files(folder)
    with library_errors("no tokenizer that can be read", folder, f"{TOKENIZER} is needed"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, config=config, local_files_only=True, trust_remote_code=False
        )
        backend: Tokenizer = tokenizer.backend_tokenizer
        types = "token_type_ids" in tokenizer.model_input_names
        pad_id, longest = tokenizer.pad_token_id or 0, min(max_length, int(tokenizer.model_max_length))
    _check_fits(backend, pad_id, types, config, folder)
    special = backend.num_special_tokens_to_add(is_pair=True)
    if longest < special + 2:
        raise UserError(
            f"max_length {longest} has no room for a query and a document",
            where=folder,
            todo=f"it must be {special + 2} or more",
        )
    return Pieces(backend, longest, pad_id, types)


def check_tokenizer_files(folder: Path) -> None:
    """Raises for a field of another type in the files that the tokenizer is made of."""
    path = folder / TOKENIZER_CONFIG
    if path.exists():
        config_file: TokenizerConfig = read_json(path, TokenizerConfig)
        if isinstance(config_file.model_max_length, float) and config_file.model_max_length < NO_LIMIT:
            raise UserError("field model_max_length: expected int, got float", where=path)
        if config_file.auto_map:
            raise UserError(
                "field auto_map: the tokenizer has code of its own, which is not run",
                where=path,
                todo="if tokenizer.json is all of it, delete the field",
            )
    if (folder / TOKENIZER).exists():
        read_json(folder / TOKENIZER, TokenizerFile)
    if (folder / SPECIAL_TOKENS).exists():
        read_json(folder / SPECIAL_TOKENS, SpecialTokens)


def _check_fits(backend: Tokenizer, pad_id: int, types: bool, config: Any, folder: Path) -> None:
    """Tokenises a pair of texts: what does not work, or makes tokens that the model has not, is refused now."""
    with library_errors("the tokenizer cannot tokenise", folder / TOKENIZER), without_panic_messages():
        backend.no_padding()
        backend.no_truncation()
        encoded = backend.encode(*TRIAL)
        ids = [pad_id, *encoded.ids, *backend.get_vocab(with_added_tokens=True).values()]
        texts = set(encoded.sequence_ids)
    if texts != {None, 0, 1}:
        lost = "special tokens" if None not in texts else "one of the two texts"
        raise UserError(
            f"the tokenizer makes a pair without {lost}", where=folder / TOKENIZER, todo="check its post_processor"
        )
    kinds = getattr(config, "type_vocab_size", None)
    for what, most, has in (
        ("token", max(ids), config.vocab_size),
        ("token type", max(encoded.type_ids) if types else 0, kinds or 1),
    ):
        if most >= has:
            raise UserError(
                f"the tokenizer makes a {what} {most}, and the model has {has}",
                where=folder,
                todo="tokenizer and weights are not of one checkpoint; fetch it again",
            )
