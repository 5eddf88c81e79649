"""Networks so small that a test knows what they compute: one reads [CLS], one all layers, one has a critic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import nn

from whyrank.learning.models.catalogue import MODELS
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.network import NetworkSettings, Output, TransformerNetwork
from whyrank.rankers.find import find_checkpoint

PLACE = "tests.learning.tiny_networks"
NAMES = {
    "tiny-cls": f"{PLACE}:TinyCls",
    "tiny-layers": f"{PLACE}:TinyLayers",
    "tiny-critic": f"{PLACE}:TinyCritic",
    "tiny-broken": f"{PLACE}:TinyBroken",
}


def register(monkeypatch):
    """Makes the networks known by name for a test."""
    for name, place in NAMES.items():
        monkeypatch.setitem(MODELS, name, place)


def backbone_of(folder):
    return replace(find_checkpoint(str(folder)), settings={})


@dataclass(frozen=True)
class TinySettings(NetworkSettings):
    chunks: int = 1
    dropout: float = 0.0


class TinyCls(TransformerNetwork):
    """g = w . CLS + b, averaged over chunks."""

    name = "tiny-cls"
    Settings: ClassVar = TinySettings
    reads_cls_only: ClassVar = True

    def __init__(self, settings, backbone):
        super().__init__(settings, backbone, Chunker(backbone.pieces, settings.max_length, settings.chunks))
        self.dropout, self.score = nn.Dropout(settings.dropout), nn.Linear(backbone.width, 1)

    @classmethod
    def of(cls, settings, ingredients):
        return cls(settings, ingredients.backbone())

    def head(self, states, chunks):
        pooled = chunks.mean_over_chunks(states[-1][:, 0])
        return Output(self.score(self.dropout(pooled))[:, 0], {"cls": pooled})


class TinyLayers(TinyCls):
    """g = sum over layers of w_l . (mean query state * mean document state), tanh."""

    name = "tiny-layers"
    reads_cls_only: ClassVar = False

    def __init__(self, settings, backbone):
        super().__init__(settings, backbone)
        self.weights = nn.Parameter(torch.randn(backbone.layers + 1, backbone.width))

    def head(self, states, chunks):
        total = 0
        for weight, state in zip(self.weights, states, strict=True):
            query = _mean(state, chunks.query)
            document = _mean(state, chunks.document | chunks.final)
            total = total + torch.tanh(chunks.mean_over_chunks(query * document)) @ weight
        return Output(total + states[-1][:, 0].sum() * 0, {})


class TinyCritic(TinyCls):
    """A critic that learns to tell the query of an example from its [CLS], which the network learns to hide."""

    name = "tiny-critic"

    def __init__(self, settings, backbone):
        super().__init__(settings, backbone)
        self.critics = nn.Linear(backbone.width, 1)
        self.register_buffer("seen", torch.zeros(()))

    def critic_loss(self, output, queries):
        assert not output.scores.requires_grad
        self.seen += 1
        return (self.critics(output.parts["cls"])[:, 0] - torch.tensor(queries).float()).square().mean()

    def losses(self, output, queries):
        given = torch.tensor(queries).float()
        away = (self.critics(output.parts["cls"])[:, 0] - given).square().mean()
        return {**super().losses(output, queries), "hiding": -0.01 * away}


class TinyBroken(TinyCls):
    """Its second loss is NaN from the third step on."""

    name = "tiny-broken"

    def __init__(self, settings, backbone):
        super().__init__(settings, backbone)
        self.register_buffer("steps", torch.zeros(()))

    def losses(self, output, queries):
        self.steps += 1
        extra = output.scores.mean() * (float("nan") if self.steps > 2 else 0.0)
        return {**super().losses(output, queries), "extra": extra}


def _mean(state, mask):
    return (state * mask[..., None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp_min(1)
