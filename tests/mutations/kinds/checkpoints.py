"""Checkpoints of every family, ours and others', read by `rank`."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import save
from tests.edits.dialed import cross_encoder, idf_file
from tests.learning.small import checkpoint
from tests.mutations.in_process import run
from tests.mutations.kind import Kind
from tests.mutations.kinds.small import write_first_stage, write_tsv
from tests.tiny import tiny_model

RANK = ("rank", "--ranker", "ranker", "--collection", "tsv", "--run", "first.trec", "-o", "out")


def with_texts(folder: Path) -> Path:
    """Two queries of three documents."""
    write_tsv(folder / "tsv")
    write_first_stage(folder / "first.trec", queries=2)
    return folder / "ranker"


def _cross_encoder(folder: Path) -> None:
    checkpoint(with_texts(folder))


def _other_architecture(folder: Path) -> None:
    checkpoint(with_texts(folder), "modernbert")


def _bi_encoder(folder: Path) -> None:
    ranker = save(with_texts(folder))
    types = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (name, path) in enumerate(
            [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
        )
    ]
    _json(ranker / "modules.json", types)
    (ranker / "1_Pooling").mkdir()
    _json(ranker / "1_Pooling" / "config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    _json(
        ranker / "config_sentence_transformers.json",
        {"prompts": {"query": "the ", "document": ""}, "similarity_fn_name": "cosine"},
    )
    _json(ranker / "sentence_bert_config.json", {"max_seq_length": 12, "do_lower_case": False})


def _late_interaction(folder: Path) -> None:
    ranker = save(with_texts(folder))
    weights = {f"bert.{name}": value for name, value in tiny_model("bert").state_dict().items()}
    projection = torch.randn(5, 16, generator=torch.Generator().manual_seed(0))
    save_file({**weights, "linear.weight": projection}, str(ranker / "model.safetensors"))
    _json(ranker / "artifact.metadata", {"query_token_id": "[unused0]", "query_maxlen": 9, "doc_maxlen": 20})


def _sparse(folder: Path) -> None:
    save(with_texts(folder), "distilbert", "AutoModelForMaskedLM")


def _described(folder: Path) -> None:
    """A folder with a whyrank.json, as the mirrors make it."""
    checkpoint(with_texts(folder))
    own = {
        "kind": "cross-encoder",
        "source": "made for a test",
        "precision": "float32",
        "settings": {"max_length": 16},
    }
    _json(folder / "ranker" / "whyrank.json", own)


def _in_parts(folder: Path) -> None:
    """Weights in several files, which an index names; the vocabulary as BERT's text file."""
    ranker = checkpoint(with_texts(folder))
    weights = load_file(str(ranker / "model.safetensors"))
    parts = {f"model-{i + 1:05d}-of-00002.safetensors": list(weights)[i::2] for i in range(2)}
    for name, some in parts.items():
        save_file({one: weights[one] for one in some}, str(ranker / name), metadata={"format": "pt"})
    size = sum(weight.numel() * weight.element_size() for weight in weights.values())
    places = {one: name for name, some in parts.items() for one in some}
    _json(ranker / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": places})
    (ranker / "model.safetensors").unlink()
    _vocabulary_file(ranker)


def _pickled(folder: Path) -> None:
    """Weights as torch saves them."""
    ranker = checkpoint(with_texts(folder))
    torch.save(load_file(str(ranker / "model.safetensors")), ranker / "pytorch_model.bin")
    (ranker / "model.safetensors").unlink()


def _vocabulary_file(ranker: Path) -> None:
    known = json.loads((ranker / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (ranker / "vocab.txt").write_text("".join(f"{word}\n" for word in known), encoding="utf-8")
    (ranker / "tokenizer.json").unlink()
    _json(ranker / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "model_max_length": 24})


def _edited(folder: Path) -> None:
    """A checkpoint that was edited before, and an IDF to edit it by."""
    idf_file(cross_encoder(folder / "plain"), folder / "idf.tsv")
    done = run(["edit", "--ranker", "plain", "--idf", "idf.tsv", "--up", "cat=2", "--save", "ranker"], folder)
    assert done.code == 0, done


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


#: Weights are a file in ten: their own mutations are few.
JSON_FILES = ["ranker/*.json", "ranker/*/*.json", "ranker/*.metadata"]
KINDS = [
    Kind("cross-encoder", _cross_encoder, [*JSON_FILES, "ranker/*.safetensors"], RANK, 120),
    Kind("ModernBERT", _other_architecture, [*JSON_FILES, "ranker/*.safetensors"], RANK, 50),
    Kind("bi-encoder", _bi_encoder, JSON_FILES, RANK, 90),
    Kind("late interaction", _late_interaction, [*JSON_FILES, "ranker/*.safetensors"], RANK, 60),
    Kind("sparse", _sparse, JSON_FILES, RANK, 40),
    Kind(
        "weights in parts", _in_parts,
        ["ranker/*.index.json", "ranker/*.safetensors", "ranker/vocab.txt", "ranker/tokenizer_config.json"],
        RANK, 40,
    ),
    Kind("pickled weights", _pickled, ["ranker/*.bin"], RANK, 15),
    Kind("whyrank.json", _described, ["ranker/whyrank.json"], RANK, 30),
    Kind(
        "edited checkpoint", _edited, ["ranker/edits.json"],
        ["edit", "--ranker", "ranker", "--idf", "idf.tsv", "--up", "cat=3", "--save", "out"], 20,
    ),
    Kind(
        "IDF", _edited, ["idf.tsv"],
        ["edit", "--ranker", "plain", "--idf", "idf.tsv", "--up", "cat=3", "--save", "out"], 20,
    ),
]  # fmt: skip
