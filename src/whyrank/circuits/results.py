"""What `circuit` returns: the heads that a score's change passes through, their roles, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from whyrank.axioms.scored_pair import TextCounts
from whyrank.circuits.criterion import UNTESTED
from whyrank.circuits.curves.results import FaithfulnessCurves
from whyrank.circuits.head import Head
from whyrank.circuits.selected import Selection
from whyrank.circuits.threshold import KEPT
from whyrank.core.errors import UserError, located
from whyrank.core.json_file import read_json
from whyrank.core.results import Result
from whyrank.evaluation.curves import Fit
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.pair_texts import FILE as PAIRS
from whyrank.interventions.pair_texts import TextChanges, write_pair_table
from whyrank.interventions.statistics import SiteSummary

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest
    from whyrank.pages.page import Figures

LOGITS, EMBED = "logits", "embed"
SCORING, CONTEXTUALIZATION, MATCHING, OTHER = ROLES = ("scoring", "contextualization", "matching", "other")
#: The roles that a test of attention is made for.
TESTS = ROLES[:3]
#: The name of a circuit that was searched for.
SEARCHED = "searched"
#: Kinds of ablation, the fairest first: the one that a verdict speaks of.
FAIREST = ("resample", "mean", "zero")


@dataclass(frozen=True)
class Edge:
    """From a sender (a head, or the embeddings) to receivers that were patched together: the v, q or k of heads,
    or the logits. `share` is of the gap, `share_of_receivers` of what the receivers can carry; both from the half
    of the queries that confirms, `chosen_share` from the half that chose. `status`: kept, borderline, not
    confirmed, untested. `support` (select 'gap'): the share of bootstrap draws in which it is above the
    cut-off."""

    step: int
    sender: str
    receivers: tuple[str, ...]
    part: str | None
    share: Estimate
    support: float | None
    status: str
    by_set: dict[str, float | None] = field(default_factory=dict)
    share_of_receivers: Estimate | None = None
    by_set_of_receivers: dict[str, float | None] = field(default_factory=dict)
    chosen_share: float | None = None
    p_holm: float | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it belongs to the circuit; where there are too few queries to test any, it does untested."""
        return self.status in (KEPT, UNTESTED)


@dataclass(frozen=True)
class SetsCorrelation:
    """How alike the maps of heads are that two sets of pairs make."""

    first: str
    second: str
    sites: int
    pearson: Estimate
    spearman: float | None


@dataclass(frozen=True)
class Carried:
    """What the receivers of a step carry in one set: the share of the gap when all have their whole perturbed
    values; the least share of that which an edge must have; and why the set decides nothing, if so."""

    share: Estimate
    cutoff: float | None
    why_not: str | None = None


@dataclass(frozen=True)
class Step:
    """One step of the backward search, all senders to one set of receivers. `shares` (of the gap) has every
    sender, on the half of the queries that chooses; `carried` is by set. With select 'gap', `cutoff` is the least
    share of the gap, and of senders that were not followed `shares` are from the first `chosen_on` pairs only."""

    number: int
    receivers: tuple[str, ...]
    part: str | None
    cutoff: float | None
    largest: float
    pairs: dict[str, int]
    queries: int
    shares: dict[str, float | None]
    followed: int
    chosen_on: int = 0
    between_sets: SetsCorrelation | None = None
    carried: dict[str, Carried] = field(default_factory=dict)
    confirmed_on: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What the search found, before roles are known; without a `selection` the edges alone say which heads."""

    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]
    ended: str = ""
    selection: Selection | None = None
    brought: tuple[str, ...] = ()

    @property
    def heads(self) -> list[Head]:
        """The heads that were brought, or selected, or all that some kept edge leaves."""
        if self.brought:
            return sorted(map(Head.parse, self.brought))
        if self.selection is not None:
            return self.selection.members
        return sorted({Head.parse(edge.sender) for edge in self.edges if edge.is_kept and edge.sender != EMBED})

    @property
    def queries(self) -> int:
        """How many queries the search rests on, at the step that has the fewest."""
        return min(step.queries for step in self.steps)


@dataclass(frozen=True)
class CircuitHead:
    """A head of the circuit and its roles; none: it passes no test."""

    head: str
    roles: tuple[str, ...] = ()

    @property
    def role(self) -> str:
        """The first of its roles, by which it is drawn."""
        return next(iter(self.roles), OTHER)


@dataclass(frozen=True)
class HeadTests:
    """One head of the ranker, in the circuit or not: the roles whose tests it passes, the share of CLS's attention
    that the query gets, r of each test, pooled over texts and within texts, and p of each test (of the pooled r),
    corrected over all heads; the share of the gap that it sends to the logits directly, and whether that is
    sure."""

    head: str
    roles: tuple[str, ...]
    in_circuit: bool
    query_mass: float
    pooled: dict[str, Estimate]
    within: dict[str, Estimate]
    p_holm: dict[str, float | None] = field(default_factory=dict)
    to_logits: float | None = None
    sends_to_logits: bool = False


@dataclass(frozen=True)
class RoleTest:
    """The mean r of the circuit's heads of a role in the test of the role, and of all other heads of the model;
    the same of |r|."""

    test: str
    heads: tuple[str, ...]
    role: Estimate | None = None
    others: Estimate | None = None
    difference: Estimate | None = None
    role_absolute: Estimate | None = None
    others_absolute: Estimate | None = None
    difference_absolute: Estimate | None = None


@dataclass(frozen=True)
class IdfStep:
    """Query tokens of about one IDF, and the attention that CLS pays them in a head."""

    idf: float
    attention: Estimate


@dataclass(frozen=True)
class AttentionSummary:
    """What heads look at: every head's tests, the scoring heads by IDF, and each role against all other heads."""

    heads: tuple[HeadTests, ...]
    by_idf: dict[str, tuple[IdfStep, ...]]
    roles: dict[str, RoleTest]


@dataclass(frozen=True)
class CurvePoint:
    """The mean over pairs of one k."""

    k: int
    mean: Estimate


@dataclass(frozen=True)
class Curve:
    """A mean over k, and the curves that describe it, the best first."""

    points: tuple[CurvePoint, ...]
    fits: tuple[Fit, ...] = ()


@dataclass(frozen=True)
class RowsOfQuery:
    """What some tokens of the query read of the injected occurrences and of other document tokens, by k."""

    injected: dict[str, Curve]
    other_tokens: dict[str, Curve]


@dataclass(frozen=True)
class Saturation:
    """Attention of the (selected) term in the query to its injected occurrences, and to document tokens that are
    no query token, by k; for the matching heads, each of them, and all other heads. The same of the query's other
    terms, and of all its tokens."""

    injected: dict[str, Curve]
    other_tokens: dict[str, Curve]
    unselected: RowsOfQuery | None = None
    every: RowsOfQuery | None = None


@dataclass(frozen=True)
class Length:
    """The change of attention to the document when k sentences are added: in sum, and the mean over its tokens."""

    sum: dict[str, Curve]
    mean_over_tokens: dict[str, Curve]


@dataclass(frozen=True)
class MatchingToScoring:
    """The share of the gap that the matching heads send, together, to the scoring heads' values, queries, keys."""

    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    v: SiteSummary | None = None
    q: SiteSummary | None = None
    k: SiteSummary | None = None


@dataclass(frozen=True)
class RandomSets:
    """As many random heads, ablated in the same way: what they keep of the gap, and the mean score they leave the
    perturbed side (the least: of the worst of them)."""

    circuits: int
    mean: float | None = None
    least: float | None = None
    most: float | None = None
    perturbed: float | None = None
    perturbed_least: float | None = None


@dataclass(frozen=True)
class Ablated:
    """The part of the gap that is kept without some heads, the mean scores of both sides, and what random heads
    keep."""

    kept: Estimate
    base: float
    perturbed: float
    random: RandomSets


@dataclass(frozen=True)
class Ablations:
    """One kind of ablation: the scores of the intact ranker, and what is left of it."""

    base: float
    perturbed: float
    only_circuit: Ablated
    without_circuit: Ablated
    without_matching: Ablated | None = None

    def each(self) -> dict[str, Ablated]:
        """What was measured, by what is left."""
        ways = {
            "only the circuit": self.only_circuit, "all but the circuit": self.without_circuit,
            "all but the matching heads": self.without_matching,
        }  # fmt: skip
        return {name: one for name, one in ways.items() if one is not None}


@dataclass(frozen=True)
class Faithfulness:
    """Is the circuit enough, is it needed? By kind of ablation, on one set of pairs."""

    heads: int
    of: int
    pairs: int
    kinds: dict[str, Ablations]

    def fairest(self) -> tuple[str, Ablations]:
        """The kind of ablation that a verdict speaks of."""
        return next((kind, self.kinds[kind]) for kind in FAIREST if kind in self.kinds)


@dataclass(frozen=True)
class Example:
    """One pair, and what the circuit's heads read in its perturbed side: rows of attention by head."""

    query: str
    term: str | None
    text: str
    base: float
    perturbed: float
    query_tokens: tuple[str, ...]
    document_tokens: tuple[str, ...]
    injected: tuple[bool, ...]
    scoring: dict[str, tuple[float, ...]]
    contextualization: dict[str, tuple[tuple[float, ...], ...]]
    matching: dict[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True)
class IdfSource:
    """Where the IDF comes from, and its formula."""

    source: str
    formula: str


@dataclass(frozen=True, repr=False)
class Circuit(Result):
    """Which heads of a cross-encoder make the score, what each is for, and what speaks for it."""

    FILE: ClassVar[str] = "circuit.json"
    COMMAND: ClassVar[str] = "circuit"
    FORMAT: ClassVar[int] = 3

    ranker: str
    ended: str
    threshold: str
    decide: str
    idf: IdfSource
    heads: tuple[CircuitHead, ...]
    roles: dict[str, tuple[str, ...]]
    edges: tuple[Edge, ...]
    steps: tuple[Step, ...]
    tests: AttentionSummary
    faithfulness: dict[str, Faithfulness]
    example: Example
    texts: TextCounts
    u0_against_matching: Estimate | None = None
    matching_to_scoring: MatchingToScoring | None = None
    #: By matching head, the blocks that send to it.
    senders: dict[str, tuple[SiteSummary, ...]] = field(default_factory=dict)
    #: The variant of TFC2 that was counted on.
    counted: str | None = None
    saturation: Saturation | None = None
    count_not_flag: dict[str, Curve] = field(default_factory=dict)
    length: Length | None = None
    #: By the receivers (logits, or the heads of a role), the blocks that send to them, each at the tokens of a
    #: category.
    senders_by_token: dict[str, tuple[SiteSummary, ...]] = field(default_factory=dict)
    #: By set of pairs, what parts of all sizes keep of the gap, on queries that the search did not use.
    curves: dict[str, FaithfulnessCurves] = field(default_factory=dict)
    #: Whose heads these are: those that were searched for, or brought.
    name: str = SEARCHED
    #: Of heads that were searched for with select 'halves': how they were chosen and confirmed.
    selection: Selection | None = None
    #: The same evidence on heads that were brought, beside those that were searched for.
    brought: Circuit | None = None
    #: A data frame, one row per pair: the texts that were scored, those given, and the scores of both.
    pair_frame: Any = field(default=None, repr=False, compare=False, metadata={"table": True})

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        import pandas as pd

        return replace(super().read(folder), pair_frame=pd.read_parquet(Path(folder, PAIRS)))

    @property
    def changed_texts(self) -> TextChanges | None:
        """The pairs whose texts were not scored as given."""
        return None if self.pair_frame is None else TextChanges.read(self.texts, self.pair_frame)

    @property
    def queries(self) -> int:
        """How many queries the search rests on, at the step that has the fewest."""
        return min(step.queries for step in self.steps)

    @property
    def was_brought(self) -> bool:
        return self.name != SEARCHED

    def kept(self, step: Step | None = None) -> list[Edge]:
        """The edges that were kept, of one step or of all."""
        return [edge for edge in self.edges if edge.is_kept and (step is None or _of_step(edge, step))]

    def borderline(self, step: Step) -> list[Edge]:
        return [edge for edge in self.edges if not edge.is_kept and _of_step(edge, step)]

    def leading_head(self) -> str | None:
        """The scoring head with the largest share to the logits."""
        edges = [edge for edge in self.kept() if edge.step == 0 and edge.sender in self.roles[SCORING]]
        best = max(edges, key=lambda edge: abs(edge.share.value or 0.0), default=None)
        return None if best is None else best.sender

    def verdict(self) -> list[str]:
        from whyrank.circuits.report import circuit_verdict

        return circuit_verdict(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row per edge that is kept or borderline."""
        import pandas as pd

        columns = ("step", "sender", "receivers", "part", "share", "low", "high", "support", "status")
        rows = [
            (e.step, e.sender, " ".join(e.receivers), e.part, e.share.value, e.share.low, e.share.high, e.support,
             e.status)
            for e in self.edges
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=list(columns))

    def plot(self, axes: Axes | None = None) -> Axes:
        """The circuit as a graph: embeddings at the bottom, logits at the top."""
        from whyrank.circuits.graph import draw_circuit
        from whyrank.plots.style import new_axes

        return draw_circuit(axes if axes is not None else new_axes(8.2, 6.4), self)

    @cached_property
    def drawn(self) -> Figures:
        """The figures with their captions and data, drawn once."""
        from whyrank.circuits.figures import circuit_figures

        return circuit_figures(self)

    def figures(self) -> dict[str, str]:
        return {name: svg for name, (svg, _, _) in self.drawn.items()}

    def write_tables(self, folder: Path) -> list[Path]:
        return [] if self.pair_frame is None else [write_pair_table(self.pair_frame, folder)]

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.circuits.report import circuit_page

        return circuit_page(self).write(path, manifest)


def _of_step(edge: Edge, step: Step) -> bool:
    return (edge.step, edge.part) == (step.number, step.part)


@dataclass(frozen=True)
class RolesOfCircuit:
    """What other verbs read of a circuit.json."""

    roles: dict[str, list[str]]


def read_roles(folder: Path) -> dict[str, list[Head]]:
    """The heads of each role in a run of `whyrank circuit`."""
    path, todo = folder / Circuit.FILE, "give the run folder of whyrank circuit"
    if not path.is_file():
        raise UserError("no circuit.json here", where=folder, todo=todo)
    found: RolesOfCircuit = read_json(path, RolesOfCircuit, todo=todo)
    with located(path):
        return parsed_roles(found.roles)


def parsed_roles(roles: Mapping[str, Iterable[str]]) -> dict[str, list[Head]]:
    """The heads of each role, from their names."""
    return {name: [Head.parse(head) for head in heads] for name, heads in roles.items()}
