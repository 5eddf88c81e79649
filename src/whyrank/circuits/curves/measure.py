"""The curves of one ranker on several sets of pairs, stage by stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.curves.completeness import NamedCircuit
from whyrank.circuits.curves.edge_graph import EdgeGraph
from whyrank.circuits.curves.edges import NAMED, edge_curves, ranked_edges
from whyrank.circuits.curves.held_out import Split, query_of
from whyrank.circuits.curves.kept import Kept, Live, kept
from whyrank.circuits.curves.nodes import (
    Order,
    all_nodes,
    attribution_order,
    layer_matched,
    path_order,
    random_order,
)
from whyrank.circuits.curves.results import (
    ATTRIBUTION,
    BASELINE,
    EDGES,
    HEADS,
    HEADS_AND_MLPS,
    HOLDS,
    LAYER_MATCHED,
    PATH,
    RANDOM,
    RESAMPLE,
    CircuitKept,
    Completeness,
    FaithfulnessCurves,
    SizeCurve,
    SizePoint,
)
from whyrank.circuits.results import Found
from whyrank.circuits.search import sample
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.rankers.neural import NeuralRanker

#: Numbers of nodes measured, before all.
SIZES = (0, 1, 2, 4, 9, 13, 19, 30, 45, 60, 80, 100, 120)
#: Random orders, of each kind.
DRAWS = 3
#: Orders by name; random ones are several.
Orders = Mapping[str, Sequence[Order]]


@dataclass(frozen=True)
class CurveSizes:
    """How many pairs of all sets together: to order nodes by, to measure nodes on, to order edges by and measure
    them on (0: no edges)."""

    order: int = 50
    nodes: int = 100
    edges: int = 50
    draws: int = DRAWS

    @classmethod
    def of(cls, pairs: int) -> CurveSizes:
        """So many pairs to measure nodes on, and half of them for all that takes longer."""
        half = -(-pairs // 2)
        return cls(order=half, nodes=pairs, edges=half)


@dataclass(frozen=True)
class CurvesWork:
    """What is measured, of whom, on what."""

    ranker: NeuralRanker
    split: Split
    found: Found | None
    circuits: Sequence[NamedCircuit] = ()
    sizes: CurveSizes = field(default_factory=CurveSizes)
    seed: int = 0
    stages: Stages = field(default_factory=Stages)
    progress: OpenProgress = no_progress

    def measured(self) -> dict[str, FaithfulnessCurves]:
        """The curves by set of pairs; each set is a stage, and so are the orders."""
        nodes = sample(self.split.measured, self.sizes.nodes, self.seed)
        return {
            name: self.stages.typed(f"curves-{name}", FaithfulnessCurves, self._maker(name, some))
            for name, some in nodes.items()
        }

    def _maker(self, name: str, pairs: Sequence[MinimalPair]) -> Callable[[], FaithfulnessCurves]:
        return lambda: self._of_set(name, pairs)

    def _of_set(self, name: str, pairs: Sequence[MinimalPair]) -> FaithfulnessCurves:
        curves: list[SizeCurve] = []
        circuits: list[CircuitKept] = []
        completeness: list[Completeness] = []
        for held in self._holds(name):
            orders = self._orders if held == BASELINE else {ATTRIBUTION: self._orders[ATTRIBUTION]}
            asked = [live for one in self.circuits for live in one.asked(self._nodes, self.seed)]
            found = self._kept(name, pairs, self._nodes, orders, held, asked)
            curves += _curves(found, HEADS, orders, held)
            circuits += [one.alone(found, self._nodes, held) for one in self.circuits]
            completeness += [
                row for one in self.circuits for row in one.completeness(found, self._nodes, held, self.seed)
            ]
        found = self._kept(name, pairs, all_nodes(self.ranker.encoder, True), self._with_mlps, BASELINE)
        curves += _curves(found, HEADS_AND_MLPS, self._with_mlps, BASELINE)
        edge_pairs = self._edge_pairs(name)
        curves += self._edges(name, edge_pairs)
        queries = len({query_of(pair) for pair in pairs})
        return FaithfulnessCurves(
            len(pairs), queries, self.split.held_out, len(edge_pairs), tuple(curves), tuple(circuits),
            tuple(completeness), self._ranked(),
        )  # fmt: skip

    def _kept(
        self,
        name: str,
        pairs: Sequence[MinimalPair],
        nodes: Order,
        orders: Orders,
        held: str,
        more: Iterable[Live] = (),
    ) -> Kept:
        live = [frozenset(order[:size]) for some in orders.values() for order in some for size in sizes_of(nodes)]
        shards = self.stages.shards(f"curves-{name}-{len(nodes)}-{held}")
        return kept(
            self.ranker, pairs, nodes, [*live, *more], held, reference=self.split.measured[name], seed=self.seed,
            shards=shards, progress=self.progress,
        )  # fmt: skip

    def _holds(self, name: str) -> Sequence[str]:
        """Another pair's values need another pair."""
        return [held for held in HOLDS if held != RESAMPLE or len(self.split.measured[name]) > 1]

    @cached_property
    def _nodes(self) -> Order:
        return all_nodes(self.ranker.encoder)

    @cached_property
    def _orders(self) -> Orders:
        """Orders of heads."""
        best = self._attributed(self._nodes)
        orders: dict[str, Sequence[Order]] = {ATTRIBUTION: [best]}
        if self.found is not None:
            orders[PATH] = [path_order(self.found, self._nodes)]
        return {**orders, **self._random(best)}

    @cached_property
    def _with_mlps(self) -> Orders:
        """Orders of heads and MLPs."""
        best = self._attributed(all_nodes(self.ranker.encoder, True))
        return {ATTRIBUTION: [best], **self._random(best)}

    def _random(self, best: Order) -> Orders:
        draws = range(self.sizes.draws)
        return {
            RANDOM: [random_order(best, f"{self.seed} {i}") for i in draws],
            LAYER_MATCHED: [layer_matched(best, f"{self.seed} {i}") for i in draws],
        } if self.sizes.draws else {}  # fmt: skip

    def _attributed(self, nodes: Order) -> Order:
        some = sample(self.split.searched, self.sizes.order, self.seed)
        shards = self.stages.shards(f"curves-order-{len(nodes)}")
        return attribution_order(self.ranker, some, nodes, shards=shards, progress=self.progress)

    @cached_property
    def _graph(self) -> EdgeGraph:
        return EdgeGraph.of(self.ranker.encoder)

    @cached_property
    def _edge_order(self):  # type: ignore[no-untyped-def]
        some = sample(self.split.searched, self.sizes.edges, self.seed)
        shards = self.stages.shards("curves-edge-order")
        return ranked_edges(self.ranker, some, self._graph, shards=shards, progress=self.progress)

    def _edge_pairs(self, name: str) -> list[MinimalPair]:
        if not self.sizes.edges:
            return []
        return sample(self.split.measured, self.sizes.edges, self.seed)[name]

    def _edges(self, name: str, pairs: Sequence[MinimalPair]) -> list[SizeCurve]:
        if not pairs:
            return []
        return edge_curves(
            self.ranker, pairs, self._edge_order, self._graph, seed=self.seed,
            shards=self.stages.shards(f"curves-edges-{name}"), progress=self.progress,
        )  # fmt: skip

    def _ranked(self) -> dict[str, tuple[str, ...]]:
        """The orders that are no draws, by name; of edges the first only."""
        orders = {
            f"{HEADS}, {name}": tuple(str(node).removesuffix(".z") for node in some[0])
            for name, some in self._orders.items()
            if name in (ATTRIBUTION, PATH)
        }
        orders[HEADS_AND_MLPS] = tuple(str(node).removesuffix(".z") for node in self._with_mlps[ATTRIBUTION][0])
        if self.sizes.edges:
            orders[EDGES] = tuple(self._graph.name(edge) for edge in self._edge_order[:NAMED])
        return orders


def sizes_of(nodes: Sequence[object]) -> list[int]:
    """The sizes measured of so many nodes: those that are smaller, and all."""
    return [*(size for size in SIZES if size < len(nodes)), len(nodes)]


def _curves(found: Kept, nodes: str, orders: Orders, held: str) -> list[SizeCurve]:
    every = next(iter(orders.values()))[0]
    return [
        SizeCurve(nodes, name, held, tuple(_point(found, some, size) for size in sizes_of(every)))
        for name, some in orders.items()
    ]


def _point(found: Kept, orders: Sequence[Order], size: int) -> SizePoint:
    """Of one order, or the mean over several with the least and the most of them."""
    live = [frozenset(order[:size]) for order in orders]
    if len(live) == 1:
        return SizePoint(size, found.share(live[0]))
    single = [value for one in live if (value := found.share(one).value) is not None]
    ends = (min(single), max(single)) if single else (None, None)
    return SizePoint(size, found.share(*live), *ends)
