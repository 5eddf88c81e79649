"""Makes `frozen/` and `inputs/` from what the commands of another commit write.

    git worktree add BEFORE 26408b1
    python -m tests.golden.freeze BEFORE/src               # all cases
    python -m tests.golden.freeze BEFORE/src circuit idf   # some

Only numbers that were checked to be right before a change may be frozen: never freeze to make the test pass.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.golden.cases import CASES, FROZEN, INPUTS, READ_BY_OTHERS, Case
from tests.golden.digest import Digest

#: Runs a command line; `--quick` of a study means the sizes that it is given.
RUN = """
import importlib, json, sys
module, name, sizes, words = json.loads(sys.argv[1])
if module:
    kind = getattr(importlib.import_module(module), name)
    quick = kind(**sizes)
    kind.quick = classmethod(lambda cls: quick)
from whyrank.cli.app import main
sys.argv = ["whyrank", *words]
main()
"""


def freeze(case: Case, source: Path, place: Path) -> None:
    """Runs the case as it was."""
    case.prepare(place / "inputs")
    sizes = (case.sizes.was, case.sizes.name, case.sizes.arguments) if case.sizes else (None, None, None)
    command = [sys.executable, "-c", RUN, json.dumps([*sizes, case.words(case.was)])]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    (place / case.name).mkdir() if case.out else None
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    if done.returncode:
        print(f"{case.name} ended with {done.returncode}:\n{done.stderr[-3000:]}", flush=True)
        return
    for file, name in READ_BY_OTHERS.items():
        if file.startswith(f"{case.name}/"):
            shutil.copyfile(place / file, INPUTS / name)
            shutil.copyfile(place / file, place / "inputs" / name)
    Digest.of(place / case.name).write(FROZEN / f"{case.name}.json.gz")


def main(source: Path, *names: str) -> None:
    """Freezes all cases or some, and runs those that they read."""
    chosen = [case for case in CASES if not names or case.name in names]
    read = {name for case in chosen for name in case.reads}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        shutil.copytree(INPUTS, place / "inputs")
        for case in CASES:
            if case in chosen or case.name in read:
                began = time.monotonic()
                freeze(case, source.resolve(), place)
                written = FROZEN / f"{case.name}.json.gz"
                size = written.stat().st_size if written.exists() else 0
                print(f"{case.name}: {time.monotonic() - began:.0f} s, {size} bytes", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
