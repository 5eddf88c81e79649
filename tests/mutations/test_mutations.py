"""1,000 damaged inputs over all kinds: each is read rightly or refused in one line that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import torch

from tests.mutations.campaign import Campaign, table
from tests.mutations.in_process import Ended, run
from tests.mutations.kind import Kind
from tests.mutations.kinds import KINDS
from tests.mutations.texts import mutated_file
from tests.mutations.verdict import judge

COUNT, SEED = 1000, 0


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Campaign]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # models of some thousand weights
    yield Campaign(tmp_path_factory.mktemp("mutations"), KINDS, SEED)
    torch.set_num_threads(threads)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name.replace(" ", "-") for kind in KINDS])
def test_damaged_inputs_are_read_rightly_or_refused_in_one_line(campaign: Campaign, kind: Kind) -> None:
    assert campaign.undamaged(kind).kind == "accepted"
    tried = [campaign.tried(kind, number) for number in range(campaign.count(kind, COUNT))]
    assert not [str(one) for one in tried if one.failed]
    assert len({one.damage for one in tried}) > len(tried) // 3, "the damages are hardly different"


def test_all_kinds_together_are_a_thousand_inputs(campaign: Campaign) -> None:
    assert COUNT <= sum(campaign.count(kind, COUNT) for kind in KINDS) <= COUNT + len(KINDS)


def test_the_same_seed_makes_the_same_damage() -> None:
    content = b'{"a": [1, 2, {"b": "c"}]}'
    assert mutated_file("a.json", content, Random("7")) == mutated_file("a.json", content, Random("7"))


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        (Ended(0, "", ""), "accepted"),
        (Ended(2, "", "reading\nwhyrank: run.trec:3: not a score\n"), "refused"),
        (Ended(1, "", "whyrank: this is a bug", "Traceback ...\nKeyError: 'x'"), "traceback"),
        (Ended(0, "", "x.py:3: RuntimeWarning: divide by zero"), "traceback"),
        (Ended(2, "", "whyrank: not a score\n"), "bad refusal"),
        (Ended(2, "", "whyrank: run.trec: one\nwhyrank: run.trec: two\n"), "bad refusal"),
        (Ended(2, "", f"whyrank: run.trec: {'x' * 5000}\n"), "bad refusal"),
    ],
)
def test_verdicts(ended: Ended, verdict: str, tmp_path: Path) -> None:
    assert judge(ended, tmp_path, ["run.trec"]).kind == verdict


def test_a_result_with_nan_is_bad_output(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"mean": NaN}', encoding="utf-8")
    assert judge(Ended(0, "", ""), tmp_path, []).kind == "bad output"


def test_a_command_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whyrank.collections.opening.open_collection", lambda *_: [0 for _ in iter(int, 1)])
    ended = run(["rank", "--ranker", "bm25", "--collection", "x", "-o", "out"], tmp_path, seconds=1)
    assert ended.traceback and "Hung" in ended.traceback


def test_the_table_has_a_row_per_kind_and_one_for_all(campaign: Campaign) -> None:
    tried = [campaign.tried(kind, 0) for kind in KINDS[:2]]
    head, *rows = table(tried).splitlines()
    assert head.split() == ["kind", "inputs", "refused", "accepted", "failures"]
    assert [row.split()[0] for row in rows] == ["BEIR", "TREC", "all"]
    assert rows[-1].split()[1] == "2"
