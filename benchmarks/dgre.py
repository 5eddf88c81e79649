"""DGRe's speed: its forward pass against vanilla BERT's, and its word graph in blocks against the dense one.

    python benchmarks/dgre.py [--backbone bi-minilm-l6] [--batch 8] [--tokens 256] [--rounds 21]

All models stand on the same backbone and score the same batch, in turn; a ratio is taken in each round, and the
median round counts: a pass of BERT takes a tenth longer whenever the system has to hand out its memory anew. With
all layers refined the goal is at most 2.6 times vanilla BERT's, with the last one only 1.2, which is what their
products of matrices take by count (15 d^2 a token, and one attention, beside 6 layers of 12 d^2 and one each).
Then, for random states of 500 tokens, 12 of them the query's: projecting, building the graph and passing messages
twice, in blocks and dense (goal 3 times faster); the messages must agree within 1e-6 of the largest.
The peak memory of each is taken in a process of its own, above what that has before (Linux only).
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import torch
from torch import Tensor

from whyrank.collections.demo import open_demo
from whyrank.encoders.inputs import Inputs
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.dgre import DGRe, DGReSettings
from whyrank.learning.models.graph_layers import GraphBuilder, GraphShape
from whyrank.learning.models.network import Ingredients, Network
from whyrank.learning.models.pooling import Packing
from whyrank.learning.models.sides import Sides
from whyrank.learning.models.vanilla import VanillaBert, VanillaSettings
from whyrank.rankers.find import find_checkpoint

LONG, QUERY, WIDTH, STEPS = 500, 12, 384, 2
#: How near each other blocks and dense graphs must be in single precision, over the largest value.
CLOSE = 1e-6


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def long_pairs(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Real queries with 600 words of the demo collection each, to be cut where the batch ends."""
    draw, demo = random.Random(seed), open_demo()
    words = " ".join(document.text for document in demo.documents()).split()
    queries, pairs = list(demo.queries.values()), []
    for _ in range(count):
        start = draw.randrange(len(words) - 600)
        pairs.append((draw.choice(queries), " ".join(words[start : start + 600])))
    return pairs


def models(backbone: str, tokens: int) -> dict[str, Network]:
    """Vanilla BERT and two DGRes on one backbone, one chunk a document."""
    ingredients, size = Ingredients(find_checkpoint(backbone)), {"max_length": tokens, "chunks": 1}
    vanilla = VanillaBert.of(VanillaSettings(**size), ingredients)
    found: dict[str, Network] = {"vanilla": vanilla}
    for name, layers in {"all layers": None, "last layer": 1}.items():
        found[name] = DGRe(DGReSettings(**size, layers=layers), vanilla.backbone)
    return {name: model.eval() for name, model in found.items()}


def forward_ratios(options: argparse.Namespace) -> dict[str, float]:
    """DGRe's seconds over vanilla BERT's."""
    found = models(options.backbone, options.tokens)
    batch = found["vanilla"].read(long_pairs(options.batch))
    print(f"{options.backbone}: {len(batch)} sequences of {batch.inputs.ids.shape[1]} tokens")
    works = {name: lambda model=model: model(batch) for name, model in found.items()}
    return ratios(works, "vanilla", options.rounds)


def ratios(works: dict[str, Callable[[], object]], base: str, rounds: int) -> dict[str, float]:
    """Each work's seconds over the base's: the median over rounds, in which all works take turns."""
    for work in works.values():
        work()
    times = [{name: timed(work) for name, work in works.items()} for _ in range(rounds)]
    print(", ".join(f"{name} {median(one[name] for one in times):.4f} s" for name in works))
    found = {name: sorted(one[name] / one[base] for one in times) for name in works if name != base}
    for name, all_ratios in found.items():
        low, _, high = quantiles(all_ratios)
        print(f"  {name} / {base}: half of the rounds between {low:.2f} and {high:.2f}")
    return {name: median(all_ratios) for name, all_ratios in found.items()}


class Graphs:
    """Random states as one batch, and the work of one layer on them but for the gates, which are the same."""

    def __init__(self, batch: int) -> None:
        torch.manual_seed(0)
        self.states = torch.randn(batch, LONG, WIDTH)
        place = torch.arange(LONG).expand(batch, LONG)
        ids = torch.zeros(batch, LONG, dtype=torch.long)
        masks = {
            "query": (place >= 1) & (place <= QUERY),
            "document": (place > QUERY + 1) & (place < LONG - 1),
            "middle": place == QUERY + 1,
            "final": place == LONG - 1,
        }
        chunks = Chunks(Inputs(ids, ids), torch.arange(batch), batch, **masks)
        self.sides, self.packing = Sides.of(chunks), Packing(chunks)
        self.builder = GraphBuilder(WIDTH, 1, GraphShape())
        self.dense = GraphBuilder(WIDTH, 1, GraphShape(dense=True))
        self.dense.load_state_dict(self.builder.state_dict())

    def work(self, kind: str) -> Tensor:
        """Projects, builds the graph and passes messages."""
        builder = self.dense if kind == "dense" else self.builder
        graph, words = builder(0, self.states, self.sides, self.packing), self.states
        for _ in range(STEPS):
            words = graph.messages(words)
        return words


def graph_ratio(options: argparse.Namespace) -> tuple[float, float]:
    """Dense seconds over blocks', and the largest difference of their messages, over the largest message."""
    graphs = Graphs(options.batch)
    dense = graphs.work("dense")
    apart = float((dense - graphs.work("blocks")).abs().max() / dense.abs().max())
    print(f"one graph of {options.batch} x {LONG} tokens")
    works = {kind: lambda kind=kind: graphs.work(kind) for kind in ("dense", "blocks")}
    return ratios(works, "blocks", options.rounds)["dense"], apart


def peak(kind: str, batch: int) -> float:
    """The memory in MB that the work needs at its peak, in a process of its own."""
    command = [sys.executable, __file__, "--batch", str(batch), "--only-graph", kind]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def own_peak(kind: str, batch: int) -> float:
    """The same of this process: its highest mark is set to where it stands before the work."""
    graphs = Graphs(batch)
    Graphs(1).work(kind)  # what libraries allocate once
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    graphs.work(kind)
    return resident("VmHWM") - before


def resident(name: str) -> float:
    """A line of this process's status, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", default="bi-minilm-l6")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--only-graph", choices=["blocks", "dense"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_grad_enabled(False)
    if options.only_graph:
        print(own_peak(options.only_graph, options.batch))
        return
    forward = forward_ratios(options)
    ratio, apart = graph_ratio(options)
    memory = {kind: peak(kind, options.batch) for kind in ("blocks", "dense")}
    print(f"all layers refined {forward['all layers']:.2f} times vanilla BERT (goal at most 2.6)")
    print(f"last layer refined {forward['last layer']:.2f} times vanilla BERT (goal at most 1.2)")
    print(f"blocks {ratio:.1f} times faster than dense (goal 3), {apart:.1e} apart (goal {CLOSE:.0e})")
    print(f"peak memory: blocks {memory['blocks']:.0f} MB, dense {memory['dense']:.0f} MB")
    raise SystemExit(
        not (forward["all layers"] <= 2.6 and forward["last layer"] <= 1.2 and ratio >= 3 and apart <= CLOSE)
    )


if __name__ == "__main__":
    main()
