"""What `patch` is asked to do: the options, which of them go together, and the work that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from whyrank.axioms.pair import MinimalPair
from whyrank.core.errors import UserError, nearest
from whyrank.core.parameters import check_counts, check_seed
from whyrank.encoders.encoder import Encoder
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.activation import Activation
from whyrank.interventions.attribution import Attribution
from whyrank.interventions.intervention import Intervention
from whyrank.interventions.path import LOGITS, PathPatching
from whyrank.interventions.plan import SitePlan

METHODS = ("activation", "path", "attribution", "ablation")


class PatchArguments(TypedDict, total=False):
    """What `patch` does, and where.

    `method`: `activation`, `path`, `attribution` or `ablation`; `sites`: `heads`, `blocks`, or names with commas
    (`5.5,5.3@inj,L4.mlp`); `by`: cut each by `position` or `category`; `to`: receivers of a path (`logits`, or
    `L10.H1.v,L10.H4.v`); `direction`: `denoise` or `noise`; `freeze_mlp`: hold MLPs, too (path); `ablate`: `zero`,
    `mean` or `resample`; `reference`: pairs whose baselines mean and resample draw on (these pairs); `steps`:
    over which the gradient is integrated (attribution); `screen`: attribution first, then this many sites exactly;
    `check`: how many pairs attribution is compared on with exact patching (16); `side`: which encoder reads the
    texts that differ, `document` or `query`; `seed`.
    """

    method: str
    sites: str
    by: str | None
    to: str
    direction: str
    freeze_mlp: bool
    ablate: str | None
    reference: Path | str | Sequence[MinimalPair] | None
    steps: int
    screen: int | None
    check: int
    side: str
    seed: int


@dataclass(frozen=True)
class PatchOptions:
    """The arguments, with their defaults; refused where they do not go together."""

    method: str = "activation"
    sites: str = "heads"
    by: str | None = None
    to: str = LOGITS
    direction: str = "denoise"
    freeze_mlp: bool = False
    ablate: str | None = None
    reference: Path | str | Sequence[MinimalPair] | None = None
    steps: int = 0
    screen: int | None = None
    check: int = 16
    side: str = "document"
    seed: int = 0

    @classmethod
    def of(cls, arguments: PatchArguments) -> PatchOptions:
        """Refuses a name that is not an option."""
        for name in arguments.keys() - PatchArguments.__annotations__.keys():
            raise UserError(f"there is no option '{name}'", todo=nearest(name, PatchArguments.__annotations__))
        return cls(**arguments)

    def __post_init__(self) -> None:
        check_counts(0, steps=self.steps)
        check_counts(1, check=self.check, screen=self.screen)
        check_seed(self.seed)
        if self.method not in METHODS:
            raise UserError(f"unknown method '{self.method}'", todo=f"choose {', '.join(METHODS)}")
        if self.screen is not None and self.method not in ("activation", "attribution"):
            raise UserError(f"screen does not go with {self.method}", todo="it screens activation patching")
        for name, given, method in (
            ("freeze_mlp", self.freeze_mlp, "path"),
            ("to", self.to != LOGITS, "path"),
            ("ablate", self.ablate is not None, "ablation"),
            ("steps", bool(self.steps) and not self.approximate, "attribution"),
        ):
            if given and self.method != method:
                raise UserError(f"{name} does not go with {self.method}", todo=f"it belongs to method '{method}'")
        if self.reference is not None and self.ablate not in ("mean", "resample"):
            raise UserError("a reference is for ablate 'mean' or 'resample'", todo="drop it")

    @property
    def approximate(self) -> bool:
        """Whether attribution comes first."""
        return self.method == "attribution" or self.screen is not None

    @property
    def kind(self) -> str | None:
        """How an ablation ablates."""
        return (self.ablate or "zero") if self.method == "ablation" else None

    def intervention(self, reference: Sequence[MinimalPair]) -> Intervention:
        """The intervention; `reference` are the pairs whose baselines an ablation takes its values from."""
        if self.approximate:
            return Attribution(self.direction, self.steps)
        if self.method == "path":
            return PathPatching.to(self.to, freeze_mlp=self.freeze_mlp, direction=self.direction)
        if self.kind:
            return Ablation(self.kind, self.direction, self.seed).with_reference(reference)
        return Activation(self.direction)

    def plan(self, encoder: Encoder, intervention: Intervention) -> SitePlan:
        """The sites; of all heads or blocks, those that can send to the receivers."""
        keep = intervention.reached_from if isinstance(intervention, PathPatching) else None
        plan = SitePlan.parse(self.sites, encoder, self.by, keep)
        if not plan.sets:
            raise UserError(f"no site of '{self.sites}' is below {self.to}", todo="choose a receiver higher up")
        intervention.check(encoder, plan.sets)
        return plan

    def inputs(self) -> dict[str, object]:
        """What the rows depend on, beside the ranker and the pairs (of both)."""
        return {name: value for name, value in vars(self).items() if name != "reference"}
