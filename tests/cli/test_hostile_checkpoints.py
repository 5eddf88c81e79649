"""Checkpoints that would run code, or reach out of their folder, through the commands that open and save them."""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.edits.dialed import idf_file
from tests.learning.small import checkpoint, cross_encoder, write_collection
from whyrank.cli.app import app
from whyrank.core.errors import UserError

pytestmark = pytest.mark.security

WEIGHTS = "model.safetensors"
PAIR = '{"id": "1", "query": "cat", "baseline": "the cat sat", "perturbed": "the dog sat"}\n'


class Runs:
    """Unpickled, it leaves a folder: the sign that code was run."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.sign),)


def change(folder: Path, name: str, **fields: Any) -> None:
    path = folder / name
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, **fields}))


def bare_pickle(folder: Path, sign: Path) -> None:
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(sign), protocol=2))


def torch_pickle(folder: Path, sign: Path) -> None:
    weights: dict[str, Any] = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    torch.save({**weights, "more": Runs(sign)}, folder / "pytorch_model.bin")


def pickled_shard(folder: Path, sign: Path) -> None:
    weights: dict[str, Any] = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    shard = "pytorch_model-00001-of-00001.bin"
    torch.save({**weights, "more": Runs(sign)}, folder / shard)
    change(
        folder, "pytorch_model.bin.index.json", metadata={}, weight_map=dict.fromkeys([*weights, "more"], shard)
    )


def remote_model(folder: Path, _: Path) -> None:
    change(folder, "config.json", auto_map={"AutoConfig": "hostile.Own", "AutoModel": "hostile.Own"})


def remote_model_of_a_type_of_its_own(folder: Path, _: Path) -> None:
    remote_model(folder, _)
    change(folder, "config.json", model_type="hostile", architectures=["Own"])


def remote_tokenizer(folder: Path, _: Path) -> None:
    change(folder, "tokenizer_config.json", auto_map={"AutoTokenizer": ["hostile.Own", None]})


def own_module(folder: Path, _: Path) -> None:
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": "hostile.Own"}]))


def module_outside(folder: Path, _: Path) -> None:
    first = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    second = {"idx": 1, "name": "1", "path": "../outside", "type": "sentence_transformers.models.Pooling"}
    (folder / "modules.json").write_text(json.dumps([first, second]))


def weights_outside(folder: Path, _: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).rename(folder.parent / "outside" / WEIGHTS)
    change(
        folder, f"{WEIGHTS}.index.json", metadata={}, weight_map=dict.fromkeys(weights, f"../outside/{WEIGHTS}")
    )


def own_activation(folder: Path, _: Path) -> None:
    change(folder, "config.json", sentence_transformers={"activation_fn": "hostile.Own"})


def old_activation(folder: Path, _: Path) -> None:
    change(folder, "config.json", sbert_ce_default_activation_function="hostile.Own")


COMMANDS = {
    "rank": "rank --ranker R --collection C --depth 2 --queries 1 -o OUT",
    "patch": "patch --ranker R --pairs P -o OUT",
    "edit": "edit --ranker R --idf I --up cat=5 --save OUT",
    "train": "train --model bert --backbone R --collection C --folds 1 --seeds 1 --set epochs=1 -o OUT",
}
EVERY, NONE = frozenset(COMMANDS), frozenset[str]()
#: What is wrong with a checkpoint -> the commands that must refuse it; the others may ignore it, but not obey.
HOSTILE: dict[Callable[[Path, Path], None], frozenset[str]] = {
    bare_pickle: EVERY,
    torch_pickle: EVERY,
    pickled_shard: EVERY,
    remote_model: EVERY,
    remote_model_of_a_type_of_its_own: EVERY,
    remote_tokenizer: EVERY,
    own_module: EVERY - {"train"},
    module_outside: EVERY - {"train"},
    weights_outside: EVERY,
    own_activation: NONE,
    old_activation: NONE,
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a checkpoint and what the commands need; the checkpoint's own module could be imported."""
    write_collection(tmp_path / "C")
    (tmp_path / "P").write_text(PAIR)
    (tmp_path / "outside").mkdir()
    code = f"import os\nos.mkdir({str(tmp_path / 'sign')!r})\nclass Own: pass\n"
    (checkpoint(tmp_path / "R") / "hostile.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path / "R"))
    monkeypatch.delitem(sys.modules, "hostile", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> None:
    app(command.split(), prog_name="whyrank", standalone_mode=False)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda change: change.__name__)
def test_no_code_of_a_checkpoint_is_run_and_nothing_outside_it_is_read(
    hostile: Callable[[Path, Path], None], command: str, place: Path
) -> None:
    if command == "edit":
        idf_file(cross_encoder(place / "same"), place / "I")
    hostile(place / "R", place / "sign")
    try:
        run(COMMANDS[command])
    except UserError:
        assert not (place / "OUT").exists()
    else:
        assert command not in HOSTILE[hostile], "it was not refused"
    assert not (place / "sign").exists(), "code was run"


@pytest.mark.parametrize("name", ["vocab.txt", "1_Pooling", "1_Pooling/more.json"])
def test_a_link_to_a_file_outside_is_not_copied_into_a_saved_checkpoint(name: str, place: Path) -> None:
    idf_file(cross_encoder(place / "R"), place / "I")
    (place / "outside" / "secret.json").write_text('"secret"')
    link = place / "R" / name
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(place / "outside" / ("" if name == "1_Pooling" else "secret.json"))
    with pytest.raises(UserError, match="a link out of the checkpoint") as caught:
        run(COMMANDS["edit"])
    assert caught.value.where in (str(link), str(link / "secret.json"))
    assert not (place / "OUT").exists()


def test_links_of_the_hub_cache_are_copied(place: Path) -> None:
    """There, every file of a snapshot is a link to one that lies beside it."""
    idf_file(cross_encoder(place / "R"), place / "I")
    snapshot, blobs = place / "models--a--b" / "snapshots" / "0123", place / "models--a--b" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, file in enumerate(sorted((place / "R").iterdir())):
        file.rename(blobs / str(number))
        (snapshot / file.name).symlink_to(Path("..", "..", "blobs", str(number)))
    run(COMMANDS["edit"].replace("--ranker R", f"--ranker {snapshot}"))
    assert (place / "OUT" / "tokenizer.json").is_file()
    assert not any(path.is_symlink() for path in (place / "OUT").rglob("*"))
