"""The notebooks run, show what they compute, and are what their sources say."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
EACH = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
#: Notebooks that take over a minute on one core.
LONG = ("audit_and_gate", "why_and_why_not")
#: Characters of a notebook with its figures: it is read in a browser, and its changes are reviewed.
LARGEST = 250_000
#: Runs the code cells of a notebook in one namespace; as in a notebook, the last value of a cell is shown.
RUN = """
import ast, json, sys

world = {"__name__": "__main__"}
for number, cell in enumerate(json.load(open(sys.argv[1], encoding="utf-8"))["cells"]):
    if cell["cell_type"] != "code":
        continue
    tree = ast.parse(cell["source"], f"cell {number}")
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, f"cell {number}", "exec"), world)
    if last is not None:
        shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), world)
        repr(shown), getattr(shown, "_repr_html_", str)()
"""


def cells(notebook: Path) -> list[dict]:
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def run(notebook: Path, folder: Path) -> subprocess.CompletedProcess:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "MPLBACKEND": "agg"}
    command = [sys.executable, "-c", RUN, str(notebook)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_every_source_has_its_notebook():
    sources = {path.stem for path in EXAMPLES.glob("*.py")} - {"build"}
    assert len(sources) == 3 and {path.stem for path in NOTEBOOKS} == sources


@pytest.mark.parametrize(
    "notebook",
    [pytest.param(path, marks=[pytest.mark.slow] * (path.stem in LONG), id=path.stem) for path in NOTEBOOKS],
)
def test_a_notebook_runs(notebook, tmp_path, real):
    for name in ("ce-minilm-l12", "bi-minilm-l6", "bi-minilm-l3"):
        real(name)
    done = run(notebook, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", ["1 / 0", "class A:\n    def _repr_html_(self):\n        1 / 0\n\n\nA()"])
def test_a_cell_that_raises_is_noticed_by_the_test_above(code, tmp_path):
    broken = tmp_path / "broken.ipynb"
    broken.write_text(json.dumps({"cells": [{"cell_type": "code", "source": code}]}))
    done = run(broken, tmp_path)
    assert done.returncode == 1 and 'File "cell 0"' in done.stderr and "ZeroDivisionError" in done.stderr


@EACH
def test_a_notebook_is_its_source_executed(notebook):
    source = runpy.run_path(str(EXAMPLES / "build.py"))["cells_of"](notebook.with_suffix(".py"))
    found = cells(notebook)
    assert [(cell["cell_type"], cell["source"]) for cell in found] == source, "run examples/build.py"
    code = [cell for cell in found if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))


@EACH
def test_a_notebook_shows_text_and_figures_and_nothing_of_the_machine(notebook):
    outputs = [output for cell in cells(notebook) for output in cell.get("outputs", [])]
    assert {output["output_type"] for output in outputs} <= {"stream", "execute_result", "display_data"}
    assert {output["name"] for output in outputs if output["output_type"] == "stream"} == {"stdout"}
    assert any("image/png" in output.get("data", {}) for output in outputs)
    text = notebook.read_text(encoding="utf-8")
    assert len(text) < LARGEST and "site-packages" not in text and "/tmp/" not in text and "\\u001b" not in text
