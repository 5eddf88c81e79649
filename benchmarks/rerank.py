"""Pairs a second of ce-minilm-l12, ours against sentence-transformers' CrossEncoder.predict, in one run.

    python benchmarks/rerank.py [--pairs 1000] [--rounds 5]

Both score the same pairs of mixed length (8 to 400 words) on the same threads, in turn; the ratio of each
round is printed, and the median counts. Scores must agree within 1e-4. Also timed, each in a process of its
own: `import whyrank` and `whyrank --help`, which must not import torch.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import whyrank
from whyrank.collections.demo import open_demo


def mixed_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Real queries with passages of 8 to 400 words, cut from the demo collection's text."""
    generator, demo = random.Random(seed), open_demo()
    words = " ".join(document.text for document in demo.documents()).split()
    queries = list(demo.queries.values())
    pairs = []
    for _ in range(count):
        length = min(400, max(8, int(generator.lognormvariate(4.6, 0.7))))
        start = generator.randrange(len(words) - length)
        pairs.append((generator.choice(queries), " ".join(words[start : start + length])))
    return pairs


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def start_up(*command: str) -> float:
    """The fastest of five runs, in seconds."""
    return min(timed(lambda: subprocess.run(command, check=True, capture_output=True))[0] for _ in range(5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    from sentence_transformers import CrossEncoder

    ours = whyrank.load("ce-minilm-l12")
    theirs = CrossEncoder(str(whyrank.rankers.find.find_checkpoint("ce-minilm-l12").folder), device="cpu")
    pairs = mixed_pairs(options.pairs)
    print(f"{len(pairs)} pairs, {np.mean([len(text.split()) for _, text in pairs]):.0f} words on average")
    ours.score(pairs[:64]), theirs.predict(pairs[:64], batch_size=32)

    ratios = []
    for number in range(options.rounds):
        their_time, their_scores = timed(lambda: theirs.predict(pairs, batch_size=32, show_progress_bar=False))
        our_time, our_scores = timed(lambda: ours.score(pairs))
        ratios.append(their_time / our_time)
        rates = f"ours {len(pairs) / our_time:.0f} pairs/s, theirs {len(pairs) / their_time:.0f} pairs/s"
        print(f"round {number + 1}: {rates}, ratio {ratios[-1]:.2f}")
    apart = float(np.abs(np.asarray(our_scores) - np.asarray(their_scores)).max())
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f} (goal 1.10), largest difference in score {apart:.1e} (goal 1e-4)")
    imported = start_up(sys.executable, "-c", "import whyrank, sys; assert 'torch' not in sys.modules")
    helped = start_up(sys.executable, "-m", "whyrank", "--help")
    print(f"import whyrank {imported:.2f} s, whyrank --help {helped:.2f} s (goal 1 s each)")
    raise SystemExit(not (median >= 1.1 and apart <= 1e-4 and imported < 1 and helped < 1))


if __name__ == "__main__":
    main()
