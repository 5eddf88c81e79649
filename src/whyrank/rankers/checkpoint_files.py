"""The small files of a checkpoint, each with the fields that whyrank reads of it, typed.

They are written by transformers, sentence-transformers, PyLate, ColBERT, or by hand; a value of another type is
refused with file and field. Fields that are not named here are left to the library that they are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from whyrank.core.errors import UserError, nearest, quoted
from whyrank.core.json_file import NotJson, read_json, typed

#: What is shown on the screen, in one line.
Said = Annotated[str, Meta(max_length=1000)]

CONFIG, TOKENIZER, TOKENIZER_CONFIG = "config.json", "tokenizer.json", "tokenizer_config.json"
SPECIAL_TOKENS, MODULES, OWN_FILE = "special_tokens_map.json", "modules.json", "whyrank.json"
LENGTH, PROMPTS, COLBERT = "sentence_bert_config.json", "config_sentence_transformers.json", "artifact.metadata"
#: What a folder needs, for one that lacks its config.
NEEDED = "a checkpoint folder has config.json, weights and a tokenizer"

#: Tokens of a text; a size or a number of layers of a model. The limits are far above any encoder's.
Length = Annotated[int, Meta(ge=1, le=2**31)]
Size = Annotated[int, Meta(ge=1, le=2**24)]
Layers = Annotated[int, Meta(ge=1, le=256)]
TokenId = Annotated[int, Meta(ge=0, le=2**31)]


@dataclass(frozen=True)
class Config:
    """config.json of any architecture that can be opened: which code reads the weights, and sizes."""

    model_type: str | None = None
    architectures: list[str] | None = None
    auto_map: object = None
    quantization_config: object = None
    attn_implementation: str | None = None
    _attn_implementation: str | None = None
    transformers_weights: str | None = None
    is_decoder: bool | None = None
    is_encoder_decoder: bool | None = None
    dtype: str | None = None
    torch_dtype: str | None = None
    vocab_size: Size | None = None
    hidden_size: Size | None = None
    dim: Size | None = None
    intermediate_size: Size | None = None
    hidden_dim: Size | None = None
    embedding_size: Size | None = None
    max_position_embeddings: Size | None = None
    num_hidden_layers: Layers | None = None
    n_layers: Layers | None = None
    num_attention_heads: Size | None = None
    n_heads: Size | None = None
    pad_token_id: TokenId | None = None
    id2label: dict[str, Any] | None = None


@dataclass(frozen=True)
class TokenizerConfig:
    """tokenizer_config.json"""

    tokenizer_class: str | None = None
    model_max_length: Annotated[int, Meta(ge=1)] | float | None = None
    model_input_names: list[str] | None = None
    auto_map: object = None


@dataclass(frozen=True)
class AddedToken:
    """A token beside the vocabulary, in tokenizer.json."""

    id: TokenId
    content: str


@dataclass(frozen=True)
class TokenizerFile:
    """tokenizer.json; the library of tokenizers checks the rest."""

    model: dict[str, Any]
    added_tokens: list[AddedToken] | None = None
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    post_processor: dict[str, Any] | None = None


#: special_tokens_map.json: a token is its text, or an object with it.
SpecialTokens = dict[str, str | dict[str, Any] | list[str | dict[str, Any]] | None]


@dataclass(frozen=True)
class Module:
    """A part of a model of sentence-transformers or PyLate, in modules.json."""

    type: str
    path: str = ""

    @property
    def name(self) -> str:
        """The last part of its type: `Pooling`."""
        return self.type.rsplit(".", 1)[-1]


@dataclass(frozen=True)
class Pooling:
    """The config of a Pooling module: in its newer form a name, in its older a flag for each way."""

    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False
    include_prompt: bool = True

    @property
    def mode(self) -> str:
        """`cls`, `mean`, or what else the file says; several are joined by +."""
        if self.pooling_mode:
            return self.pooling_mode if isinstance(self.pooling_mode, str) else "+".join(self.pooling_mode)
        names = [
            one.name for one in fields(self) if one.name.startswith("pooling_mode_") and getattr(self, one.name)
        ]
        ways = [
            name.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token") for name in names
        ]
        return "+".join(ways) or "mean"


@dataclass(frozen=True)
class LengthFile:
    """sentence_bert_config.json"""

    max_seq_length: Length | None = None


@dataclass(frozen=True)
class PromptsFile:
    """config_sentence_transformers.json, of sentence-transformers and of PyLate."""

    prompts: dict[str, str | None] | None = None
    similarity_fn_name: str | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    query_length: Length | None = None
    document_length: Length | None = None
    do_query_expansion: bool | None = None
    attend_to_expansion_tokens: bool | None = None
    skiplist_words: list[str] | None = None


@dataclass(frozen=True)
class ColbertFile:
    """artifact.metadata of ColBERT"""

    query_token_id: str = "[unused0]"
    doc_token_id: str = "[unused1]"
    query_maxlen: Length = 32
    doc_maxlen: Length = 300
    attend_to_mask_tokens: bool = False
    mask_punctuation: bool = True


@dataclass(frozen=True)
class DenseFile:
    """The config of a Dense module."""

    activation_function: str | None = None


@dataclass(frozen=True)
class WeightIndex:
    """model.safetensors.index.json: which file holds which weight."""

    weight_map: dict[str, str]


@dataclass(frozen=True)
class Settings:
    """How a family reads a checkpoint: said by the checkpoint, by the catalogue, or by who loads it."""

    max_length: Length | None = None
    pooling: str | None = None
    normalise: bool | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    projection: str | None = None
    query_marker: str | None = None
    document_marker: str | None = None
    mask_token: str | None = None
    query_length: Length | None = None
    document_length: Length | None = None
    expand_queries: bool | None = None
    attend_to_expansion: bool | None = None
    skip_punctuation: bool | None = None


SETTINGS = frozenset(one.name for one in fields(Settings))


@dataclass(frozen=True)
class OwnFile:
    """whyrank.json: what a checkpoint of ours says of itself, and what a user may say of any other."""

    kind: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    source: Said | None = None
    precision: Said | None = None
    name: Said | None = None


def read_own_file(folder: Path) -> OwnFile:
    """whyrank.json, its settings checked; a setting beside `settings` would not be read, and is refused."""
    path = folder / OWN_FILE
    own: OwnFile = read_json(path, OwnFile)
    known = [one.name for one in fields(OwnFile)]
    for key in read_json(path, dict[str, Any]):
        if key not in known:
            todo = 'put it into "settings"' if key in SETTINGS else nearest(key, known)
            raise UserError(f"unknown field {quoted(key)}", where=path, todo=todo)
    check_settings(own.settings, where=path)
    return own


def check_settings(settings: Mapping[str, Any], where: Path | None = None) -> None:
    """Raises for a setting that no family has, or whose value is of another type."""
    for name in settings:
        if name not in SETTINGS:
            raise UserError(f"unknown setting {name!r}", where=where, todo=nearest(name, SETTINGS))
    try:
        typed(dict(settings), Settings)
    except NotJson as error:
        raise UserError(str(error).replace("field ", "setting ", 1), where=where) from error


def read_modules(folder: Path) -> list[Module]:
    """The modules in modules.json; none where there is no such file. Code of a checkpoint is never run, so a class
    of its own is refused; so is a path that leads out of the folder."""
    path = folder / MODULES
    modules: list[Module] = read_json(path, list[Module]) if path.exists() else []
    for module in modules:
        if module.type.split(".")[0] not in ("sentence_transformers", "pylate"):
            raise UserError(
                f"the class {module.type!r} is the checkpoint's own", where=path, todo="its code is not run"
            )
        if module.path and not is_inside(folder, module.path):
            raise UserError(f"the path {module.path!r} leads out of the folder", where=path)
    return modules


def is_inside(folder: Path, name: str) -> bool:
    """Whether a name means something below the folder, by its text: no `..`, not absolute, no NUL."""
    parts = name.replace("\\", "/").split("/")
    return (
        bool(name)
        and not name.startswith(("/", "\\"))
        and ".." not in parts
        and "\0" not in name
        and (":" not in parts[0])
    )
