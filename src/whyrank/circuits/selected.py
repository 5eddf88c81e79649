"""What the choice of heads rests on: what they do to the score on both halves of the queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from whyrank.circuits.criterion import UNTESTED
from whyrank.circuits.head import Head
from whyrank.circuits.threshold import KEPT
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import Estimate, p_text
from whyrank.pages.numbers import counted


@dataclass(frozen=True)
class SelectionSet:
    """One set of pairs: its mean gap on the selection half, the least |share of the gap| that counts, what the
    usual head has, how many pairs and queries each half has; and why it decides nothing, if it does not."""

    gap: Estimate
    cutoff: float | None
    usual: float | None
    pairs: tuple[int, ...]
    queries: tuple[int, ...]
    why_not: str | None = None


@dataclass(frozen=True)
class InSet:
    """A head's total effect in one set, as a share of the gap: on the half where it was chosen, and on the other
    one, with p of the latter."""

    chosen: Estimate
    confirmed: Estimate | None = None
    p: float | None = None


@dataclass(frozen=True)
class SelectedHead:
    """A head that was chosen: how far it stands out in usual heads (in the set where it does least), its sign, and
    whether the other half confirms it. p is the largest of the deciding sets', corrected over all chosen heads."""

    head: str
    standing: float | None
    sign: int
    status: str
    p: float | None
    p_holm: float | None
    by_set: dict[str, InSet]

    @property
    def is_in_circuit(self) -> bool:
        return self.status in (KEPT, UNTESTED)


@dataclass(frozen=True)
class Agreement:
    """Integrated gradients beside exact patching, on a few pairs: r over all heads by set, and how many of the
    chosen heads are among the third of all heads that a screen by gradients would keep."""

    steps: int
    pairs: int
    pearson: dict[str, float | None]
    screened: int
    chosen_in_screen: int


@dataclass(frozen=True)
class Selection:
    """The heads chosen on one half of the queries by their total effect on the score, and what the other half
    says. `every`: by set, each head's share of the gap on the selection half."""

    threshold: str
    tested: bool
    sets: dict[str, SelectionSet]
    heads: tuple[SelectedHead, ...]
    every: dict[str, dict[str, float | None]] = field(default_factory=dict)
    gradients: Agreement | None = None

    @property
    def members(self) -> list[Head]:
        """The heads of the circuit."""
        return sorted(Head.parse(one.head) for one in self.heads if one.is_in_circuit)

    @property
    def deciding(self) -> list[str]:
        return [name for name, one in self.sets.items() if one.why_not is None]

    def with_status(self, status: str) -> list[SelectedHead]:
        return [one for one in self.heads if one.status == status]

    def nothing(self) -> tuple[str, str]:
        """Why there is no circuit, where no head is kept, and what to do."""
        if not self.heads:
            what = f"no head stands out in every set of pairs that decides (threshold {self.threshold})"
            return what, "lower it, such as deviations=2, or give more pairs"
        count = len(self.heads)
        best = min(self.heads, key=lambda one: 1.0 if one.p_holm is None else one.p_holm)
        p = "" if best.p_holm is None else f", the surest {short_name(best.head)} with p {p_text(best.p_holm)}"
        what = f"of {counted(count, 'head')} chosen on one half of the queries the other confirms none{p}"
        return what, "give pairs of more queries, or set heads of your own"
