"""The long commands, small: tiny random models on a small collection, a second or two each."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

from tests.circuits.test_evidence import counting_pairs
from tests.circuits.test_search import pairs
from tests.edits.dialed import cross_encoder, idf_file
from tests.edits.dialed import write_collection as write_small
from tests.kills.campaign import Command
from tests.learning.small import checkpoint, write_collection
from tests.learning.tiny_training import still_backbone
from whyrank.axioms.pair import write_pairs

#: Pairs per shard, so that small work has several.
PAIRS_PER_SHARD = 16


def _whyrank(place: Path, *arguments: str) -> None:
    """A command line, in this process; relative paths are below `place`."""
    from whyrank.cli.app import main
    from whyrank.interventions import sweep
    from whyrank.rankers import shards

    shards.PAIRS_PER_SHARD = PAIRS_PER_SHARD
    sweep.PAIRS_PER_SHARD = 4
    os.chdir(place)
    sys.argv = ["whyrank", *arguments]
    main()


def _line(name: str, prepare: Callable[[Path], object], *arguments: str) -> Command:
    """What is written is named by a whole path, since the harness counts the changes of files below `place`."""

    def work(place: Path) -> None:
        absolute = [
            str(place / word) if before in ("-o", "--save") else word
            for before, word in zip(("", *arguments), arguments, strict=False)
        ]
        _whyrank(place, *absolute)

    return Command(name, prepare, work)


def _ranker(place: Path) -> None:
    checkpoint(place / "ranker")
    write_collection(place / "beir")


def _run(place: Path) -> None:
    write_collection(place / "beir")
    ranked = (f"q{i} Q0 d{i}-{k} {k + 1} {9 - k} some" for i in range(13) for k in range(3))
    (place / "run.trec").write_text("\n".join(ranked) + "\n")


def _dialed(place: Path) -> None:
    idf_file(cross_encoder(place / "ranker"), place / "idf.tsv")
    write_small(place / "beir")
    (place / "list.txt").write_text("berlin\nblue\nslow\n")


def _circuit(place: Path) -> None:
    checkpoint(place / "ranker")
    for axiom in ("TFC1", "STMC1"):
        write_pairs(place / f"{axiom}.jsonl", pairs(axiom, 12))
    write_pairs(place / "TFC2.jsonl", counting_pairs())


def _semantic_bm(place: Path) -> None:
    _ranker(place)
    (place / "circuit").mkdir()
    roles = {"matching": ["L0.H3", "L1.H1"], "scoring": ["L2.H0"], "contextualization": []}
    (place / "circuit" / "circuit.json").write_text(json.dumps({"roles": roles}))


def _training(place: Path) -> None:
    still_backbone(place)
    write_collection(place / "beir")


def _term_frequency(place: Path) -> None:
    from whyrank.papers.term_frequency.sizes import Sizes

    few = Sizes(
        queries=4, ask=1, pairs=4, others=2, blocks=2, flow=2, counting=2, most_k=2, audit=4, max_length=32
    )
    with mock.patch.object(Sizes, "quick", lambda: few):
        how = ("--ranker", "bi-minilm-l3", "--collection", "demo", "--quick")
        _whyrank(place, "study", "term-frequency", *how, "-o", str(place / "out"))


RANKED = ("--ranker", "ranker", "--collection", "beir")
DIALED = ("--ranker", "ranker", "--idf", "idf.tsv", "--collection", "beir")
TRAINED = (
    "--backbone", "backbone", "--collection", "beir", "--folds", "3", "--seeds", "1", "--set", "epochs=2", "--set",
    "batch=6",
)  # fmt: skip
COMMANDS = [
    _line("rank", _ranker, "rank", *RANKED, "-o", "out"),
    _line("eval", _run, "eval", "run.trec", "--qrels", "beir", "-o", "out"),
    _line("pairs", _ranker, "pairs", "--axiom", "TFC1", *RANKED, "--documents", "8", "-o", "out.jsonl"),
    _line(
        "audit", _ranker, "audit", *RANKED, "--axiom", "TFC1:append", "--documents", "8", "--no-wordnet",
        "-o", "out",
    ),
    _line("patch", _circuit, "patch", "--ranker", "ranker", "--pairs", "TFC1.jsonl", "-o", "out"),
    _line(
        "circuit", _circuit, "circuit", "--ranker", "ranker", "--pairs", "TFC1.jsonl", "--pairs", "STMC1.jsonl",
        "--pairs", "TFC2.jsonl", "--pairs-to-heads", "3", "--randoms", "1", "--search-steps", "2", "--threshold",
        "deviations=0.8", "-o", "out",
    ),
    _line(
        "semantic-bm", _semantic_bm, "semantic-bm", *RANKED, "--circuit", "circuit", "--depth", "4",
        "--min-samples", "8", "-o", "out",
    ),
    _line("idf", _ranker, "idf", *RANKED, "--vectors", "2", "-o", "out"),
    _line("edit", _dialed, "edit", *DIALED, "--up", "cat=5", "--preview", "-o", "out", "--save", "new"),
    _line("align", _dialed, "align", *DIALED, "--preview", "-o", "out", "--save", "new"),
    _line("suppress", _dialed, "suppress", *DIALED, "--terms", "list.txt", "--documents", "8", "-o", "out"),
    _line(
        "finetune", _ranker, "finetune", *RANKED, "--seeds", "1", "--epochs", "1", "--batch", "8", "--depth", "8",
        "--max-length", "24", "-o", "out",
    ),
    _line("train", _training, "train", "--model", "bert", *TRAINED, "-o", "out"),
    _line("train dgre", _training, "train", "--model", "dgre", *TRAINED, "-o", "out"),
    _line("train workers", _training, "train", "--model", "bert", *TRAINED, "--workers", "2", "-o", "out"),
    Command("study term-frequency", lambda place: None, _term_frequency),
    _line(
        "study disentangled", _training, "study", "disentangled", "--quick", "--collection", "beir", "--backbone",
        "backbone", "--folds", "3", "--depth", "12", "--epochs", "2", "--batch", "8", "--max-length", "24",
        "--seeds", "1", "--positives", "1", "--only", "table1,table2", "--models", "bm25,drmm,bert", "-o", "out",
    ),
]  # fmt: skip
#: Commands that take long get this part of what the others get.
LONG = {"train workers": 0.15, "study term-frequency": 0.4, "study disentangled": 0.5}


def share_out(commands: list[Command], kills: int) -> list[tuple[Command, int]]:
    """So many kills over the commands, at least one each, fewer for those that take long."""
    weights = [LONG.get(command.name, 1.0) for command in commands]
    shares = [max(bool(kills), round(kills * weight / sum(weights))) for weight in weights]
    short = max(0, kills - sum(shares))
    largest = max(range(len(shares)), key=shares.__getitem__)
    shares[largest] += short
    return list(zip(commands, shares, strict=True))
