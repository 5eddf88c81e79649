"""Makes the notebooks: each .py file here, cut at its `# %%` lines, becomes an executed notebook of the same name.

    pip install nbclient ipykernel
    python examples/build.py                       # all, or those named: why_and_why_not ...

A cell after `# %% [markdown]` is text, its lines behind `# `. Edit the .py file and build; tests/test_examples.py
holds a notebook to its source and runs it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TEXT = "# %% [markdown]"


def cells_of(source: Path) -> list[tuple[str, str]]:
    """(kind, text) of each cell: `markdown` or `code`."""
    found: list[tuple[str, list[str]]] = []
    for line in source.read_text(encoding="utf-8").splitlines():
        if line.startswith("# %%"):
            found.append(("markdown" if line == TEXT else "code", []))
        else:
            found[-1][1].append(line.removeprefix("#").removeprefix(" ") if found[-1][0] == "markdown" else line)
    return [(kind, "\n".join(lines).strip("\n")) for kind, lines in found]


def notebook_of(source: Path) -> dict[str, Any]:
    """The notebook before it is executed."""
    cells = []
    for number, (kind, text) in enumerate(cells_of(source)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text}
        cells.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def build(source: Path) -> Path:
    """Executes the notebook in an empty folder and writes it beside its source."""
    import nbformat
    from nbclient import NotebookClient

    os.environ.update(PYTHONWARNINGS="ignore:IProgress not found")
    made = nbformat.from_dict(notebook_of(source))
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(made, timeout=900, resources={"metadata": {"path": folder}}, record_timing=False)
        client.execute()
    made.metadata.pop("language_info", None)  # the version of Python that it was built with
    target = source.with_suffix(".ipynb")
    target.write_text(json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    for one in sorted(HERE.glob("*.py")):
        if one.stem != "build" and one.stem in (sys.argv[1:] or [one.stem]):
            print(build(one))
