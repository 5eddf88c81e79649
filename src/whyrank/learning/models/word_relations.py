"""A word graph to look at: how an example's query words are related to its document words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.learning.models.checks import one_of
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.models.word_graph import MASKINGS


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
