"""Patching's speed: ours against plain hooks on the Hugging Face module, ratios in one run.

    python benchmarks/patching.py [--pairs 32] [--rounds 3] [--only heads,positions,...] [--peer mechir]

The rival is fair: scaled-dot-product attention, one hooked pass a site, batches of 16 pairs sorted by length and
padded to their longest. Every hooked pass costs the same whatever its site, so hooks are timed on a sample of the
sites, evenly spread, and the time is scaled; ours is timed on all. On the sample the scores of both must agree
within 1e-4 (attribution is approximate: its correlation is printed). `papers` is the papers' own loop: one pair at
a time. Also: two workers against one, GFLOP/s beside the machine's own, and peak memory for 100 and 1,000 pairs.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import whyrank
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise_for_patching
from whyrank.collections.demo import open_demo
from whyrank.encoders.site import Site, SiteSet
from whyrank.engines.engine import open_engine
from whyrank.interventions.activation import Activation
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.opened import OpenedPair
from whyrank.interventions.path import PathPatching
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.prepared import PreparedPair
from whyrank.interventions.sweep import sweep
from whyrank.rankers.neural import NeuralRanker

BATCH = 16
TOKENS = (80, 120)
CROSS, BI = "ce-minilm-l12", "bi-minilm-l6"
#: The heads of the published circuit in layers 6, 8, 9 and 10; and one in each of these layers.
CIRCUIT = ("6.3", "6.5", "8.0", "8.1", "8.8", "8.10", "9.11", "10.1", "10.4", "10.7", "10.10")
ONE_EACH = ("6.5", "8.10", "9.11", "10.4")
VALUES = "L10.H1.v,L10.H4.v,L10.H7.v,L10.H10.v"


def make_pairs(ranker: NeuralRanker, count: int, seed: int = 0) -> list[MinimalPair]:
    """Appended terms on passages of 80 to 120 tokens with the query, cut from the demo collection's text."""
    draw, demo = random.Random(seed), open_demo()
    words = " ".join(document.text for document in demo.documents()).split()
    queries, pairs = list(demo.queries.values()), []
    while len(pairs) < count:
        query, start = draw.choice(queries), draw.randrange(len(words) - 200)
        length, wanted = 20, draw.randint(*TOKENS)
        while len(ranker.document_tokens(query, " ".join(words[start : start + length]))) < wanted:
            length += 1
        text, term = " ".join(words[start : start + length]), draw.choice(query.split()).strip("?.,")
        at = len(text) + 1
        slot = {"baseline": [(at, at + 1)], "perturbed": [(at, at + len(term))]}
        texts = (f"{text} a", f"{text} {term}")
        pairs.append(MinimalPair(f"p{len(pairs)}", query, *texts, term=term, qid=query, slot=slot).fillable())
    return pairs


class Hooks:
    """Plain hooks on the Hugging Face module of a BERT-like ranker."""

    def __init__(self, ranker: NeuralRanker, pairs: Sequence[MinimalPair], batch: int = BATCH) -> None:
        self.ranker, self.module = ranker, ranker.encoder.anatomy.module
        self.layers = self.module.encoder.layer
        self.width = ranker.encoder.width // ranker.encoder.heads
        texts = [realise_for_patching(pair, ranker).texts for pair in pairs]
        order = sorted(range(len(pairs)), key=lambda i: len(ranker.document_tokens(*texts[i][0])))
        self.order = [order[start : start + batch] for start in range(0, len(order), batch)]
        self.batches = [self._inputs([texts[i] for i in some]) for some in self.order]
        self.queries = self._queries(pairs)

    def _inputs(self, texts: Sequence[Any]) -> list[Any]:
        return [self.ranker.opened_inputs([both[side] for both in texts]) for side in (0, 1)]

    def run(self, inputs: Any, number: int) -> Tensor:
        """The scores of a batch by the module's own forward pass."""
        out = self.module(
            input_ids=inputs.ids, attention_mask=inputs.attention_mask.long(), token_type_ids=inputs.types
        ).last_hidden_state
        if hasattr(self.ranker, "read_out"):
            return self.ranker.read_out(out, inputs)
        vectors = self.ranker.represent(out, inputs, "document")
        return torch.stack([vector @ query for vector, query in zip(vectors, self.queries[number], strict=True)])

    def _queries(self, pairs: Sequence[MinimalPair]) -> list[list[Tensor]]:
        """The queries' vectors, for rankers that encode them apart."""
        if hasattr(self.ranker, "read_out"):
            return []
        return [self.ranker.encode([pairs[i].query for i in some], "query")[0] for some in self.order]

    def cache(self) -> None:
        """What every patch needs: each batch's z, and MLP outputs, of both runs, by plain hooks."""
        self.seen: list[list[dict[tuple[str, int], Tensor]]] = []
        for number, both in enumerate(self.batches):
            found: list[dict[tuple[str, int], Tensor]] = []
            for inputs in both:
                kept: dict[tuple[str, int], Tensor] = {}
                with ExitStack() as stack:
                    for layer in range(len(self.layers)):
                        stack.enter_context(
                            self.at("z", layer, lambda x, i=layer, k=kept: k.setdefault(("z", i), x))
                        )
                        stack.enter_context(
                            self.at("mlp", layer, lambda x, i=layer, k=kept: k.setdefault(("mlp", i), x))
                        )
                    self.run(inputs, number)
                found.append(kept)
            self.seen.append(found)

    @contextmanager
    def at(self, part: str, layer: int, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
        """change(value) in the place of a part's value."""
        block = self.layers[layer]
        if part == "z":
            handle = block.attention.output.dense.register_forward_pre_hook(lambda _, x: (change(x[0]),))
        elif part == "v":
            handle = block.attention.self.value.register_forward_hook(lambda _, x, out: change(out))
        else:
            handle = block.output.dense.register_forward_hook(lambda _, x, out: change(out))
        try:
            yield
        finally:
            handle.remove()

    def columns(self, head: int) -> slice:
        return slice(head * self.width, (head + 1) * self.width)

    def scores(self, hooked: Callable[[int, Site], Tensor], sites: Sequence[Site]) -> Tensor:
        """[pairs, sites], one hooked pass a batch and site."""
        found = torch.empty(sum(map(len, self.order)), len(sites))
        for number, some in enumerate(self.order):
            for column, site in enumerate(sites):
                found[some, column] = hooked(number, site)
        return found

    def activation(self, number: int, site: Site) -> Tensor:
        """One head's z from the perturbed run, at all positions or at one."""
        assert site.layer is not None and site.head is not None
        source, columns = self.seen[number][1]["z", site.layer], self.columns(site.head)

        def put(z: Tensor) -> Tensor:
            z = z.clone()
            if site.at is None:
                z[..., columns] = source[..., columns]
            else:
                z[:, site.at, columns] = source[:, site.at, columns]
            return z

        with self.at("z", site.layer, put):
            return self.run(self.batches[number][0], number)

    def path(self, number: int, site: Site, receivers: Sequence[Site] = (), freeze_mlp: bool = False) -> Tensor:
        """Every head frozen but the sender; then, for receivers, a second pass with them overwritten."""
        assert site.layer is not None and site.head is not None
        own, other = self.seen[number]
        seen: dict[int, Tensor] = {}
        with ExitStack() as stack:
            for layer in range(len(self.layers)):
                z = own["z", layer]
                if layer == site.layer:
                    z = z.clone()
                    z[..., self.columns(site.head)] = other["z", layer][..., self.columns(site.head)]
                stack.enter_context(self.at("z", layer, lambda _, z=z: z))
                if freeze_mlp:
                    stack.enter_context(self.at("mlp", layer, lambda _, i=layer: own["mlp", i]))
            for layer in {receiver.layer for receiver in receivers}:
                stack.enter_context(self.at("v", layer, lambda x, i=layer: seen.setdefault(i, x)))
            score = self.run(self.batches[number][0], number)
        if not receivers:
            return score
        with ExitStack() as stack:
            for layer, value in seen.items():

                def put(x: Tensor, layer: int = layer, value: Tensor = value) -> Tensor:
                    x = x.clone()
                    for receiver in receivers:
                        if receiver.layer == layer:
                            x[..., self.columns(receiver.head)] = value[..., self.columns(receiver.head)]
                    return x

                stack.enter_context(self.at("v", layer, put))
            return self.run(self.batches[number][0], number)


@dataclass
class Case:
    """One line of the result: our intervention against a hooked pass."""

    name: str
    ranker: str
    goal: float
    intervention: Intervention
    sites: Sequence[Site]
    hooked: Callable[[Hooks], Callable[[int, Site], Tensor]]
    sample: int
    settings: dict[str, Any] = field(default_factory=dict)
    by: str | None = None
    pairs: int | None = None
    papers: bool = False


def heads(layers: int) -> list[Site]:
    return [Site("z", layer, head) for layer in range(layers) for head in range(12)]


def cases() -> list[Case]:
    receivers = SiteSet.parse(VALUES.replace(",", "+")).sites
    activation: Any = lambda hooks: hooks.activation  # noqa: E731
    circuit, one_each = ([Site.parse(name) for name in names] for names in (CIRCUIT, ONE_EACH))
    return [
        Case("heads", CROSS, 2.2, Activation(), heads(12), activation, 12, papers=True),
        Case("heads-bi-cls", BI, 2.4, Activation(), heads(6), activation, 12, {"pooling": "cls"}),
        Case("heads-bi", BI, 1.6, Activation(), heads(6), activation, 12, papers=True),
        Case("positions", CROSS, 10, Activation(), circuit, activation, 12, by="position"),
        Case("positions-one-each", CROSS, 0, Activation(), one_each, activation, 12, by="position"),
        Case("logits", CROSS, 60, PathPatching(), heads(12), lambda hooks: hooks.path, 12, papers=True),
        Case("values", CROSS, 4.5, PathPatching.to(VALUES), heads(10),
             lambda hooks: lambda n, s: hooks.path(n, s, receivers), 10),
        Case("values-frozen-mlp", CROSS, 20, PathPatching.to(VALUES, freeze_mlp=True), heads(10),
             lambda hooks: lambda n, s: hooks.path(n, s, receivers, True), 10),
        Case("attribution", CROSS, 20, Attribution(), heads(12), activation, 12),
        Case("attribution-bi", BI, 20, Attribution(), heads(6), activation, 12, {"pooling": "cls"}),
    ]  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def run_case(case: Case, count: int, rounds: int) -> bool:
    ranker = whyrank.load(case.ranker, **case.settings)
    pairs = make_pairs(ranker, case.pairs or count)
    hooks = Hooks(ranker, pairs)
    longest = max(len(ranker.document_tokens(pair.query, pair.baseline)) for pair in pairs)
    shortest = min(len(ranker.document_tokens(pair.query, pair.baseline)) for pair in pairs)
    plan = SitePlan(tuple(SiteSet((site,)) for site in case.sites), case.by)
    sites = list(case.sites)
    if case.by:
        sites = [Site("z", s.layer, s.head, at) for s in case.sites for at in range(shortest)]
    sample = sites[:: max(1, len(sites) // case.sample)]
    passes = len(case.sites) * (longest if case.by else 1)

    def ours(pairs: Sequence[MinimalPair]) -> list[Tensor]:
        found = []
        for group in PreparedPair.groups(ranker, pairs):
            found += case.intervention.measure(group, [plan.patches(one.names) for one in group])
        return [one.patched for one in found]

    def theirs(rival: Hooks, some: Sequence[Site]) -> Tensor:
        with torch.inference_mode():
            return rival.scores(case.hooked(rival), some)

    def cache(rival: Hooks) -> None:
        with torch.inference_mode():
            rival.cache()

    ratios, made, hooked = [], [], torch.empty(0)
    ours(pairs[:4]), cache(hooks), theirs(hooks, sample[:2])  # both warm
    for number in range(rounds):
        caching, _ = timed(lambda: cache(hooks))
        passing, hooked = timed(lambda: theirs(hooks, sample))
        their_time = caching + passing * passes / len(sample)
        our_time, made = timed(lambda: ours(pairs))
        ratios.append(their_time / our_time)
        print(
            f"  round {number + 1}: hooks {their_time:.1f} s, ours {our_time:.2f} s, ratio {ratios[-1]:.1f}",
            flush=True,
        )
    agree, notes = agreement(case, ranker, pairs, made, sample, hooked)
    if case.papers:
        one = Hooks(ranker, pairs[:4], batch=1)
        cache(one)
        passing, _ = timed(lambda: theirs(one, sample[:6]))
        loop = passing * len(pairs) / 4 * passes / 6
        notes += f"; {loop / our_time:.1f} times the papers' loop"
    median = statistics.median(ratios)
    good = median >= case.goal and agree
    print(f"{case.name} ({case.ranker}): {median:.1f} times fair hooks (goal {case.goal}); {notes}", flush=True)
    return good


def agreement(
    case: Case, ranker: NeuralRanker, pairs: Sequence[MinimalPair], made: list[Tensor], sample: Sequence[Site],
    hooked: Tensor,
) -> tuple[bool, str]:  # fmt: skip
    """Whether both give the same scores on the sample."""
    rows = []
    for pair, scores in zip(pairs, made, strict=True):
        names = realise_for_patching(pair, ranker).names
        plan = SitePlan(tuple(SiteSet((site,)) for site in case.sites), case.by)
        place = {patch.sites[0]: i for i, patch in enumerate(plan.patches(names))}
        rows.append(scores[[place[site] for site in sample]])
    ours = torch.stack(rows)
    if isinstance(case.intervention, Attribution):
        base = torch.tensor([OpenedPair.of(ranker, pair).baseline for pair in pairs])[:, None]
        both = torch.stack([(ours - base).flatten(), (hooked - base).flatten()])
        return True, f"Pearson {torch.corrcoef(both)[0, 1]:.3f} with exact effects"
    apart = float((ours - hooked).abs().max())
    return apart <= 1e-4, f"scores agree within {apart:.1e}"


def flops(count: int) -> None:
    """GFLOP/s of an all-head sweep, counted by the layers it must run, beside a plain matrix product's."""
    ranker = whyrank.load(CROSS)
    pairs = make_pairs(ranker, count)
    encoder, d = ranker.encoder, ranker.encoder.width
    tokens = [len(realise_for_patching(pair, ranker).names) for pair in pairs]
    mlp, whole = 16 * d * d, 24 * d * d  # operations a token: the MLP, a layer's products without attention
    total = 0.0
    for n in tokens:
        attention = 4 * n * d
        layer, last = whole + attention, 0.015 * whole
        sides = 2 * ((encoder.layers - 1) * layer + last)
        variants = 12 * sum(
            mlp + max(0, encoder.layers - 2 - lower) * layer + last for lower in range(encoder.layers - 1)
        )
        total += n * (sides + variants)
    plan = SitePlan(tuple(SiteSet((site,)) for site in heads(12)))
    seconds, _ = timed(lambda: sweep(ranker, pairs, plan))
    a, b = torch.randn(2048, 384), torch.randn(384, 1536)
    product, _ = timed(lambda: [a @ b for _ in range(60)])
    machine = 60 * 2 * 2048 * 384 * 1536 / product / 1e9
    print(f"all heads: {total / seconds / 1e9:.0f} GFLOP/s; a matrix product alone: {machine:.0f} GFLOP/s")


def memory(counts: Sequence[int] = (100, 1000)) -> bool:
    """Peak memory of a sweep in shards, each in a process of its own."""
    peaks = []
    for count in counts:
        done = subprocess.run(
            [sys.executable, __file__, "--peak", str(count)], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout.split()[-1]) / 1024)
        print(f"{count} pairs: peak memory {peaks[-1]:.0f} MB", flush=True)
    print(f"memory for {counts[1]} pairs is {peaks[1] / peaks[0]:.2f} times that for {counts[0]} (goal 1.10)")
    return peaks[1] / peaks[0] <= 1.1


def peak(count: int) -> None:
    ranker = whyrank.load("bi-minilm-l3")
    pairs, plan = make_pairs(ranker, count), SitePlan.parse("heads", ranker.encoder)
    with tempfile.TemporaryDirectory() as folder:
        sweep(ranker, pairs, plan, shards=Path(folder))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def workers(count: int) -> bool:
    """Two workers on two cores against one single-threaded worker; starting and loading are not counted."""
    ranker, times = whyrank.load(CROSS), {}
    pairs, plan = make_pairs(ranker, 2 * count), SitePlan.parse("heads", ranker.encoder)
    for number in (1, 2):
        with open_engine(workers=number) as engine:
            sweep(ranker, pairs[: 8 * 2 * number], SitePlan.parse("0.1", ranker.encoder), engine=engine)
            times[number], _ = timed(lambda engine=engine: sweep(ranker, pairs, plan, engine=engine))
    ratio = times[1] / times[2]
    print(f"two workers: {ratio:.2f} times one ({times[1]:.1f} s, {times[2]:.1f} s; goal 1.6)")
    return ratio >= 1.6


def mechir(count: int) -> None:
    """MechIR 0.2.0, all heads of the cross-encoder, in an environment of its own, on batches of tight padding."""
    ranker, here = whyrank.load(CROSS), Path(__file__).parent / "peers"
    pairs = make_pairs(ranker, count)
    hooks = Hooks(ranker, pairs)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("installing MechIR and what it needs", flush=True)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        python = folder / "env" / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", here / "mechir.txt"]
        subprocess.run(install, check=True, stderr=subprocess.DEVNULL)
        # Imported by MechIR, used by nothing here, and not to be had beside its other pins.
        for module, text in (("sae_lens", "class SAE: pass"), ("ir_datasets", "")):
            (folder / "stubs" / module).mkdir(parents=True)
            (folder / "stubs" / module / "__init__.py").write_text(text)
        theirs = 0.0
        for number, sides in enumerate(hooks.batches):
            batch = {
                side: {"input_ids": x.ids, "attention_mask": x.attention_mask.long(), "token_type_ids": x.types}
                for side, x in zip(("baseline", "perturbed"), sides, strict=True)
            }
            torch.save(batch, folder / f"{number}.pt")
            command = [python, here / "run_mechir.py", ranker.checkpoint.folder, folder / f"{number}.pt"]
            done = subprocess.run(
                [*command, str(torch.get_num_threads())], check=True, capture_output=True, text=True,
                env={"PYTHONPATH": str(folder / "stubs"), "HF_HUB_OFFLINE": "1"},
            )  # fmt: skip
            theirs += float(done.stdout.split()[-1])
    plan = SitePlan(tuple(SiteSet((site,)) for site in heads(12)))
    sweep(ranker, pairs[:4], plan)
    ours, _ = timed(lambda: sweep(ranker, pairs, plan))
    print(
        f"all heads ({CROSS}): {theirs / ours:.1f} times MechIR 0.2.0 ({theirs:.1f} s, {ours:.1f} s)", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--only", help="names of cases, with commas: heads, positions, logits, workers, memory, ..."
    )
    parser.add_argument("--peer", choices=["mechir"], help="also run MechIR, in an environment of its own")
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        peak(options.peak)
        return
    wanted = set(options.only.split(",")) if options.only else None
    good = []
    for case in cases():
        if wanted is None or case.name in wanted:
            good.append(run_case(case, options.pairs, options.rounds))
    if wanted is None or "flops" in wanted:
        flops(options.pairs)
    if wanted is None or "workers" in wanted:
        good.append(workers(options.pairs))
    if wanted is None or "memory" in wanted:
        good.append(memory())
    if options.peer == "mechir":
        mechir(options.pairs)
    raise SystemExit(not all(good))


if __name__ == "__main__":
    main()
