"""What the two-token experiment returns: curves of the edit and of its controls over scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from whyrank.core.results import Result
from whyrank.edits.against_random import AgainstRandom
from whyrank.edits.edit import DISTANCES
from whyrank.edits.results import DialSummary
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: The edit itself among its controls.
EDIT = "U0"
#: Whether the edit does what a dial does.
DialVerdict = Literal["yes", "no", "cannot tell"]


@dataclass(frozen=True)
class ExperimentPoint:
    """The edit, or a control, at one scale: mean scores from the unedited doc1 on, the share of items with doc1
    above doc2, the attention that was asked for; of a control by how much the edit's doc1 is above its own, of the
    edit how its doc1 stands against all random directions."""

    control: str
    direction: str
    scale: float
    doc1: Estimate
    doc2: Estimate
    doc1_above: Estimate
    attention: Estimate | None = None
    edit_less: Estimate | None = None
    randoms: AgainstRandom | None = None


@dataclass(frozen=True)
class DialSlope:
    """All scales of one direction in one number, so that no scale has to be chosen: how much doc1 moves per unit
    of scale, by least squares through 0, item by item. `randoms`: against random directions; `others`: how much
    more the edit does than each other control.

    It is a dial (`yes`) when doc1 surely moves as meant, and surely farther than random directions move it on
    average; it is none (`no`) when one of both is surely reversed.
    """

    direction: str
    edit: Estimate
    randoms: AgainstRandom
    others: dict[str, Estimate]
    verdict: DialVerdict

    @classmethod
    def judged(
        cls, direction: str, edit: Estimate, randoms: AgainstRandom, others: dict[str, Estimate]
    ) -> DialSlope:
        sign = 1 if direction == "up" else -1
        both = (edit, randoms.edit_less)
        verdict: DialVerdict = "cannot tell"
        if all(one.has_sign(sign) for one in both):
            verdict = "yes"
        elif any(one.has_sign(-sign) for one in both):
            verdict = "no"
        return cls(direction, edit, randoms, others, verdict)

    def text(self, unit: str) -> str:
        """What was found, in a sentence."""
        sign = 1 if self.direction == "up" else -1
        found = {
            "yes": "it is a dial: doc1 moves as meant, and farther than in random directions",
            "no": "it is not a dial: doc1 does not move as meant, or moves farther in random directions",
            "cannot tell": "cannot tell whether it is a dial",
        }[self.verdict]  # fmt: skip
        less = [name for name, one in self.others.items() if one.has_sign(sign)]
        also = f"; surely beyond {', '.join(less)}, too" if less else ""
        not_ = [name for name in self.others if name not in less]
        also += f"; not surely beyond {', '.join(not_)}" if not_ else ""
        return (
            f"Turned {self.direction}, {found}. doc1 moves by {self.edit.text('+.3f')} {unit}, "
            f"{self.randoms.text()}: {self.randoms.edit_less.text('+.3f')} is the edit's own{also}."
        )


@dataclass(frozen=True, repr=False)
class TwoTokenExperiment(Result):
    """Whether U_0 is what a ranker takes for IDF: one word of a query edited, over scales, beside controls."""

    FILE: ClassVar[str] = "edit.json"
    COMMAND: ClassVar[str] = "edit"
    FORMAT: ClassVar[int] = 3

    ranker: str
    source: str
    collection: str
    dial: DialSummary
    items: int
    queries: int
    times: int
    rule: str
    head: str | None
    scales: tuple[float, ...]
    seed: int
    curves: tuple[ExperimentPoint, ...]
    slopes: tuple[DialSlope, ...]
    what: Literal["experiment"] = "experiment"

    @property
    def controls(self) -> list[str]:
        """The names of the edit and its controls, the edit first."""
        return list(dict.fromkeys(point.control for point in self.curves))

    def curve(self, control: str, direction: str) -> list[ExperimentPoint]:
        """The points of one curve, by scale."""
        return [one for one in self.curves if (one.control, one.direction) == (control, direction)]

    def slope(self, direction: str) -> DialSlope:
        """The verdict of one direction."""
        return next(one for one in self.slopes if one.direction == direction)

    def verdict(self) -> list[str]:
        """For each direction, whether it is a dial."""
        unit = f"per {self.rule}" if self.rule in DISTANCES else "per unit of the scale"
        return [one.text(unit) for one in self.slopes]

    def to_pandas(self) -> pd.DataFrame:
        """One row per curve and scale: the means."""
        import pandas as pd

        rows = [
            (one.control, one.direction, one.scale, one.doc1.value, one.doc2.value, one.doc1_above.value)
            for one in self.curves
        ]
        return pd.DataFrame(rows, columns=["control", "direction", "scale", "doc1", "doc2", "doc1_above"])

    def plot(self, axes: Axes | None = None) -> Axes:
        """Both documents over the scales, up and down."""
        from whyrank.edits.figures import plot_experiment
        from whyrank.plots.style import new_axes

        return plot_experiment(axes if axes is not None else new_axes(7.2, 3.3), self)

    def figures(self) -> dict[str, str]:
        from whyrank.edits.experiment_report import experiment_figures

        return {name: svg for name, (svg, _, _) in experiment_figures(self).items()}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.experiment_report import experiment_page

        return experiment_page(self).write(path, manifest)
