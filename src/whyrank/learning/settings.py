"""How to train: everything that is not the model's own."""

from __future__ import annotations

from dataclasses import dataclass

from whyrank.core.errors import UserError
from whyrank.core.parameters import at_least
from whyrank.evaluation.measures import parse_measures
from whyrank.learning.optimisation import Descent
from whyrank.learning.settings_values import Setting, share

#: Settings that count something, or set a rate.
COUNTED = ("epochs", "batch", "accumulate", "negatives", "positive", "positives", "patience", "validation_depth")
RATES = ("rate", "backbone_rate", "critic_rate")


@dataclass(frozen=True)
class TrainSettings:
    """The defaults are DGRe's own where its paper says.

    A step learns from `batch` pairs of a better and a worse document, read in `accumulate` parts whose gradients
    are added up. `rate` is the highest learning rate of what starts anew, `backbone_rate` of what is pre-trained,
    `critic_rate` the critics' (always the same); the rates rise over the share `warm_up` of all steps and then
    fall to 0. `decay` is the weight decay of matrices, `clip` the largest norm of a gradient.

    Candidates graded `positive` or more are learned from, at most `positives` per query and epoch, each with so
    many (`negatives`) of a lower grade. With `unfound`, so are relevant documents that the first stage did not
    find: more to learn from, but then the better document is often the one that the first stage ranks lower, which
    it seldom is among candidates. `select` chooses the epoch on the validation queries, by their first
    `validation_depth` candidates or all of them; training ends after `patience` epochs without a better one.
    `measures` are reported on the test queries.
    """

    epochs: int = 20
    batch: int = 32
    accumulate: int = 1
    rate: float = 5e-5
    backbone_rate: float = 1e-5
    critic_rate: float = 1e-4
    warm_up: float = 0.1
    decay: float = 0.01
    clip: float = 1.0
    negatives: int = 1
    positive: int = 1
    positives: int | None = None
    unfound: bool = False
    patience: int | None = None
    validation_depth: int | None = None
    select: str = "nDCG@20"
    measures: tuple[str, ...] = ("P@20", "nDCG@20")

    def __post_init__(self) -> None:
        for name in COUNTED:
            value = getattr(self, name)
            if value is not None:
                at_least(name, value, 1)
        for name in RATES:
            value = getattr(self, name)
            if not 0 < value < 1:
                raise UserError(f"{name} cannot be {value:g}", todo="give a small number, such as 1e-5")
        share("warm_up", self.warm_up)
        at_least("decay", self.decay, 0)
        if not 0 < self.clip < float("inf"):
            raise UserError(f"clip cannot be {self.clip}", todo="give the largest norm of a gradient, such as 1")
        if self.accumulate > self.batch:
            raise UserError(
                f"accumulate cannot be {self.accumulate}", todo=f"a batch of {self.batch} has no more parts"
            )
        if not self.measures:
            raise UserError("measures cannot be empty", todo="give one or more, such as P@20,nDCG@20")
        object.__setattr__(self, "select", str(parse_measures([self.select])[0]))
        object.__setattr__(self, "measures", tuple(dict.fromkeys(map(str, parse_measures(self.measures)))))

    @property
    def descent(self) -> Descent:
        return Descent(self.warm_up, self.decay, self.clip)


@dataclass(frozen=True)
class AllSettings:
    """Every setting with its value: the model's and the training's."""

    model: dict[str, Setting]
    training: TrainSettings
