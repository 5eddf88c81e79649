"""From the rows of a sweep to its summary: sites, splits, which pairs were kept, how methods agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from whyrank.axioms.same_score import same_scores
from whyrank.evaluation.estimate import Estimate, finite
from whyrank.evaluation.map_correlation import map_correlation
from whyrank.interventions.selection import (
    APPROXIMATE,
    EXACT,
    by_category,
    check_keep,
    kept_rows,
    main_rows,
    without_noise,
)
from whyrank.interventions.selection import splits as splits
from whyrank.interventions.statistics import (
    SiteSummary,
    change_of,
    clusters,
    compare_maps,
    summarise_sites,
    text_or_none,
)

if TYPE_CHECKING:
    import pandas as pd

#: How many of the sites with the largest effects are compared between two methods.
LEADING = 10
#: By what the pairs are split (rank, term_present, axiom, variant, k), then by group, the sites.
Splits = dict[str, dict[str, tuple[SiteSummary, ...]]]


@dataclass(frozen=True)
class Gap:
    """perturbed - base over the pairs; the mean score of each side; in how many pairs both score the same."""

    mean: float
    median: float
    base: float
    perturbed: float
    same: int


@dataclass(frozen=True)
class LargestChange:
    """The site whose effect depends most on which pairs are kept."""

    site: str
    all: float
    adherent: float


@dataclass(frozen=True)
class Keeping:
    """Which pairs are kept (`rule`), how many adhere (the perturbed side scores higher), and what keeping only
    these does to the map of effects."""

    rule: str
    pairs: int
    adherent: int
    correlation_with_all: float | None = None
    largest_change: LargestChange | None = None


@dataclass(frozen=True)
class MapCorrelation:
    """How alike two maps of effects are, site by site."""

    sites: int
    pearson: Estimate
    spearman: float | None

    def text(self) -> str:
        """`.986 [.971, .993] over 144 sites`"""
        return f"{self.pearson.text()} over {self.sites} sites"


@dataclass(frozen=True)
class AxiomMaps:
    """How alike the maps of two axioms in the same rows are."""

    axiom: str
    other: str
    correlation: MapCorrelation


@dataclass(frozen=True)
class Leading:
    """How many of the sites with the largest effects two methods share."""

    of: int
    shared: int


@dataclass(frozen=True)
class Point:
    """One site in two maps."""

    site: str
    one: float | None
    other: float | None


@dataclass(frozen=True)
class Agreement:
    """Attribution against exact patching, where there are both; points are (attribution, exact)."""

    pairs: int
    rows: int
    pearson_rows: float | None
    correlation: MapCorrelation
    leading: Leading
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Screen:
    """How many of the sites that attribution looked at were patched exactly."""

    of: int
    kept: int


@dataclass(frozen=True)
class Summary:
    """What the rows say. Of rows of two methods, the exact ones if attribution only chose the sites, the
    attributions if exact patching only checked them."""

    method: str
    direction: str
    receiver: str | None
    by: Literal["position", "category"] | None
    pairs: int
    queries: int
    gap: Gap
    keep: Keeping
    sites: tuple[SiteSummary, ...]
    splits: Splits
    between_axioms: tuple[AxiomMaps, ...]
    agreement: Agreement | None
    screen: Screen | None


def summarise(
    frame: pd.DataFrame,
    *,
    by: Any = None,
    keep: str = "all",
    min_gap: float | None = None,
    family: int | None = None,
    seed: int = 0,
) -> Summary:
    """The summary of all rows.

    A sweep by position is summed up by the category of the position's token: the mean over a pair's positions of a
    category, then over pairs. A gap that is only noise is 0, of which nothing is a share. `family` is the number
    of sites that were screened.
    """
    check_keep(keep)
    frame = without_noise(by_category(frame) if by == "position" else frame)
    both = {EXACT, APPROXIMATE} <= set(frame["method"].unique())
    screened = family if both else None
    rows = main_rows(frame, both and family is not None)
    kept = kept_rows(rows, keep)

    def sites(some: pd.DataFrame) -> tuple[SiteSummary, ...]:
        return summarise_sites(some, min_gap=min_gap, family=screened, seed=seed)

    found, first = sites(kept), rows.iloc[0]
    by_group = {name: {group: sites(some) for group, some in each.items()} for name, each in splits(kept).items()}
    return Summary(
        method=first["method"], direction=first["direction"], receiver=text_or_none(first["receiver"]), by=by,
        pairs=int(kept["pair"].nunique()), queries=int(clusters(kept).nunique()), gap=_gap(kept),
        keep=_keeping(rows, keep), sites=found, splits=by_group, between_axioms=_between_axioms(kept, seed),
        agreement=_agreement(frame) if both else None,
        screen=None if screened is None else Screen(screened, len(found)),
    )  # fmt: skip


def _keeping(rows: pd.DataFrame, keep: str) -> Keeping:
    adherent = rows[rows["perturbed"] > rows["base"]]
    counts = keep, int(rows["pair"].nunique()), int(adherent["pair"].nunique())
    if not len(adherent) or len(adherent) == len(rows):
        return Keeping(*counts)
    correlation, maps = compare_maps(rows, adherent, draws=1)
    changes = [(abs(b - a), site, a, b) for site, a, b in maps if finite(a) is not None and finite(b) is not None]
    largest = LargestChange(*max(changes)[1:]) if changes else None
    return Keeping(*counts, finite(correlation.pearson), largest)


def correlate(one: pd.DataFrame, other: pd.DataFrame, seed: int = 0) -> tuple[MapCorrelation, tuple[Point, ...]]:
    """How alike the maps of two sets of rows are, and both maps."""
    found, points = compare_maps(one, other, seed=seed)
    pairs = min(int(frame["pair"].nunique()) for frame in (one, other))
    queries = min(int(clusters(frame).nunique()) for frame in (one, other))
    r = Estimate.of(found.pearson, found.interval, pairs, queries)
    both = tuple(Point(site, finite(a), finite(b)) for site, a, b in points)
    return MapCorrelation(found.sites, r, finite(found.spearman)), both


def _between_axioms(frame: pd.DataFrame, seed: int) -> tuple[AxiomMaps, ...]:
    """The correlation of the maps of each two axioms in the rows."""
    axioms = {str(name): frame[frame["axiom"] == name] for name in sorted(frame["axiom"].dropna().unique())}
    names = list(axioms)
    return tuple(
        AxiomMaps(one, other, correlate(axioms[one], axioms[other], seed)[0])
        for i, one in enumerate(names)
        for other in names[i + 1 :]
    )


def _agreement(frame: pd.DataFrame) -> Agreement:
    """Attribution against exact patching on the pairs and sites that have both."""
    frame = frame.assign(change=change_of(frame))
    approximate, exact = (frame[frame["method"] == name] for name in (APPROXIMATE, EXACT))
    joined = approximate.merge(exact, on=["pair", "site"], suffixes=("_approximate", "_exact"))
    columns = ["change_approximate", "change_exact"]
    maps = joined.groupby("site", sort=False)[columns].mean()
    correlation, points = correlate(_same(approximate, joined), _same(exact, joined))
    leading = [set(maps[column].abs().nlargest(LEADING).index) for column in columns]
    return Agreement(
        pairs=int(joined["pair"].nunique()),
        rows=len(joined),
        pearson_rows=finite(map_correlation(*joined[columns].to_numpy(dtype=float).T)),
        correlation=correlation,
        leading=Leading(min(LEADING, len(maps)), len(leading[0] & leading[1])),
        points=points,
    )


def _same(frame: pd.DataFrame, joined: pd.DataFrame) -> pd.DataFrame:
    return frame.merge(joined[["pair", "site"]], on=["pair", "site"])


def _gap(rows: pd.DataFrame) -> Gap:
    pairs = rows.drop_duplicates("pair")
    gaps = pairs["perturbed"] - pairs["base"]
    return Gap(
        mean=float(gaps.mean()),
        median=float(gaps.median()),
        base=float(pairs["base"].mean()),
        perturbed=float(pairs["perturbed"].mean()),
        same=same_scores(list(zip(pairs["base"], pairs["perturbed"], strict=True))),
    )
