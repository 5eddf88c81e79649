"""A circuit: the heads that a score's change passes through, what they send to whom, and what each is for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from whyrank.circuits.head import Head
from whyrank.circuits.threshold import KEPT
from whyrank.core.errors import UserError, located
from whyrank.core.json_file import read_json
from whyrank.evaluation.interval import Interval

LOGITS, EMBED = "logits", "embed"
ROLES = ("scoring", "contextualization", "matching", "other")
FILE = "circuit.json"


class Edge(NamedTuple):
    """A sender (a head, or the embeddings) to receivers patched together: heads' v, q or k, or logits."""

    sender: str
    receivers: tuple[str, ...]
    part: str | None
    share: float
    interval: Interval
    support: float | None
    status: str
    by_set: dict[str, float | None]

    def to_json(self) -> dict[str, Any]:
        row = self._asdict()
        ends = row.pop("interval").to_json()
        return {**row, **ends}


@dataclass(frozen=True)
class Step:
    """One step of the backward search: all senders to one set of receivers, and those strong enough."""

    number: int
    receivers: tuple[str, ...]
    part: str | None
    cutoff: float
    largest: float
    pairs: dict[str, int]
    queries: int
    edges: tuple[Edge, ...]
    #: Every sender's share, for the map; of those left behind after the first pairs, on these.
    shares: dict[str, float | None]
    #: How many senders were followed on all pairs, and on how many pairs they were chosen.
    followed: int
    chosen_on: int
    #: Correlation between the maps of the first two sets, where there are two.
    between_sets: dict[str, Any] | None = None

    def kept(self) -> list[Edge]:
        return [edge for edge in self.edges if edge.status == KEPT]


@dataclass(frozen=True)
class Circuit:
    """The steps of the search, and the role of each head found."""

    ranker: str
    steps: tuple[Step, ...]
    roles: dict[str, list[Head]] = field(default_factory=dict)
    ended: str = ""

    @property
    def heads(self) -> list[Head]:
        """All heads that some kept edge leaves."""
        return sorted({Head.parse(e.sender) for step in self.steps for e in step.kept() if e.sender != EMBED})

    @property
    def queries(self) -> int:
        """How many the search rests on, at the step that has the fewest."""
        return min(step.queries for step in self.steps)

    def role(self, name: str) -> list[Head]:
        return self.roles.get(name, [])

    def role_of(self, head: Head) -> str | None:
        return next((name for name, heads in self.roles.items() if head in heads), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "ranker": self.ranker,
            "ended": self.ended,
            "heads": [{"head": str(head), "role": self.role_of(head)} for head in self.heads],
            "roles": {name: [str(head) for head in heads] for name, heads in self.roles.items()},
            "edges": [edge.to_json() | {"step": step.number} for step in self.steps for edge in step.edges],
            "steps": [{**vars(step), "edges": None, "receivers": list(step.receivers)} for step in self.steps],
        }


@dataclass(frozen=True)
class RolesOfCircuit:
    """What other commands read of a circuit.json."""

    roles: dict[str, list[str]]


def read_roles(folder: Path) -> dict[str, list[Head]]:
    """The heads of each role in a run of `whyrank circuit`."""
    path = folder / FILE
    if not path.is_file():
        raise UserError("no circuit.json here", where=folder, todo="give the run folder of whyrank circuit")
    told: RolesOfCircuit = read_json(path, RolesOfCircuit, todo="give the run folder of whyrank circuit")
    with located(path):
        return {name: heads_of(heads) for name, heads in told.roles.items()}


def heads_of(names: Iterable[str]) -> list[Head]:
    return [Head.parse(name) for name in names]
