"""What every trained model is: from texts to scores, and from scores of better and worse documents to losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import torch
from torch import Tensor, nn

from whyrank.collections.collection import Collection
from whyrank.core.parameters import at_least
from whyrank.learning.models.backbone import Backbone
from whyrank.learning.models.chunker import Chunker
from whyrank.learning.models.chunks import Chunks
from whyrank.learning.settings_values import one_of
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.ranker import Pair

RANK_LOSSES = ("sigmoid", "raw")
T = TypeVar("T")


class Output(NamedTuple):
    """The scores g [B], and what else of the pass the losses need: name -> [B, ...]."""

    scores: Tensor
    parts: dict[str, Tensor]

    def detached(self) -> Output:
        return Output(self.scores.detach(), {name: part.detach() for name, part in self.parts.items()})


@dataclass(frozen=True)
class Ingredients:
    """What a new model is made of: the checkpoint of its backbone and, to count words in, the collection.

    A model that is `untrained` is about to be given trained weights and needs neither. What is made of the
    collection is made once for all models of the same ingredients.
    """

    checkpoint: Checkpoint
    collection: Collection | None = None
    untrained: bool = False
    _made: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def backbone(self) -> Backbone:
        return Backbone.untrained(self.checkpoint) if self.untrained else Backbone.of(self.checkpoint)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What was made under this name, made where it was not; whoever changes it changes a copy."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


@dataclass(frozen=True)
class NetworkSettings:
    """The settings of every model. `rank_loss` is `sigmoid` (of f = sigmoid(g), as DGRe's equations) or `raw`
    (of g itself, as the other papers); `margin` is the hinge's."""

    max_length: int = 512
    rank_loss: str = "raw"
    margin: float = 1.0

    def __post_init__(self) -> None:
        at_least("max_length", self.max_length, 1)
        one_of("rank_loss", self.rank_loss, RANK_LOSSES)
        at_least("margin", self.margin, 0)


class Network(nn.Module, ABC):
    """A model that scores (query, document).

    A batch of training has the better documents in its first half and the worse ones, of the same queries in the
    same order, in its second.
    """

    #: What `--model` calls it.
    name: ClassVar[str]
    #: The dataclass of its settings.
    Settings: ClassVar[type[NetworkSettings]] = NetworkSettings
    settings: Any
    #: Estimators with an optimiser of their own, which only ever goes up their bounds; None where there are none.
    critics: nn.Module | None

    def __init__(self) -> None:
        super().__init__()
        self.critics = None  # not on the class, where it would hide the module that a model registers

    @classmethod
    @abstractmethod
    def of(cls, settings: Any, ingredients: Ingredients) -> Self: ...

    @abstractmethod
    def read(self, pairs: Sequence[Pair]) -> Any:
        """The texts as this model reads them: a batch with `examples` and `cut`."""

    @abstractmethod
    def output(self, batch: Any) -> Output: ...

    def forward(self, batch: Any) -> Tensor:
        """The scores [B]."""
        return self.output(batch).scores

    def losses(self, output: Output, queries: Sequence[int]) -> dict[str, Tensor]:
        """What the model goes down, by name, weighted: their sum is the total. `queries` [B] numbers the query of
        each example. What is learned matters through the output alone: each of several processes has the outputs
        of a whole batch, and gradients through its share of them."""
        return {"rank": self.rank_loss(output.scores)}

    def rank_loss(self, scores: Tensor) -> Tensor:
        """mean max(0, margin - f+ + f-)"""
        f = torch.sigmoid(scores) if self.settings.rank_loss == "sigmoid" else scores
        better, worse = f.chunk(2)
        return torch.relu(self.settings.margin - better + worse).mean()

    def critic_loss(self, output: Output, queries: Sequence[int]) -> Tensor | None:
        """What the critics go down (minus their bounds), of an output without gradients; None where these examples
        have nothing to teach them."""
        raise NotImplementedError(f"{self.name} has no critics")

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Nothing drops out in this block; after it all is as it was."""
        before = self.training
        self.eval()
        try:
            yield
        finally:
            self.train(before)

    def slow(self) -> list[nn.Parameter]:
        """What is pre-trained, and learns at the lower rate."""
        return []

    def fast(self) -> list[nn.Parameter]:
        """What starts anew, and learns at the higher rate; critics are neither."""
        other = {id(weight) for weight in [*self.slow(), *(self.critics.parameters() if self.critics else ())]}
        return [weight for weight in self.parameters() if id(weight) not in other]


class TransformerNetwork(Network):
    """A model on a backbone: `head` reads the states of all its layers."""

    #: Whether the head reads nothing but states[-1][:, 0], the last layer's [CLS]; it may then be given no other.
    reads_cls_only: ClassVar[bool] = False

    def __init__(self, settings: Any, backbone: Backbone, chunker: Chunker) -> None:
        super().__init__()
        self.settings, self.backbone, self.chunker = settings, backbone, chunker

    def read(self, pairs: Sequence[Pair]) -> Chunks:
        return self.chunker.of(pairs, self.backbone.encoder.device)

    def output(self, batch: Chunks) -> Output:
        return self.head(self.backbone(batch.inputs), batch)

    @abstractmethod
    def head(self, states: list[Tensor], chunks: Chunks) -> Output:
        """From L' states [C, S, d] to scores [B]."""

    def slow(self) -> list[nn.Parameter]:
        return list(self.backbone.parameters())
