"""Damaged inputs of every kind, through the command line: how many are refused, accepted, and fail.

    python benchmarks/mutations.py [--count 10000] [--seed 1] [--kind TOML]

Every file that a command reads is damaged in thousands of ways (values of another type, keys missing or twice,
NaN, huge numbers, deep nesting, bytes cut or flipped, ...). Each input must be read rightly (exit 0, valid files)
or be refused in one line that names the file (exit 2). A traceback, a warning on the screen, NaN in a result, or a
command that takes longer than a minute is a failure; with a failure this exits 1. 10,000 inputs take about ten
minutes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the harness is in tests/
os.environ["HF_HUB_OFFLINE"] = "1"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="inputs, shared among the kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", help="only this kind; again for more")
    options = parser.parse_args()

    import torch
    from tests.mutations.campaign import Campaign, table
    from tests.mutations.kinds import KINDS

    torch.set_num_threads(1)
    known = {kind.name: kind for kind in KINDS}
    if unknown := set(options.kind or ()) - set(known):
        parser.error(f"no kind is called {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    tried, start = [], time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), [known[name] for name in options.kind or known], options.seed)
        for one in campaign.all(options.count):
            tried.append(one)
            if one.failed:
                print(one, file=sys.stderr, flush=True)
    print(table(tried))
    print(f"seed {options.seed}, {time.perf_counter() - start:.0f} seconds")
    return int(any(one.failed for one in tried))


if __name__ == "__main__":
    sys.exit(main())
