"""What the two-token experiment returns: curves of the edit and of its controls over scales."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from whyrank.core.results import Result
from whyrank.edits.edit import DIRECTIONS
from whyrank.edits.results import DialSummary
from whyrank.evaluation.estimate import Estimate

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: The edit itself among its controls.
EDIT = "U0"


@dataclass(frozen=True)
class ExperimentPoint:
    """The edit, or a control, at one scale: mean scores from the unedited doc1 on, the share of items with doc1
    above doc2, the attention that was asked for, and of a control by how much the edit's doc1 is above its own."""

    control: str
    direction: str
    scale: float
    doc1: Estimate
    doc2: Estimate
    doc1_above: Estimate
    attention: Estimate | None = None
    edit_less: Estimate | None = None


@dataclass(frozen=True, repr=False)
class TwoTokenExperiment(Result):
    """Whether U_0 is what a ranker takes for IDF: one word of a query edited, over scales, beside controls."""

    FILE: ClassVar[str] = "edit.json"
    COMMAND: ClassVar[str] = "edit"

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
    what: Literal["experiment"] = "experiment"

    @property
    def controls(self) -> list[str]:
        """The names of the edit and its controls, the edit first."""
        return list(dict.fromkeys(point.control for point in self.curves))

    def curve(self, control: str, direction: str) -> list[ExperimentPoint]:
        """The points of one curve, by scale."""
        return [one for one in self.curves if (one.control, one.direction) == (control, direction)]

    def verdict(self) -> list[str]:
        """In each direction, where doc1 moves most, and how many controls surely do less there."""
        return [self._verdict_of(direction, sign) for direction, sign in zip(DIRECTIONS, (1, -1), strict=True)]

    def _verdict_of(self, direction: str, sign: int) -> str:
        edit = max(self.curve(EDIT, direction), key=lambda point: sign * (point.doc1.value or 0.0))
        rivals = [
            point.edit_less
            for point in self.curves
            if (point.direction, point.scale) == (direction, edit.scale) and point.edit_less is not None
        ]
        less = sum(one.has_sign(sign) for one in rivals)
        return (
            f"Turned {direction}, the edited document's score moves by {edit.doc1.text('+.3f')} (scale "
            f"{edit.scale:g}), surely beyond {less} of {len(rivals)} controls of the same size."
        )

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
