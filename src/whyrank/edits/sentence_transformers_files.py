"""The files by which sentence-transformers knows how a bi-encoder pools, normalises and prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whyrank.core.atomic import write_json
from whyrank.core.json_file import read_json
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.checkpoint_files import LENGTH, MODULES, PROMPTS
from whyrank.rankers.kinds import detect


def write_sentence_transformers_files(ranker: BiEncoder, folder: Path) -> None:
    """Makes the folder say what the ranker does, unless its files say so already."""
    if not (folder / MODULES).exists() or detect(folder).settings != _told(ranker):
        _write_modules(ranker, folder)


def _told(ranker: BiEncoder) -> dict[str, Any]:
    """The ranker's settings, as `detect` reads them from such files."""
    return {
        "pooling": ranker.pooling,
        "normalise": ranker.normalise,
        "query_prefix": ranker.prefixes["query"],
        "document_prefix": ranker.prefixes["document"],
        "max_length": ranker.max_length,
    }


def _write_modules(ranker: BiEncoder, folder: Path) -> None:
    names = ["Transformer", "Pooling", *(["Normalize"] if ranker.normalise else [])]
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": f"{i}_{name}" if i else "",
            "type": f"sentence_transformers.models.{name}",
        }
        for i, name in enumerate(names)
    ]
    write_json(folder / MODULES, modules)
    for module in modules[1:]:
        (folder / str(module["path"])).mkdir(exist_ok=True)
    pooling = {
        "word_embedding_dimension": ranker.encoder.width,
        "pooling_mode_cls_token": ranker.pooling == "cls",
        "pooling_mode_mean_tokens": ranker.pooling == "mean",
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    }
    write_json(folder / "1_Pooling" / "config.json", pooling)
    write_json(folder / LENGTH, {"max_seq_length": ranker.max_length, "do_lower_case": False})
    known = read_json(folder / PROMPTS, dict[str, Any]) if (folder / PROMPTS).exists() else {}
    prompts = {**(known.get("prompts") or {}), **ranker.prefixes}
    similarity = "cosine" if ranker.normalise else "dot"
    write_json(folder / PROMPTS, {**known, "prompts": prompts, "similarity_fn_name": similarity})
