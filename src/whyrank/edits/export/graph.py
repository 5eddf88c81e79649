"""What is exported of each family: a module from token ids to what an engine needs, by the checkpoint's own
library.

    cross-encoder      logits [B, labels]
    bi-encoder         last_hidden_state [B, S, d], sentence_embedding [B, d]: pooled, and normalised if the ranker
    is late interaction   token_embeddings [B, S, d]: projected and normalised; the caller cuts padding and
    punctuation sparse             term_weights [B, V]: log(1 + ReLU(logit)), the maximum over tokens

The forward pass is that of transformers, not ours, so that the check against our scores compares two programs.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from whyrank.core.errors import UserError
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.sparse import Sparse

#: The operators that all of it is written in; old enough for the engines of the guide.
OPSET = 17
IDS, MASK, TYPES = "input_ids", "attention_mask", "token_type_ids"


class Graph(nn.Module):
    """The module that is exported; `outputs` are the names of what it returns, and which axes grow."""

    outputs: ClassVar[dict[str, dict[int, str]]]

    def __init__(self, ranker: NeuralRanker) -> None:
        super().__init__()
        self.model = copy.deepcopy(ranker.model).cpu().eval()  # type: ignore[attr-defined]
        self.types = ranker.pieces.types

    @property
    def inputs(self) -> list[str]:
        return [IDS, MASK, *([TYPES] if self.types else [])]

    def run(self, ids: Tensor, mask: Tensor, types: Tensor | None) -> object:
        """The model's own output."""
        more = {TYPES: types} if types is not None else {}
        return self.model(input_ids=ids, attention_mask=mask, **more)


class CrossGraph(Graph):
    outputs: ClassVar[dict[str, dict[int, str]]] = {"logits": {0: "batch"}}

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        found: Tensor = self.run(ids, mask, types).logits  # type: ignore[attr-defined]
        return found


class BiGraph(Graph):
    outputs: ClassVar[dict[str, dict[int, str]]] = {
        "last_hidden_state": {0: "batch", 1: "sequence"},
        "sentence_embedding": {0: "batch"},
    }

    def __init__(self, ranker: BiEncoder) -> None:
        super().__init__(ranker)
        self.pooling, self.normalise = ranker.pooling, ranker.normalise

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> tuple[Tensor, Tensor]:
        hidden: Tensor = self.run(ids, mask, types).last_hidden_state  # type: ignore[attr-defined]
        real = mask[..., None].to(hidden.dtype)
        pooled = hidden[:, 0] if self.pooling == "cls" else (hidden * real).sum(dim=1) / real.sum(dim=1)
        return hidden, functional.normalize(pooled, dim=-1) if self.normalise else pooled


class LateGraph(Graph):
    outputs: ClassVar[dict[str, dict[int, str]]] = {"token_embeddings": {0: "batch", 1: "sequence"}}

    def __init__(self, ranker: LateInteraction) -> None:
        super().__init__(ranker)
        projection = ranker.projection
        self.projection = None if projection is None else nn.Parameter(projection.detach().cpu().clone(), False)

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        hidden: Tensor = self.run(ids, mask, types).last_hidden_state  # type: ignore[attr-defined]
        return functional.normalize(hidden if self.projection is None else hidden @ self.projection.T, dim=-1)


class SparseGraph(Graph):
    outputs: ClassVar[dict[str, dict[int, str]]] = {"term_weights": {0: "batch"}}

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> Tensor:
        logits: Tensor = self.run(ids, mask, types).logits  # type: ignore[attr-defined]
        return torch.log1p(torch.relu(logits * mask[..., None].to(logits.dtype))).amax(dim=1)


@dataclass(frozen=True)
class Written:
    """What was written: the inputs and outputs of the graph."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def graph_of(ranker: NeuralRanker) -> Graph:
    """The module of the ranker's family."""
    if isinstance(ranker, BiEncoder):
        return BiGraph(ranker)
    if isinstance(ranker, LateInteraction):
        return LateGraph(ranker)
    if isinstance(ranker, CrossEncoder | Sparse):
        return (CrossGraph if isinstance(ranker, CrossEncoder) else SparseGraph)(ranker)
    raise UserError(
        f"{ranker.name} ({ranker.kind}) cannot be exported",
        todo="cross-encoder, bi-encoder, late interaction and sparse can, and a trained BERT",
    )


def write_onnx(ranker: NeuralRanker, path: Path) -> Written:
    """The ranker's graph as ONNX, for batches and sequences of any size."""
    graph = graph_of(ranker)
    example = torch.ones((2, 5), dtype=torch.long)
    given = (example, example, *([torch.zeros_like(example)] if graph.types else []))
    axes = {name: {0: "batch", 1: "sequence"} for name in graph.inputs} | graph.outputs
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter(
            "ignore"
        )  # of tracing: what it may have got wrong, the check against our scores sees
        torch.onnx.export(
            graph, given, str(path), input_names=graph.inputs, output_names=list(graph.outputs), dynamic_axes=axes,
            opset_version=OPSET, dynamo=False,
        )  # fmt: skip
    return Written(tuple(graph.inputs), tuple(graph.outputs))
