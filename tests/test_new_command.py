"""A command with a report is three files beside the package's `__init__.py`; nothing that exists is touched."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import whyrank

FILES = {
    "lengths/__init__.py": '''
"""How long the documents of a collection are; `whyrank.lengths(...)` is the verb."""

from whyrank.core.callable_package import callable_package

callable_package(__name__, "whyrank.lengths.api:lengths")
''',
    "lengths/api.py": '''
"""`lengths`: how many words documents have."""

from dataclasses import dataclass

from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT
from whyrank.core.results import Result
from whyrank.core.runs import Run


@dataclass(frozen=True, repr=False)
class Lengths(Result):
    FILE, COMMAND = "lengths.json", "lengths"

    words: dict[str, int]

    def verdict(self):
        return [f"The longest of {len(self.words)} documents has {max(self.words.values())} words."]

    def to_pandas(self):
        import pandas as pd

        return pd.Series(self.words, name="words").rename_axis("docno").reset_index()

    def plot(self, axes=None):
        from whyrank.plots.style import new_axes

        axes = axes if axes is not None else new_axes(6, 4)
        axes.hist(list(self.words.values()))
        return axes

    def write_report(self, path, manifest):
        from whyrank.lengths.report import lengths_page

        return lengths_page(self).write(path, manifest)


def lengths(collection, *, out=None, caller=SILENT):
    """How many words each document has."""
    opened = collection_of(collection, caller)
    with Run.open(out, Lengths.COMMAND, {"collection": opened.fingerprint()}, caller) as run:
        result = run.finished(Lengths)
        if result is None:
            result = Lengths({docno: len(text.split()) for docno, text in opened.documents()})
            run.save(result)
        return result
''',
    "lengths/report.py": '''
"""The report of lengths."""

from whyrank.pages.page import Report


def lengths_page(result):
    page = Report("How long are the documents?", "Words between blanks.", result.verdict())
    page.table(["document", "words"], [[name, count] for name, count in result.words.items()], "All documents.")
    return page
''',
    "cli/lengths.py": '''
"""`whyrank lengths`: how long are the documents?"""

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app


@app.command("lengths")
def lengths(collection: options.CollectionName, out: options.RunFolderPath) -> None:
    """Count the words of documents."""
    from whyrank.lengths.api import lengths as run_lengths

    print(run_lengths(collection, out=out, caller=terminal()))
''',
}


def python(place: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(place)}
    done = subprocess.run([sys.executable, *words], cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_command_with_a_report_is_three_files(tmp_path):
    package = tmp_path / "whyrank"
    shutil.copytree(Path(whyrank.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, source in FILES.items():
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_text(source.lstrip(), encoding="utf-8")

    start = "from whyrank.cli.start import main; main()"
    said = python(tmp_path, "-c", start, "lengths", "--collection", "demo", "--out", "run")
    assert "Lengths: The longest of 108 documents has" in said
    assert "lengths" in python(tmp_path, "-c", start, "--help")
    held = {path.name for path in (tmp_path / "run").iterdir() if not path.name.startswith(".")}
    assert held == {"lengths.json", "report.html", "manifest.json"}
    assert len(json.loads((tmp_path / "run" / "lengths.json").read_text())["words"]) == 108
    again = "import whyrank; print(whyrank.lengths('demo'), whyrank.lengths.__doc__)"
    assert python(tmp_path, "-c", again) == f"{said.strip()} How many words each document has.\n"
