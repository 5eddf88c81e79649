"""An audit's speed: forward passes against distinct inputs, and pairs per second against scoring both sides.

    python benchmarks/audit.py [--documents 25] [--rounds 3]

The same pairs (demo collection, ce-minilm-l12) are scored by the audit, and by sentence-transformers'
CrossEncoder.predict on each side of each pair, in turn; the median ratio counts. The encoder's own passes are
counted: as many rows go through it as there are distinct (query, text) inputs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import whyrank
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.axioms.realise import realise


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=25, help="documents per axiom")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    from sentence_transformers import CrossEncoder

    ours = whyrank.load("ce-minilm-l12")
    theirs = CrossEncoder(str(ours.checkpoint.folder), device="cpu")
    pairs = make_pairs("all", "demo", [ours], Choices(documents=options.documents)).pairs
    sides = [side for pair in pairs for side in realise(pair, ours)]
    distinct = len(set(sides))
    print(f"{len(pairs)} pairs, {len(sides)} sides, {distinct} distinct inputs")

    rows, run = [0], ours.encoder.run

    def counted(inputs, **how):
        rows[0] += len(inputs.ids)
        return run(inputs, **how)

    ours.encoder.run = counted
    result = audit_pairs([ours], pairs)
    ours.encoder.run = run
    print(f"{rows[0]} rows through the encoder; the audit says {result.rankers[0].inputs}")

    ratios = []
    for number in range(options.rounds):
        their_time = timed(lambda: theirs.predict(sides, batch_size=32, show_progress_bar=False))
        our_time = timed(lambda: audit_pairs([ours], pairs))
        ratios.append(their_time / our_time)
        rates = f"ours {len(pairs) / our_time:.0f} pairs/s, theirs {len(pairs) / their_time:.0f} pairs/s"
        print(f"round {number + 1}: {rates}, ratio {ratios[-1]:.2f}")
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f} (goal 1.5)")
    raise SystemExit(not (median >= 1.5 and rows[0] == distinct == result.rankers[0].inputs))


if __name__ == "__main__":
    main()
