"""Run folders of commands that were killed: claims, shards, stages, the checkpoints and histories of trainings."""

from __future__ import annotations

from pathlib import Path

from tests.edits.dialed import cross_encoder, idf_file
from tests.learning.small import checkpoint, write_collection
from tests.mutations.kind import Kind
from tests.mutations.kinds.checkpoints import RANK, with_texts
from tests.mutations.kinds.results import FINETUNE, SEMANTIC_BM, TRAIN
from tests.mutations.kinds.small import killed
from tests.mutations.kinds.words import PATCH, pairs_file

EDIT = (
    "edit", "--ranker", "ranker", "--idf", "idf.tsv", "--up", "cat=5", "--preview", "--collection", "tsv", "--run",
    "first.trec", "-o", "out",
)  # fmt: skip
CIRCUIT = (
    "circuit", "--ranker", "ranker", "--pairs", "tfc1.jsonl", "--pairs-to-logits", "3", "--pairs-to-heads", "3",
    "--randoms", "1", "--search-steps", "2", "-o", "out",
)  # fmt: skip


def _rank(folder: Path) -> None:
    checkpoint(with_texts(folder))
    killed(folder, "whyrank.rankers.api.write_run", *RANK)


def _edit(folder: Path) -> None:
    idf_file(cross_encoder(with_texts(folder)), folder / "idf.tsv")
    killed(folder, "whyrank.edits.report.preview_page", *EDIT)


def _patch(folder: Path) -> None:
    pairs_file(folder)
    killed(folder, "whyrank.interventions.report.effects_page", *PATCH, "tfc1.jsonl")


def _circuit(folder: Path) -> None:
    pairs_file(folder)
    killed(folder, "whyrank.circuits.report.circuit_page", *CIRCUIT)


def _semantic_bm(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    killed(
        folder,
        "whyrank.circuits.semantic_bm.report.semantic_bm_page",
        *SEMANTIC_BM,
        "--heads",
        "0.1",
        "-o",
        "out",
    )


def _finetune(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    killed(folder, "whyrank.learning.finetuning.api.tables", *FINETUNE)


def _train(folder: Path) -> None:
    checkpoint(folder / "ranker")
    write_collection(folder / "beir")
    killed(folder, "whyrank.learning.api.training_result", *TRAIN)


LEFT = ["out/.*.json", "out/.*/*", "out/.*/**/*"]
KINDS = [
    Kind("interrupted rank", _rank, LEFT, RANK, 30, result="out/run.trec"),
    Kind("interrupted edit", _edit, LEFT, EDIT, 20, result="out/edit.json"),
    Kind("interrupted patch", _patch, LEFT, [*PATCH, "tfc1.jsonl"], 20, result="out/summary.json"),
    Kind("interrupted circuit", _circuit, LEFT, CIRCUIT, 4, result="out/circuit.json"),
    Kind(
        "interrupted semantic-bm", _semantic_bm, LEFT,
        [*SEMANTIC_BM, "--heads", "0.1", "-o", "out"], 10, result="out/semantic_bm.json",
    ),
    Kind("interrupted finetune", _finetune, LEFT, FINETUNE, 12, result="out/finetune.json"),
    Kind("interrupted train", _train, LEFT, TRAIN, 12, result="out/train.json"),
]  # fmt: skip
