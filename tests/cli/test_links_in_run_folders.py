"""A link in a run folder is refused by every command: what it leads to is neither believed nor changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.edits.dialed import idf_file
from tests.learning.small import cross_encoder, write_collection
from tests.learning.tiny_training import still_backbone
from whyrank.cli.app import app
from whyrank.core.errors import UserError

pytestmark = pytest.mark.security

PAIR = '{"id": "1", "query": "cat", "baseline": "the cat sat", "perturbed": "the dog sat"}\n'
#: Every command with a run folder, but for the studies, which are made of these.
COMMANDS = {
    "rank": "rank --ranker bm25 --collection C --depth 3",
    "eval": "eval RUN --qrels C",
    "audit": "audit --ranker R --collection C --axiom TFC1 --documents 2",
    "patch": "patch --ranker R --pairs PAIRS",
    "circuit": "circuit --ranker R --pairs PAIRS",
    "semantic-bm": "semantic-bm --ranker R --collection C --heads 0.1",
    "idf": "idf --ranker R --collection C",
    "edit": "edit --ranker R --idf IDF --up cat=5 --preview --collection C",
    "suppress": "suppress --ranker R --idf IDF --terms TERMS --collection C",
    "align": "align --ranker R --idf IDF --collection C --preview",
    "finetune": "finetune --ranker R --collection C",
    "train": "train --model bert --backbone B --collection C --folds 3",
    "demo": "demo",
}
#: Kept work, which would be taken up; results, which would be written; the manifest, which would be believed.
LINKS = [".shards-0123", "report.html", "manifest.json"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "pairs.jsonl").write_text(PAIR)
    (folder / "terms.txt").write_text("cat\n")
    collection = write_collection(folder / "collection")
    run(f"rank --ranker bm25 --collection {collection} --depth 3 -o {folder / 'run'}")
    idf_file(cross_encoder(folder / "ranker"), folder / "idf.tsv")
    paths = {
        "R": folder / "ranker",
        "IDF": folder / "idf.tsv",
        "C": collection,
        "B": still_backbone(folder),
        "RUN": folder / "run",
        "PAIRS": folder / "pairs.jsonl",
        "TERMS": folder / "terms.txt",
    }
    return {name: str(path) for name, path in paths.items()}


def run(command: str) -> None:
    app(command.split(), prog_name="whyrank", standalone_mode=False)


def filled(command: str, inputs: dict[str, str], out: Path) -> str:
    return " ".join(inputs.get(word, word) for word in command.split()) + f" -o {out}"


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_link_that_lies_there_is_refused(
    command: str, link: str, inputs: dict[str, str], tmp_path: Path
) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    (outside / "mine").write_text("{}")
    out.mkdir()
    (out / link).symlink_to(outside if link.startswith(".") else outside / "mine")
    with pytest.raises(UserError) as caught:
        run(filled(COMMANDS[command], inputs, out))
    assert caught.value.where in (str(out), str(out / link)), caught.value
    assert [path.name for path in outside.iterdir()] == ["mine"]
    assert (outside / "mine").read_text() == "{}"
    assert [path.name for path in out.iterdir()] == [link]


@pytest.mark.parametrize("exists", [True, False])
def test_a_result_that_was_replaced_by_a_link_is_refused(
    exists: bool, inputs: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(inputs["RUN"], out)
    target = tmp_path / "outside"
    if exists:
        shutil.copy(out / "run.trec", target)
    (out / "run.trec").unlink()
    (out / "run.trec").symlink_to(target)
    before = target.read_bytes() if exists else None
    with pytest.raises(UserError, match="a link in the run folder"):
        run(filled(COMMANDS["rank"], inputs, out))
    assert (target.read_bytes() if target.exists() else None) == before


def test_a_link_in_place_of_a_file_to_be_written_is_replaced_not_followed(
    inputs: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "pairs.jsonl").symlink_to(tmp_path / "mine")
    run(
        f"pairs --axiom TFC1 --collection {inputs['C']} --ranker {inputs['R']} --documents 2 "
        f"-o {tmp_path / 'pairs.jsonl'}"
    )
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "pairs.jsonl").is_symlink()
