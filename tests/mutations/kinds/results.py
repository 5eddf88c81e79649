"""Results that other commands read: trained models, circuits, semantic-bm's, runs of patch, finished folders."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.checkpoints import save
from tests.learning.small import COLLECTION, checkpoint, write_collection
from tests.mutations.kind import Kind
from tests.mutations.kinds.checkpoints import RANK, with_texts
from tests.mutations.kinds.small import done
from tests.mutations.kinds.words import PATCH, pairs_file
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.network import Ingredients
from whyrank.learning.saved import save_trained
from whyrank.rankers.find import find_checkpoint

SEMANTIC_BM = ("semantic-bm", "--ranker", "ranker", "--collection", "beir", "--depth", "4", "--min-samples", "5")


def _trained(model: str, folder: Path) -> None:
    """A network of this model, saved as `train` saves it."""
    ranker = with_texts(folder)
    backbone = replace(find_checkpoint(str(save(folder / "backbone"))), settings={})
    kind = model_class(model)
    save_trained(
        kind.of(kind.Settings(max_length=24), Ingredients(backbone, COLLECTION)), backbone, ranker, {"epochs": 1}
    )


def _fitted(folder: Path) -> None:
    """A run of semantic-bm, which names its ranker by where it is: made where it is read."""
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    done(folder, *SEMANTIC_BM, "--heads", "0.1,1.1", "-o", "fitted")
    text = (folder / "fitted" / "semantic_bm.json").read_text(encoding="utf-8")
    text = text.replace(str(folder.resolve() / "ranker"), "ranker")
    (folder / "fitted" / "semantic_bm.json").write_text(text, encoding="utf-8")


def _circuit(folder: Path) -> None:
    pairs_file(folder)
    how = ["--pairs-to-logits", "3", "--pairs-to-heads", "3", "--randoms", "1", "--search-steps", "2"]
    done(folder, "circuit", "--ranker", "ranker", "--pairs", "tfc1.jsonl", *how, "-o", "circuit")
    path = folder / "circuit" / "circuit.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    found["roles"]["matching"] = ["L0.H1", "L1.H2"]  # three queries are too few to find any
    path.write_text(json.dumps(found), encoding="utf-8")


def _patched(folder: Path) -> None:
    pairs_file(folder)
    done(folder, *PATCH[:-3], "-o", "other", "--pairs", "tfc1.jsonl")


def _ranked(folder: Path) -> None:
    with_texts(folder)
    done(folder, *RANK_BM25)


def _fully_trained(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    done(folder, *TRAIN)


def _tuned(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    done(folder, *FINETUNE)


RANK_BM25 = ("rank", "--ranker", "bm25", "--collection", "tsv", "--run", "first.trec", "-o", "out")
FINETUNE = (
    "finetune", "--ranker", "ranker", "--collection", "beir", "--conditions", "embeddings", "--seeds", "1",
    "--epochs", "1", "--depth", "20", "--queries", "10", "-o", "out",
)  # fmt: skip
TRAIN = (
    "train", "--model", "bert", "--backbone", "ranker", "--collection", "beir", "--folds", "1", "--seeds", "1",
    "--depth", "20", "--queries", "10", "--set", "epochs=1", "--set", "max_length=24", "-o", "out",
)  # fmt: skip
TRAINED = ["ranker/*.json", "ranker/*.safetensors"]
KINDS = [
    *(Kind(f"trained {name}", lambda f, name=name: _trained(name, f), TRAINED, RANK, 25)
      for name in ("bert", "dgre", "drmm")),
    Kind(
        "semantic-bm", _fitted, ["fitted/semantic_bm.json"],
        ["rank", "--ranker", "semantic-bm:fitted", "--collection", "beir", "--depth", "2", "--queries", "2",
         "-o", "out"], 40,
    ),
    Kind(
        "circuit.json", _circuit, ["circuit/circuit.json"],
        [*SEMANTIC_BM, "--circuit", "circuit", "-o", "out"], 15,
    ),
    Kind(
        "patch --compare", _patched, ["other/summary.json", "other/effects.parquet"],
        [*PATCH, "tfc1.jsonl", "--compare", "other"], 40,
    ),
    Kind("finished rank", _ranked, ["out/*.json", "out/*.trec"], RANK_BM25, 30, result="out/run.trec"),
    Kind("finished train", _fully_trained, ["out/*.json"], TRAIN, 10, result="out/train.json"),
    Kind("finished finetune", _tuned, ["out/*.json"], FINETUNE, 10, result="out/finetune.json"),
]  # fmt: skip
