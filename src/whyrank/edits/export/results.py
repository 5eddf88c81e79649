"""What an export returns: the files, and how far their scores are from the ranker's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from whyrank.core.results import Result
from whyrank.evaluation.estimate import Estimate, percent
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest


@dataclass(frozen=True)
class ExportCheck:
    """One file against the ranker itself, on the same pairs: the largest and the mean difference of scores, the
    largest in standard deviations of the scores within queries; the share of pairs of documents of one query that
    both order alike (ties of the ranker left out); agreement: nDCG@10 with gains from the ranker's order."""

    file: str
    megabytes: float
    largest: float
    mean: float
    in_sd: float | None
    ordered_alike: float | None
    agreement: Estimate

    def __str__(self) -> str:
        sd = "" if self.in_sd is None else f" ({self.in_sd:.2g} standard deviations)"
        alike = "no two documents to order" if self.ordered_alike is None else (
            f"{percent(self.ordered_alike, 2)} of document pairs in the same order"
        )  # fmt: skip
        return (
            f"{self.file}: scores differ by at most {self.largest:.2g}{sd}; {alike}, agreement with the first ten "
            f"{self.agreement.text('.4f')}"
        )


@dataclass(frozen=True, repr=False)
class Export(Result):
    """A ranker exported to ONNX, and checked."""

    FILE: ClassVar[str] = "export.json"
    COMMAND: ClassVar[str] = "export"

    ranker: str
    kind: str
    source: str
    fingerprint: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    max_length: int
    #: What an engine has to do besides: prefixes, markers, pooling.
    notes: tuple[str, ...]
    collection: str
    pairs: int
    queries: int
    checks: tuple[ExportCheck, ...]

    def verdict(self) -> list[str]:
        on = (
            f"On {counted(self.pairs, 'pair')} of {counted(self.queries, 'query', 'queries')} of {self.collection}"
        )
        return [f"{self.ranker} as ONNX ({', '.join(self.outputs)}).", *(f"{on}, {one}." for one in self.checks)]

    def to_pandas(self) -> pd.DataFrame:
        """One row per file."""
        import pandas as pd

        rows = [
            (one.file, one.megabytes, one.largest, one.mean, one.in_sd, one.ordered_alike, one.agreement.value)
            for one in self.checks
        ]
        columns = ["file", "megabytes", "largest", "mean", "in_sd", "ordered_alike", "agreement"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self, axes: Axes | None = None) -> Axes:
        """The largest difference of each file, as a logarithm."""
        from whyrank.plots.style import SERIES, bare, new_axes

        axes = bare(axes if axes is not None else new_axes(7.2, 1.6))
        axes.barh(
            [one.file for one in self.checks], [max(one.largest, 1e-9) for one in self.checks], color=SERIES[0]
        )
        axes.set_xscale("log")
        axes.set_xlabel("largest difference of a score")
        return axes

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.export.report import export_page

        return export_page(self).write(path, manifest)
