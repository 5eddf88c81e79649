"""Text, collections and evaluation import nothing heavy until it is used: `whyrank --help` stays fast."""

from __future__ import annotations

import subprocess
import sys

HEAVY = "bm25s ir_datasets ir_measures numpy pandas pyarrow scipy Stemmer torch"


def test_importing_them_is_light() -> None:
    code = "import sys, whyrank.text, whyrank.collections, whyrank.evaluation; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(HEAVY.split()) & set(done.stdout.split())
