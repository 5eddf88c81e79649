"""The edges of a ranker: every sender to every receiver above it, as ACDC and EAP-IG have them.

Senders are the embeddings, every head's output and every MLP's; receivers the query, key and value of every head,
every MLP's input, and the logits. An edge is a place in a matrix [receivers, senders]; a set of edges is a matrix
of booleans. Every sender adds to one residual stream, so each reaches every receiver that reads it further up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import Site

if TYPE_CHECKING:
    import numpy as np

PARTS = ("q", "k", "v")
#: How often a layer adds to the stream: its heads, then its MLP.
STEPS = 2


@dataclass(frozen=True)
class EdgeGraph:
    """The graph of an encoder of so many layers and heads."""

    layers: int
    heads: int

    @classmethod
    def of(cls, encoder: Encoder) -> EdgeGraph:
        return cls(encoder.layers, encoder.heads)

    @cached_property
    def senders(self) -> tuple[Site, ...]:
        """From the bottom up: embeddings, then layer by layer its heads and its MLP."""
        found = [Site("embed")]
        for layer in range(self.layers):
            found += [Site("z", layer, head) for head in range(self.heads)]
            found.append(Site("mlp", layer))
        return tuple(found)

    @cached_property
    def receivers(self) -> tuple[Site, ...]:
        """From the bottom up: layer by layer its heads' q, k and v and its MLP, then the logits."""
        found = []
        for layer in range(self.layers):
            found += [Site(part, layer, head) for head in range(self.heads) for part in PARTS]
            found.append(Site("mlp", layer))
        return (*found, Site("logits"))

    @cached_property
    def possible(self) -> np.ndarray:
        """Which edges there are: [receivers, senders]."""
        import numpy as np

        sent = np.array([self.place(one) + (one.part != "embed") for one in self.senders])
        read = np.array([self.place(one) for one in self.receivers])
        return sent[None, :] <= read[:, None]

    @property
    def count(self) -> int:
        return int(self.possible.sum())

    def place(self, site: Site) -> int:
        """How far up the stream: of a receiver, where it reads; a sender is added one further up."""
        if site.part == "logits":
            return STEPS * self.layers
        if site.part == "embed":
            return 0
        assert site.layer is not None
        return STEPS * site.layer + (site.part == "mlp")

    def heads_at(self, layer: int) -> slice:
        """The senders that are heads of a layer."""
        first = 1 + layer * (self.heads + 1)
        return slice(first, first + self.heads)

    def mlp_at(self, layer: int) -> int:
        return (layer + 1) * (self.heads + 1)

    def receiver(self, site: Site) -> int:
        return self.receivers.index(site)

    def head_receivers(self, layer: int) -> slice:
        """The q, k and v of a layer's heads, head by head."""
        first = layer * (len(PARTS) * self.heads + 1)
        return slice(first, first + len(PARTS) * self.heads)

    def mlp_receiver(self, layer: int) -> int:
        return (layer + 1) * (len(PARTS) * self.heads + 1) - 1

    def none(self) -> np.ndarray:
        import numpy as np

        return np.zeros(self.possible.shape, dtype=bool)

    def of_nodes(self, live: frozenset[Site]) -> np.ndarray:
        """All edges between the embeddings, these heads and MLPs (as in `L4.H9.z`, `L4.mlp`), and the logits."""
        import numpy as np

        sends = np.array([one.part == "embed" or one in live for one in self.senders])
        reads = np.array([one.part == "logits" or self._node(one) in live for one in self.receivers])
        return self.possible & sends[None, :] & reads[:, None]

    def first(self, order: np.ndarray, size: int) -> np.ndarray:
        """The first edges of an order, which holds places in the flattened matrix."""
        found = self.none()
        found.ravel()[order[:size]] = True
        return found

    def name(self, edge: int) -> str:
        """`L4.H9>L10.H1.v`"""
        receiver, sender = divmod(int(edge), len(self.senders))
        return f"{str(self.senders[sender]).removesuffix('.z')}>{self.receivers[receiver]}"

    def _node(self, receiver: Site) -> Site:
        return Site("z", receiver.layer, receiver.head) if receiver.part in PARTS else receiver
