"""What the study returns: the findings, and the stages, whose own run folders lie beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.circuits.results import Circuit
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.core.results import Result
from whyrank.edits.experiment import TwoTokenExperiment
from whyrank.edits.idf import IdfDirection
from whyrank.edits.suppression import Suppression
from whyrank.interventions.results import Effects
from whyrank.learning.finetuning.results import FineTuning
from whyrank.pages.findings import DIFFERS, Finding, count_sentence, findings_frame, plot_verdicts
from whyrank.papers.study import Stage

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: The result of each stage that is reported.
RESULTS: dict[str, type[Result]] = {
    "circuit": Circuit, "activation-tfc1": Effects, "activation-stmc1": Effects, "idf": IdfDirection,
    "two-tokens": TwoTokenExperiment, "suppress": Suppression, "semantic-bm": SemanticBM,
    "semantic-bm-paper": SemanticBM, "finetune": FineTuning,
}  # fmt: skip


@dataclass(frozen=True)
class StageRun:
    """A stage that was run: where in the study's folder, and the command that does the same."""

    name: str
    title: str
    path: str
    command: str

    @classmethod
    def of(cls, stage: Stage) -> StageRun:
        return cls(stage.name, stage.title, stage.out.name, stage.command)


def stage_results(out: Path, stages: Sequence[StageRun]) -> dict[str, Result]:
    """The results of the stages, by the names of the stages."""
    return {one.name: RESULTS[one.name].read(out / one.path) for one in stages if one.name in RESULTS}


@dataclass(frozen=True, repr=False)
class SemanticCircuit(Result):
    """The findings of 'Pathway to Relevance' beside what was measured here."""

    FILE: ClassVar[str] = "study.json"
    COMMAND: ClassVar[str] = "study semantic-circuit"

    ranker: str
    collection: str
    quick: bool
    findings: tuple[Finding, ...]
    stages: tuple[StageRun, ...]
    #: Stages that could not be run after what came before, each with the reason.
    not_run: tuple[str, ...] = ()

    def verdict(self) -> list[str]:
        """How many findings agree, and which differ."""
        differing = [row.what for row in self.findings if row.verdict == DIFFERS]
        which = f"They differ on {'; '.join(differing)}." if differing else "No finding differs."
        return [count_sentence(self.findings), which, *(f"{one}." for one in self.not_run)]

    def to_pandas(self) -> pd.DataFrame:
        """One row per finding."""
        return findings_frame(self.findings)

    def plot(self, axes: Axes | None = None) -> Axes:
        """How many findings agree, differ, are open."""
        return plot_verdicts(self.findings, axes)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.papers.semantic_circuit.report import study_page

        return study_page(self, path.parent).write(path, manifest)
