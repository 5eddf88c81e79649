"""What the analyses of the study return, part by part; `results.py` puts them together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from whyrank.audit.results import AxiomSummary
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import Estimate, is_significant
from whyrank.interventions.statistics import SiteSummary
from whyrank.interventions.summary import Gap, Keeping, MapCorrelation


@dataclass(frozen=True)
class SiteEffect(SiteSummary):
    """What one site does. `has_gap`: whether the pairs that have it surely have a gap; a share of a gap that may
    be 0 can be any number."""

    has_gap: bool = True

    @property
    def name(self) -> str:
        """`0.9` for a head, wherever it is patched."""
        return short_name(self.whole)

    @property
    def known_share(self) -> Estimate:
        """Its share; without a value where its pairs may have no gap."""
        return self.share if self.has_gap else replace(self.share, value=None)

    @property
    def size(self) -> float:
        """How large its share is, of either sign."""
        return abs(self.share.value or 0.0)


@dataclass(frozen=True)
class PairSet:
    """One set of pairs, and what each head does in it; also by what the pairs are split by (rank band, whether the
    term was there before) and group; `adherence`: the share of pairs that score higher on the perturbed side, by
    rank band."""

    pairs: int
    queries: int
    gap: Gap
    mean_gap: Estimate
    keep: Keeping
    heads: tuple[SiteEffect, ...]
    splits: dict[str, dict[str, tuple[SiteEffect, ...]]]
    adherence: dict[str, Estimate]

    @property
    def has_gap(self) -> bool:
        """Whether shares of the gap mean anything: it is surely other than 0."""
        return self.mean_gap.is_sure


@dataclass(frozen=True)
class PairedDifference:
    """The mean effect of a site in two variants of the same queries and documents, and the difference."""

    site: str
    layer: int | None
    head: int | None
    category: str | None
    one: float
    other: float
    difference: Estimate
    p_holm: float | None

    @property
    def name(self) -> str:
        return short_name(self.site.split("@")[0])


@dataclass(frozen=True)
class Depth:
    """Where along the depth significant heads carry the term: the part of all their |shares| in each part of the
    depth, and their mean depth (0: the first layer, 1: the last). `draws` [draws][parts] are of the bootstrap."""

    significant: int
    profile: tuple[Estimate, ...] = ()
    mean: Estimate = field(default_factory=Estimate.undefined)
    draws: tuple[tuple[float, ...], ...] = ()
    queries: int = 0


@dataclass(frozen=True)
class JointShare:
    """What heads patched together recover, over all pairs and by rank band."""

    share: Estimate
    bands: dict[str, Estimate]


@dataclass(frozen=True)
class Together:
    """The heads that each half of the queries chose, and what they recover on the other half: those that raise the
    score, and all of them."""

    halves: tuple[tuple[str, ...], ...]
    positive: JointShare | None
    all: JointShare | None


@dataclass(frozen=True)
class Attention:
    """How much attention, in one head, a token of one category pays to all tokens of another; `k` where pairs have
    one."""

    head: str
    source: str
    target: str
    k: int | None
    mean: Estimate

    @property
    def quantity(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class Token:
    text: str
    category: str


@dataclass(frozen=True)
class AttentionExample:
    """The attention of one head on one pair, between the tokens that are shown: `weights` [from][to]."""

    head: str
    query: str
    docid: str | None
    term: str | None
    tokens: tuple[Token, ...]
    weights: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Survival:
    """An estimate of what a head does, and whether it survives when all heads are tested; None: not known."""

    estimate: Estimate
    survives: bool | None


@dataclass(frozen=True)
class Estimators:
    """Three estimators of one site's share of the gap; `threshold`: the smallest |gap| of the thresholded mean."""

    site: str
    pairs: int
    threshold: float
    ratio_of_sums: Survival
    thresholded_mean: Survival
    mean_of_ratios: Survival

    @property
    def all(self) -> dict[str, Survival]:
        """By name."""
        return {
            "ratio of sums": self.ratio_of_sums, "thresholded mean": self.thresholded_mean,
            "mean of ratios": self.mean_of_ratios,
        }  # fmt: skip


@dataclass(frozen=True)
class Point:
    """The mean at one k."""

    k: int
    mean: Estimate


@dataclass(frozen=True)
class CurveFit:
    """One curve through the means up to k = 5; `best_in`: the share of draws in which its AICc is the least."""

    curve: str
    a: float
    b: float
    r2: Estimate
    aicc: float | None
    best_in: float | None


@dataclass(frozen=True)
class Curve:
    """Means over k, and their fits, the best first."""

    points: tuple[Point, ...]
    fits: tuple[CurveFit, ...]

    @property
    def log_fit(self) -> CurveFit | None:
        return next((fit for fit in self.fits if fit.curve == "log"), None)


@dataclass(frozen=True)
class EffectCurve(Curve):
    """A head's effect over k, its shape, and the ratio of late to early slope (or gain) that the shape is read
    from."""

    ratio: Estimate
    shape: str


@dataclass(frozen=True)
class Counted:
    """One variant of TFC2: effects by site (of all documents, and of those whose score rises at every k), how
    often the score does not rise, and how many words of the documents are read beside the slots."""

    documents: int
    adherent_documents: int
    effects: dict[str, EffectCurve]
    effects_of_adherent: dict[str, EffectCurve]
    violations: Curve
    median_words: float
    least_words: int


@dataclass(frozen=True)
class Counting:
    """TFC2: the heads that stand out at the largest k, what they do by variant, and what they attend to."""

    leading: tuple[str, ...]
    variants: dict[str, Counted]
    attention: tuple[Attention, ...]


@dataclass(frozen=True)
class FlowRow:
    """Where the signal stands at one layer and category of tokens, what heads pick up there, and what lands; the
    row after the last layer is what is read out."""

    layer: int
    category: str
    stands: Estimate | None = None
    moves: Estimate | None = None
    lands: Estimate | None = None


@dataclass(frozen=True)
class FlowLink:
    """What heads of one layer carry from one category of tokens to another."""

    layer: int
    source: str
    target: str
    width: float


@dataclass(frozen=True)
class GroupContrast:
    """One site in pairs that violate the axiom and in those that adhere: mean effects, and shares of the gap."""

    site: str
    violating: Estimate
    adhering: Estimate
    difference: Estimate
    share_violating: Estimate
    share_adhering: Estimate
    share_difference: Estimate
    p_holm: float | None

    @property
    def is_significant(self) -> bool:
        return is_significant(self.p_holm)


@dataclass(frozen=True)
class Likeness:
    """Other pairs: their mean gap, how many adhere, how alike their map of heads is to append's, and which heads
    stand out."""

    pairs: int
    gap: float
    adherent: int
    map: MapCorrelation
    leading: tuple[str, ...]


@dataclass(frozen=True)
class Questions:
    """What the papers leave open: pairs that violate the axiom, other terms, fillers and texts (None: there are no
    such pairs), and audits by variation."""

    violating_against_adhering: tuple[GroupContrast, ...]
    document_terms: Likeness | None
    fillers: dict[str, Likeness | None]
    restored: Likeness | None
    audits: dict[str, tuple[AxiomSummary, ...]]
