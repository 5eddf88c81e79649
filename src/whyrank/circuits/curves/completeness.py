"""Is a circuit needed, and is it complete? As 'Interpretability in the Wild' (IOI) names and measures it.

    faithfulness   F(C)                       the circuit alone
    necessity      F(M minus C)               the ranker without the circuit
    completeness   F(C minus K) against F(M minus K), for parts K of it: equal if it holds all that matters

F is the share of the gap that is kept; what is not live is held (see `kept`). K are the heads of each role, and
some random halves.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whyrank.circuits.curves.kept import Kept, Live
from whyrank.circuits.curves.results import CircuitKept, Completeness
from whyrank.circuits.head import Head
from whyrank.encoders.site import Site

#: Random parts of a circuit that are taken away, each half of it.
RANDOM_PARTS = 3


@dataclass(frozen=True)
class NamedCircuit:
    """Heads to be measured as a circuit, and groups of them (roles) for the test of completeness."""

    name: str
    heads: tuple[Head, ...]
    groups: Mapping[str, Sequence[Head]] = field(default_factory=dict)

    @property
    def live(self) -> Live:
        return frozenset(head.site() for head in self.heads)

    def parts(self, seed: int) -> dict[str, tuple[Head, ...]]:
        """Each K: a group's heads of this circuit, then random halves; never none or all of it."""
        found = {
            name: tuple(head for head in self.heads if head in set(some)) for name, some in self.groups.items()
        }
        half = len(self.heads) // 2
        for number in range(1, RANDOM_PARTS + 1):
            draw = random.Random(f"{seed} {self.name} {number}")
            found[f"random half {number}"] = tuple(sorted(draw.sample(list(self.heads), half)))
        return {name: some for name, some in found.items() if 0 < len(some) < len(self.heads)}

    def asked(self, nodes: Sequence[Site], seed: int) -> list[Live]:
        """The sets of live nodes that the measures need."""
        every = frozenset(nodes)
        found = [self.live, every - self.live]
        for part in self.parts(seed).values():
            gone = frozenset(head.site() for head in part)
            found += [self.live - gone, every - gone]
        return found

    def alone(self, found: Kept, nodes: Sequence[Site], held: str) -> CircuitKept:
        """Faithfulness and necessity."""
        names = tuple(map(str, self.heads))
        without = frozenset(nodes) - self.live
        return CircuitKept(self.name, names, held, found.share(self.live), found.share(without))

    def completeness(self, found: Kept, nodes: Sequence[Site], held: str, seed: int) -> list[Completeness]:
        every, rows = frozenset(nodes), []
        for name, part in self.parts(seed).items():
            gone = frozenset(head.site() for head in part)
            inside, outside = self.live - gone, every - gone
            rows.append(
                Completeness(
                    self.name, name, held, tuple(map(str, part)), found.share(inside), found.share(outside),
                    found.difference(inside, outside),
                )
            )  # fmt: skip
        return rows
