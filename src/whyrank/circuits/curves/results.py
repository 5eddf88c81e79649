"""What the curves are: the share of the gap kept, over the size of a circuit, and by named circuits."""

from __future__ import annotations

from dataclasses import dataclass

from whyrank.evaluation.estimate import Estimate

BASELINE, MEAN, RESAMPLE = HOLDS = ("baseline", "mean", "resample")
HEADS, HEADS_AND_MLPS, EDGES = "heads", "heads and MLPs", "edges"
ATTRIBUTION, PATH, RANDOM, LAYER_MATCHED = "integrated gradients", "path patching", "random", "random, same layers"
#: The share that a verdict speaks of.
NEARLY_ALL = 0.9


@dataclass(frozen=True)
class SizePoint:
    """The share of the gap that the first `size` nodes (or edges) of an order keep; of random orders the mean, and
    the least and the most of them."""

    size: int
    share: Estimate
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class SizeCurve:
    """One order of nodes or edges under one way to hold the rest. Size 0 is the embeddings alone (and, where they
    are no nodes, the MLPs); the last point is everything, which keeps 1."""

    nodes: str
    order: str
    held: str
    points: tuple[SizePoint, ...]

    def at(self, size: int) -> Estimate | None:
        return next((point.share for point in self.points if point.size == size), None)

    def size_for(self, share: float) -> int | None:
        """The smallest size measured from which on at least this share is kept."""
        found = None
        for point in reversed(self.points):
            if point.share.value is None or point.share.value < share:
                break
            found = point.size
        return found


@dataclass(frozen=True)
class CircuitKept:
    """A named circuit C of the ranker M: F(C), what is kept with C alone (is it enough?), and F(M minus C), what
    is kept without it (is it needed?)."""

    name: str
    heads: tuple[str, ...]
    held: str
    alone: Estimate
    without: Estimate


@dataclass(frozen=True)
class Completeness:
    """IOI's test of completeness: heads K of a circuit C are taken away. Where C holds all that matters, what is
    left of it, F(C minus K), is what is left of the whole ranker, F(M minus K)."""

    circuit: str
    name: str
    held: str
    heads: tuple[str, ...]
    of_circuit: Estimate
    of_ranker: Estimate
    difference: Estimate

    @property
    def incompleteness(self) -> float | None:
        """|F(C minus K) - F(M minus K)|: 0 for a complete circuit."""
        return None if self.difference.value is None else abs(self.difference.value)


@dataclass(frozen=True)
class FaithfulnessCurves:
    """All of it for one set of pairs. `held_out`: their queries had no part in the search or in the orders;
    `edge_pairs`: so many of them for the edges; `ranked`: nodes by order, the first ones as they were taken."""

    pairs: int
    queries: int
    held_out: bool
    edge_pairs: int
    curves: tuple[SizeCurve, ...]
    circuits: tuple[CircuitKept, ...] = ()
    completeness: tuple[Completeness, ...] = ()
    ranked: dict[str, tuple[str, ...]] | None = None

    def curve(self, nodes: str = HEADS, order: str = ATTRIBUTION, held: str = BASELINE) -> SizeCurve | None:
        wanted = (nodes, order, held)
        return next((one for one in self.curves if (one.nodes, one.order, one.held) == wanted), None)

    def kept_by(self, circuit: str, held: str = BASELINE) -> CircuitKept | None:
        return next((one for one in self.circuits if (one.name, one.held) == (circuit, held)), None)
