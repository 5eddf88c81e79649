"""What every command wrote before the layout was moved, it writes now, but for what is meant."""

import importlib
import shutil
from contextlib import nullcontext
from fnmatch import fnmatch
from unittest import mock

import pytest
import torch

from tests.cli.run import whyrank_here
from tests.golden.cases import CASES, FROZEN, INPUTS, QUICK
from tests.golden.compare import differences
from tests.golden.digest import Digest
from tests.golden.meant import MEANT

REAL = ("bi-minilm-l3", "bi-minilm-l6", "ce-minilm-l12")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    shutil.copytree(INPUTS, folder / "inputs")
    return folder


@pytest.fixture(autouse=True)
def as_when_frozen(monkeypatch):
    """One thread, and products by MKL: another order of sums moves shares of a gap that nearly cancels."""
    monkeypatch.setattr("whyrank.encoders.linear.onednn_is_faster", lambda: False)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def run(case, place):
    """The folder that the present command writes."""
    folder = place / case.name
    if not folder.exists():
        case.prepare(place / "inputs")
        if case.out:
            folder.mkdir()
        with small(case.sizes):
            whyrank_here(*case.words(case.now))
    return folder


def small(sizes):
    if sizes is None:
        return nullcontext()
    kind = getattr(importlib.import_module(sizes.now), sizes.name)
    return mock.patch.object(kind, "quick", lambda: kind(**sizes.arguments))


def frozen(case):
    return FROZEN / f"{case.name}.json.gz"


def marked(case):
    return pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow)


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_the_numbers_are_what_they_were(case, place, real, monkeypatch):
    for name in REAL:
        if name in case.now:
            real(name)
    monkeypatch.chdir(place)
    for other in CASES:
        if other.name in case.reads:
            run(other, place)
    present = Digest.of(run(case, place))
    whats = [one.what for one in MEANT if fnmatch(case.name, one.case)]

    def meant(line):
        return any(fnmatch(line, what) for what in whats)

    left = [one for one in differences(Digest.read(frozen(case)), present, meant) if not meant(one)]
    assert not left, f"{len(left)} differences:\n" + "\n".join(left[:60])
