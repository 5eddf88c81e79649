"""Runs and judgements go out and come back as they were."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.collections import Retrieved, read_qrels, read_run, write_qrels, write_run
from whyrank.core.errors import UserError

names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=6)
finite = st.floats(allow_nan=False, allow_infinity=False)
suffixes = st.sampled_from(["txt", "gz"])


@given(st.dictionaries(names, st.dictionaries(names, finite, min_size=1), min_size=1), names, suffixes)
def test_a_run_survives_writing_and_reading(scores: dict[str, dict[str, float]], tag: str, suffix: str) -> None:
    run = {
        qid: [Retrieved(qid, docno, rank, score, tag) for rank, (docno, score) in enumerate(found.items(), 1)]
        for qid, found in scores.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder, f"run.{suffix}"), run)
        assert read_run(Path(folder, f"run.{suffix}")) == run


@given(st.dictionaries(names, st.dictionaries(names, st.integers(-2, 4), min_size=1), min_size=1), suffixes)
def test_judgements_survive_writing_and_reading(qrels: dict[str, dict[str, int]], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_qrels(Path(folder, f"qrels.{suffix}"), qrels)
        assert read_qrels(Path(folder, f"qrels.{suffix}")) == qrels


@pytest.mark.parametrize("name", ["two words", "", "tab\tbed", " d"])
def test_an_identifier_with_blanks_is_refused_and_nothing_is_left(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot stand in a TREC file"):
        write_run(
            tmp_path / "run", {"q": [Retrieved("q", "fine", 1, 1.0, "t"), Retrieved("q", name, 2, 0.5, "t")]}
        )
    assert not list(tmp_path.iterdir())


def test_scores_of_numpy_are_written_as_plain_numbers(tmp_path: Path) -> None:
    import numpy as np

    write_run(tmp_path / "run", {"q": [Retrieved("q", "d", 1, np.float32(0.5), "t")]})  # type: ignore[arg-type]
    assert (tmp_path / "run").read_text() == "q Q0 d 1 0.5 t\n"
