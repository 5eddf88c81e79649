"""What LGRe and DGRe share: a word graph at each layer, words refined by it, a score read out of all layers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor
from torch.nn.functional import normalize

from whyrank.core.errors import UserError
from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.distances import COMPARED, DISTANCES, distance_loss
from whyrank.learning.models.graph_layers import GatedGraph, GatedPool, GraphBuilder, GraphShape, LayerReadout
from whyrank.learning.models.network import Ingredients, NetworkSettings, Output, TransformerNetwork
from whyrank.learning.models.pooling import Packing, mean_of_words
from whyrank.learning.models.sides import Sides
from whyrank.learning.models.word_graph import MASKINGS, NORMS
from whyrank.learning.settings_values import one_of, share


@dataclass(frozen=True)
class GraphSettings(NetworkSettings):
    """`chunks`: the most a document is read in. `masking`: none, heuristic, adaptive or learned. `steps`: T of
    Eq. 11. `layers`: the last so many states are refined, all without a number. `embedding_state`: the embedding
    output is one of them, as in LGRe's published code; Eq. 16 has the layers only. `norm`: the infinity norm of a
    graph is its largest `element` or its largest sum of a `row`. `shared_projection`: one W_A for all layers, as
    Eq. 8 is written, not one each. `specials` and `neighbours`: the relations that LGRe's code adds (`sides`).
    `gate_bias`: the gates of Eq. 11 have biases, as in LGRe's code. `dense`: graphs always as S x S matrices.
    `distance`: none, point, pair or triangle; `literal_distance` as it is printed; `distance_of` the `means` of
    two texts' words or of the `words`, every one with every one; `weight`: the lambda of all losses but the
    rank's. `dropout`: of what is read out of a layer."""

    rank_loss: str = "sigmoid"
    chunks: int = 4
    masking: str = "adaptive"
    steps: int = 2
    layers: int | None = None
    embedding_state: bool = False
    norm: str = "element"
    shared_projection: bool = False
    specials: bool = False
    neighbours: bool = False
    gate_bias: bool = False
    dense: bool = False
    distance: str = "triangle"
    literal_distance: bool = False
    distance_of: str = "means"
    weight: float = 1e-2
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("masking", self.masking, MASKINGS)
        one_of("norm", self.norm, NORMS)
        one_of("distance", self.distance, DISTANCES)
        one_of("distance_of", self.distance_of, COMPARED)
        at_least("chunks", self.chunks, 1)
        at_least("steps", self.steps, 1)
        at_least("layers", 1 if self.layers is None else self.layers, 1)
        at_least("weight", self.weight, 0)
        share("dropout", self.dropout)


class Scene(NamedTuple):
    """A batch as every layer sees it."""

    chunks: Chunks
    sides: Sides
    packing: Packing


class LayerRead(NamedTuple):
    """The vectors [B, d] that a layer's value is made of, and parts that losses and figures read."""

    vectors: list[Tensor]
    parts: dict[str, Tensor]


class GraphNetwork(TransformerNetwork):
    """The `refined` words of each `layer` -> a few vectors -> a value; all values -> g."""

    def __init__(self, settings: Any, backbone: Backbone, vectors: int = 2) -> None:
        """`vectors` says how many are read out of a layer."""
        super().__init__(settings, backbone, Chunker(backbone.pieces, settings.max_length, settings.chunks))
        states = backbone.layers + settings.embedding_state
        if (settings.layers or 1) > states:
            raise UserError(f"layers cannot be {settings.layers}", todo=f"this backbone has {states} to refine")
        self.refined_layers = settings.layers or states
        shape = GraphShape(settings.masking, settings.norm, settings.shared_projection, settings.dense)
        self.graphs = GraphBuilder(backbone.width, self.refined_layers, shape)
        self.gated = GatedGraph(backbone.width, settings.steps, settings.gate_bias)
        self.pool = GatedPool(backbone.width)
        self.readout = LayerReadout(backbone.width, self.refined_layers, vectors, settings.dropout)

    @classmethod
    def of(cls, settings: Any, ingredients: Ingredients) -> Self:
        return cls(settings, ingredients.backbone())

    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        scene, values = self.scene(chunks), []
        for layer, state in enumerate(states[-self.refined_layers :]):
            read = self.layer(layer, state, scene)
            values.append(self.readout.value(layer, read.vectors))
        together = torch.stack(values, dim=1)
        parts = {**self._of_last(states[-1], chunks), **read.parts, "values": together}
        return Output(self.readout(together), parts)

    def scene(self, chunks: Chunks) -> Scene:
        sides = Sides.of(chunks, self.settings.specials, self.settings.neighbours)
        return Scene(chunks, sides, Packing(chunks))

    def refined(self, layer: int, state: Tensor, scene: Scene) -> Tensor:
        """The words [N, d] of a state [C, S, d] after T steps, packed."""
        graph = self.graphs(layer, state, scene.sides, scene.packing)
        return self.gated(state, graph, scene.packing)

    @abstractmethod
    def layer(self, layer: int, state: Tensor, scene: Scene) -> LayerRead:
        """From a layer's state [C, S, d] to what is read out of it."""

    def _of_last(self, state: Tensor, chunks: Chunks) -> dict[str, Tensor]:
        """What the distances read of the transformer's last layer, [B, d] each."""
        words = normalize(state, dim=-1) if self.settings.distance_of == "words" else state
        return {
            "cls": chunks.mean_over_chunks(state[:, 0]),
            "query_words": mean_of_words(words, chunks.query, chunks),
            "document_words": mean_of_words(words, chunks.document, chunks),
        }

    def losses(self, output: Output, queries: Sequence[int]) -> dict[str, Tensor]:
        """Rank, and lambda times the distance."""
        found = super().losses(output, queries)
        if self.settings.distance != "none":
            how = self.settings.literal_distance, self.settings.distance_of
            found["distance"] = self.settings.weight * distance_loss(output.parts, self.settings.distance, *how)
        return found


@dataclass(frozen=True, eq=False)
class WordRelations:
    """The rows of A that are query words, the columns that are document words: [m, n], with the word pieces.

    A document in chunks is one document: each of its words meets the copy of the query in its own chunk.
    """

    query: tuple[str, ...]
    document: tuple[str, ...]
    relations: Tensor

    @classmethod
    def of(cls, model: GraphNetwork, batch: Chunks, masking: str | None = None, layer: int = -1) -> WordRelations:
        """The relations of a batch of one example at one of the refined layers (the last: -1)."""
        _check(model, batch, masking)
        layer = range(model.refined_layers)[layer]
        state = model.backbone(batch.inputs)[-model.refined_layers :][layer]
        scene = model.scene(batch)
        found = model.graphs(layer, state, scene.sides, scene.packing, masking).matrix()
        blocks = [a[q][:, d] for a, q, d in zip(found, batch.query, batch.document, strict=True)]
        ids, name = batch.inputs.ids, model.backbone.pieces.tokenizer.id_to_token
        query, document = (
            tuple(str(name(int(one))) for one in some) for some in (ids[0][batch.query[0]], ids[batch.document])
        )
        return cls(query, document, torch.cat(blocks, dim=1))


def _check(model: GraphNetwork, batch: Chunks, masking: str | None) -> None:
    if batch.examples != 1:
        raise ValueError(f"{batch.examples} examples; a word graph is looked at one example at a time")
    one_of("masking", masking or "none", MASKINGS)
    if masking == "learned" and model.graphs.thresholds is None:
        raise UserError("this model has learned no threshold", todo="see it as none, heuristic or adaptive")
