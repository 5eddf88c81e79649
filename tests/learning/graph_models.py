"""Tiny DGRe and LGRe models in float64 on a random backbone, and examples of unequal length for them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.checkpoints import tokenizer
from tests.learning.literal_graphs import Literal
from tests.tiny import LONGEST, shaken, tiny_model
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.models.dgre import DGRe, DGReSettings
from whyrank.learning.models.graph_network import GraphNetwork
from whyrank.learning.models.lgre import LGRe, LGReSettings
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.ranker import Source
from whyrank.text.pieces import Pieces

#: Better documents first, then worse ones of the same queries; the second and fourth are two chunks of 16 tokens.
#: Where one query has its last words, the other's document has begun.
PAIRS = [
    ("how many people live", "people live in berlin"),
    ("red cat", "the red cat sat on a mat in the blue house and the slow dog runs on a tree"),
    ("how many people live", "a tree"),
    ("red cat", "the house in berlin runs slow and many people live in a red house on the mat"),
]
QUERIES = [0, 1, 0, 1]
LENGTH = 16


def backbone() -> Backbone:
    pieces = Pieces(tokenizer("bert").backend_tokenizer, LONGEST, pad_id=0)
    checkpoint = Checkpoint("tiny", Path("tiny"), Source("made up", "float64"))
    return Backbone(copy.deepcopy(tiny_model("bert")), pieces, checkpoint)


def dgre(**settings: Any) -> DGRe:
    return _shaken(DGRe, DGReSettings(**{"max_length": LENGTH, **settings}))


def lgre(**settings: Any) -> LGRe:
    return _shaken(LGRe, LGReSettings(**{"max_length": LENGTH, **settings}))


def _shaken(kind: type[GraphNetwork], settings: Any) -> Any:
    """The same weights each time, the head's so large that every one of them matters."""
    start = backbone()
    torch.manual_seed(0)
    model = kind(settings, start)
    for name, module in model.named_children():
        if name not in ("backbone", "critics"):
            shaken(module, seed=len(name))
    if model.graphs.thresholds is not None:
        model.graphs.thresholds.data.fill_(0.05)
    return model.double().eval()


def state_arrays(model: GraphNetwork, batch: Chunks) -> list[list[np.ndarray]]:
    """The refined layers' states of each example: example -> layer -> [tokens of all its chunks, d]."""
    with torch.no_grad():
        states = model.backbone(batch.inputs)[-model.refined_layers :]
    return [
        [state[batch.owner == i][batch.real[batch.owner == i]].numpy() for state in states]
        for i in range(batch.examples)
    ]


def literal(model: GraphNetwork, batch: Chunks, example: int) -> Literal:
    """The slow model of one example, with this model's weights."""
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    mine = batch.owner == example
    rows = zip(batch.inputs.ids[mine], batch.real[mine], strict=True)
    return Literal(model.settings, weights, [ids[real].tolist() for ids, real in rows])
