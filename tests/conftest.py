"""Real models for the tests: in CI a missing one is a failure, elsewhere a skip."""

import os
from collections.abc import Callable
from functools import cache

import pytest
import torch

from whyrank.core.errors import UserError
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker

if "PYTEST_XDIST_WORKER" in os.environ:  # one core a worker, and for the commands it runs
    os.environ.setdefault("OMP_NUM_THREADS", "1")
#: Real models that only `make test-long` fetches; a test whose parameter `name` is one of these is slow.
LONG = ("bi-bge-small", "bi-e5-small", "bi-mpnet-base", "li-colbert-small")
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        call = getattr(item, "callspec", None)
        if call is not None and call.params.get("name") in LONG:
            item.add_marker(pytest.mark.slow)


@cache
def _load(name: str) -> Ranker:
    return load(name)


@pytest.fixture
def real() -> Callable[[str], Ranker]:
    """Loads a real ranker by its short name, once for all tests."""

    def loaded(name: str) -> Ranker:
        try:
            return _load(name)
        except UserError as error:
            if os.environ.get("CI"):
                raise
            pytest.skip(f"{name} cannot be had here: {error}")

    return loaded
