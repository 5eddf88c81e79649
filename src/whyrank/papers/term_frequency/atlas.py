"""Several rankers side by side: which heads carry term frequency in each, at which relative depth, how alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from whyrank.core.results import Result, table
from whyrank.evaluation.estimate import Estimate, finite, is_significant
from whyrank.evaluation.map_correlation import map_correlation, map_interval
from whyrank.pages.findings import Finding, count_sentence
from whyrank.papers.term_frequency.depth import relative_depth
from whyrank.papers.term_frequency.parts import PairedDifference
from whyrank.papers.term_frequency.results import TermFrequencyStudy

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest
    from whyrank.pages.page import Figure

#: Heads that are named.
CARRYING = 5


@dataclass(frozen=True)
class CarryingHead:
    """A head with one of the largest shares of the gap, and its depth (0: the first layer, 1: the last).
    `beyond_null`: whether it surely does something else for the term than for a word of another query in its
    place; None: not known."""

    head: str
    share: Estimate
    depth: float
    p_holm: float | None
    beyond_null: bool | None

    @property
    def is_significant(self) -> bool:
        return is_significant(self.p_holm)


@dataclass(frozen=True)
class RankerSummary:
    """One ranker of the atlas; `folder` is where its own study is."""

    ranker: str
    folder: str
    layers: int
    pairs: int
    carrying: tuple[CarryingHead, ...]
    significant: int
    profile: tuple[Estimate, ...]
    depth: Estimate
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Likeness:
    """How alike two rankers are: r of their profiles over depth; r of their maps, where both have one shape."""

    one: str
    other: str
    profile: Estimate
    map: float | None


@dataclass(frozen=True, repr=False)
class Atlas(Result):
    """How several rankers count a term: the comparison, and each ranker's own study."""

    FILE: ClassVar[str] = "atlas.json"
    COMMAND: ClassVar[str] = "study term-frequency"

    rankers: tuple[RankerSummary, ...]
    alike: tuple[Likeness, ...]
    #: Each ranker's study stands in its own folder.
    studies: tuple[TermFrequencyStudy, ...] = table()

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        found = super().read(folder)
        studies = tuple(TermFrequencyStudy.read(Path(folder, one.folder)) for one in found.rankers)
        return replace(found, studies=studies)

    def verdict(self) -> list[str]:
        """For each ranker how many heads carry the term, and how the paper's findings fare."""
        return [f"{one.ranker}: {_heads(one)}. {count_sentence(one.findings)}" for one in self.rankers]

    def to_pandas(self) -> pd.DataFrame:
        """One row per ranker, set of pairs and head."""
        import pandas as pd

        frames = [study.to_pandas().assign(ranker=study.about.ranker) for study in self.studies]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def plot(self, axes: Axes | None = None) -> Axes:
        """Where along the depth significant heads carry an appended term, one line per ranker."""
        from whyrank.papers.term_frequency.atlas_report import plot_profiles

        return plot_profiles(self.rankers, axes)

    @cached_property
    def depth_figure(self) -> Figure | None:
        """The profiles over depth with caption and data; none where no ranker has a significant head."""
        from whyrank.papers.term_frequency.atlas_report import depth_figure

        return depth_figure(self.rankers)

    def figures(self) -> dict[str, str]:
        return {"depth": self.depth_figure[0]} if self.depth_figure else {}

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.papers.term_frequency.atlas_report import atlas_page

        return atlas_page(self).write(path, manifest)


def _heads(one: RankerSummary) -> str:
    if not one.significant:
        return "no head is significant"
    heads = "1 significant head" if one.significant == 1 else f"{one.significant} significant heads"
    return f"{heads}, at a mean depth of {one.depth.text('.2f')}"


def atlas(studies: Sequence[TermFrequencyStudy], folders: Sequence[str]) -> Atlas:
    """The comparison of rankers whose studies are in these folders."""
    pairs = [(one, other) for i, one in enumerate(studies) for other in studies[i + 1 :]]
    rankers = tuple(summarise(study, folder) for study, folder in zip(studies, folders, strict=True))
    return Atlas(rankers, tuple(_alike(*both) for both in pairs), tuple(studies))


def summarise(study: TermFrequencyStudy, folder: str) -> RankerSummary:
    """The heads of one ranker that carry most, and the profile of its significant heads over depth."""
    layers = study.about.layers
    heads = [head for head in study.append.heads if head.share.value is not None]
    null = {one.site: one for one in study.controls.get("null", ())}
    carrying = tuple(
        CarryingHead(head.name, head.share, relative_depth(head.layer or 0, layers), head.p_holm,
                     _beyond(null.get(head.site)))
        for head in sorted(heads, key=lambda head: -head.size)[:CARRYING]
    )  # fmt: skip
    return RankerSummary(
        ranker=study.about.ranker,
        folder=folder,
        layers=layers,
        pairs=max((head.share.pairs for head in heads), default=0),
        carrying=carrying,
        significant=study.depth.significant,
        profile=study.depth.profile,
        depth=study.depth.mean,
        findings=study.findings,
    )


def _beyond(one: PairedDifference | None) -> bool | None:
    return one.difference.is_sure if one and one.difference.interval else None


def _alike(one: TermFrequencyStudy, other: TermFrequencyStudy) -> Likeness:
    maps = [{(h.layer, h.head): h.share.value for h in study.append.heads if h.share.value is not None}
            for study in (one, other)]  # fmt: skip
    same_shape = one.about.layers == other.about.layers and maps[0].keys() == maps[1].keys()
    r = map_correlation(list(maps[0].values()), [maps[1][head] for head in maps[0]]) if same_shape else None
    return Likeness(one.about.ranker, other.about.ranker, _profiles_r(one, other), finite(r))


def _profiles_r(one: TermFrequencyStudy, other: TermFrequencyStudy) -> Estimate:
    """r of the profiles over depth; the draws of both are independent."""
    import numpy as np

    depths = (one.depth, other.depth)
    profiles = [np.array([part.value for part in depth.profile], dtype=float) for depth in depths]
    if not all(map(len, profiles)):
        return Estimate.undefined()
    draws, queries = min(len(depth.draws) for depth in depths), min(depth.queries for depth in depths)
    drawn = [np.array(depth.draws[:draws]).reshape(draws, len(profiles[0])) for depth in depths]
    return Estimate.of(
        map_correlation(*profiles), map_interval(profiles, drawn, queries), len(profiles[0]), queries
    )
