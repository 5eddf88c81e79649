"""The code in README and docs runs, and what README says the demo prints is what it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: `make test` runs README's Python; its commands and the code of the other pages take minutes.
_PARAMETERS = [PAGES[0], *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[1:])]
EACH_PAGE = pytest.mark.parametrize("page", _PARAMETERS, ids=[page.name for page in PAGES])


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def run(*command: str, cwd: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=cwd, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@EACH_PAGE
def test_python_blocks_run(page, tmp_path, real):
    for code in blocks(page, "python"):
        real("ce-minilm-l12"), real("bi-minilm-l6")
        run(sys.executable, "-c", code, cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_whyrank_commands_run(page, tmp_path, real):
    for code in blocks(page, "sh"):
        if re.search(r"^whyrank", code, flags=re.M):
            real("bi-minilm-l6"), real("bi-minilm-l3")
            run("bash", "-euc", code, cwd=tmp_path)


@pytest.mark.slow
def test_readme_shows_what_the_demo_prints(tmp_path, real):
    real("ce-minilm-l12")
    printed = " ".join(run("whyrank", "demo", cwd=tmp_path).split())
    (shown,) = blocks(ROOT / "README.md", "text")
    for line in shown.strip().splitlines():
        assert " ".join(line.split()) in printed


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
