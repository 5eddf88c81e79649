"""Hostile ids, texts, tokens and names through every command that writes: files stay in the run folder under plain
names, and no page, figure or table holds anything that a browser or a spreadsheet would run."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli import hostile
from tests.pages.inert import check_inert, text_of
from whyrank.cli.app import app

pytestmark = pytest.mark.security

PLAIN = re.compile(r"[\w+=,@-][\w.+=,@-]*")
RANKER, COLLECTION = f"ranker {hostile.NAME}", f"collection {hostile.NAME}"
READS = ["--ranker", RANKER, "--collection", COLLECTION]
PAIRS = ["--ranker", RANKER, "--pairs", "pairs.jsonl"]
SEARCH = ["--pairs", "tfc1.jsonl", "--threshold", "relative=0.4", "--decide", "point", "--pairs-to-heads", "8",
          "--randoms", "1", "--search-steps", "2"]  # fmt: skip
TUNES = ["--seeds", "1", "--epochs", "1", "--conditions", "full", "--depth", "8", "--max-length", "40"]
TRAINS = ["--backbone", RANKER, "--collection", COLLECTION, "--folds", "1", "--seeds", "1", "--set", "epochs=1",
          "--set", "max_length=40"]  # fmt: skip
COMMANDS = {
    "rank": ["rank", *READS],
    "audit": ["audit", *READS, "--documents", "4", "--no-wordnet"],
    "audit of pairs": ["audit", *READS, "--pairs", "pairs.jsonl"],
    "patch": ["patch", *PAIRS],
    "patch by category": ["patch", *PAIRS, "--sites", "blocks", "--by", "category"],
    "patch by position": ["patch", *PAIRS, "--sites", "0.1,1.2", "--by", "position"],
    "patch, attribution": ["patch", *PAIRS, "--method", "attribution", "--check", "4"],
    "circuit": ["circuit", *PAIRS, "--select", "gap", *SEARCH],
    "semantic-bm": ["semantic-bm", *READS, "--heads", "0.3,1.1"],
    "idf": ["idf", *READS, "--vectors", "2"],
    "edit": ["edit", *READS, "--up", "red=5", "--up", f"{hostile.MARKUP[0]}=5", "--preview"],
    "edit, experiment": ["edit", *READS, "--experiment"],
    "suppress": ["suppress", *READS, "--terms", "list.txt", "--documents", "3", "--scales", "1,10,100"],
    "align": ["align", *READS, "--preview"],
    "finetune": ["finetune", *READS, *TUNES],
    "train": ["train", "--model", "dgre", *TRAINS],
    "demo": ["demo", "--ranker", RANKER],
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder deep in another, with all that the commands read."""
    folder = tmp_path_factory.mktemp("hostile") / "a" / "b" / "c" / "d" / "here"
    folder.mkdir(parents=True)
    hostile.ranker(folder / RANKER)
    hostile.collection(folder / COLLECTION)
    hostile.pairs(folder / "pairs.jsonl")
    hostile.pairs(folder / "tfc1.jsonl", "TFC1")
    (folder / "list.txt").write_text("\n".join(["red", "blue", *hostile.MARKUP]) + "\n")
    return folder


def run_here(place, monkeypatch, name, command):
    """Runs a command in this process; returns its run folder, all that is new elsewhere, and what it printed."""
    out = f"out {name}".replace(",", "").replace(" ", "-")
    words = [*command, "-o", out]
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["whyrank", *words])
    top = place.parents[4]
    before = set(top.rglob("*"))
    app(words, prog_name="whyrank", standalone_mode=False)
    new = set(top.rglob("*")) - before - {place / out}
    return place / out, {path for path in new if place / out not in path.parents}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_input_stays_text(place, monkeypatch, name):
    out, elsewhere = run_here(place, monkeypatch, name, COMMANDS[name])
    assert not elsewhere, "all that is written is in the run folder"
    names = [path.name for path in out.rglob("*")]
    assert names and all(PLAIN.fullmatch(one) for one in names), names
    pages = [path for path in out.rglob("*") if path.suffix in (".html", ".svg")]
    assert bool(pages) == (name != "rank")
    for page in pages:
        check_inert(page)
    for card in out.rglob("*.md"):
        assert "<img" not in card.read_text()
    if name not in ("rank", "demo"):
        assert "onerror='alert(10)'>" in text_of((out / "report.html").read_text()), "it is there, as text"


def term_frequency(out):
    from tests.papers.test_term_frequency_study import SMALL
    from whyrank.papers.term_frequency.study import study

    study(RANKER, COLLECTION, out=out, sizes=replace(SMALL, max_length=40))


def semantic_circuit(out):
    from tests.papers.test_semantic_circuit import SMALL, run_small

    run_small(RANKER, COLLECTION, out, replace(SMALL, max_length=40, queries=12), terms=Path("list.txt"))


def disentangled(out):
    from tests.papers.test_disentangled_study import TINY
    from whyrank.papers.disentangled.study import DisentangledStudy, run_disentangled, training_setup

    setup = training_setup(COLLECTION, RANKER, replace(TINY, folds=1, seeds=1, max_length=40))
    run_disentangled(DisentangledStudy(setup, models=("bm25", "drmm", "bert", "lgre", "dgre")), out)


@pytest.mark.slow
@pytest.mark.parametrize("study", [term_frequency, semantic_circuit, disentangled])
def test_hostile_input_of_a_study_stays_text(place, monkeypatch, study):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "argv", ["whyrank", "study", RANKER, COLLECTION])
    out, top = Path(study.__name__), place.parents[4]
    before = set(top.rglob("*"))
    study(out)
    new = {path.relative_to(place / out) for path in set(top.rglob("*")) - before - {place / out}}
    assert all(PLAIN.fullmatch(part) for path in new for part in path.parts), "in the run folder, plainly named"
    for page in (path for path in out.rglob("*") if path.suffix in (".html", ".svg")):
        check_inert(page)
    assert "onerror='alert(10)'>" in text_of((out / "report.html").read_text())
