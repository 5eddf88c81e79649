"""Does a ranker behave? Its scores on minimal pairs, and for each axiom how often it does what the axiom says."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.same_score import no_preference, noise, same_scores
from whyrank.axioms.scored_pair import ScoredPair, TextCounts, for_scoring, inputs_of
from whyrank.axioms.summary import AxiomSummary, summarise
from whyrank.errors import UserError
from whyrank.rankers.ranker import Pair, Progress, Ranker
from whyrank.rankers.shards import score_in_shards
from whyrank.text.alignment import CannotAlign
from whyrank.text.words import words

if TYPE_CHECKING:
    import pandas as pd

#: Differences below this share of the spread of a ranker's own scores are neutral.
NEUTRAL_SHARE = 0.01


@dataclass(frozen=True)
class Row:
    """One pair's scores under one ranker. `gain` is the difference towards the side that should score higher;
    `padded` and `cut` say whether the texts that were scored are not those given, by fillers or by length."""

    ranker: str
    pair: str
    axiom: str
    variant: str | None
    query: str
    qid: str | None
    docid: str | None
    term: str | None
    where: str | None
    k: int | None
    rank: int | None
    tf: int | None
    idf: float | None
    length: int
    position: float | None
    baseline: float
    perturbed: float
    difference: float
    prefer: str
    gain: float
    outcome: str
    padded: bool
    cut: bool
    baseline_text: str
    perturbed_text: str

    @property
    def label(self) -> str:
        return ":".join(part for part in (self.axiom, self.variant) if part)


@dataclass
class Scored:
    """What one ranker made of the pairs: rows, the neutral band, distinct inputs, pairs that did not fit it, and
    by id the pairs with the texts that it scored."""

    ranker: str
    source: str
    delta: float
    rows: list[Row]
    inputs: int
    dropped: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, ScoredPair] = field(default_factory=dict)

    def sentences(self) -> list[str]:
        """What cannot be said because both sides of pairs score the same."""
        return no_preference(same_scores([(row.baseline, row.perturbed) for row in self.rows]), len(self.rows))

    def texts(self) -> TextCounts:
        """How many pairs were scored as given."""
        return TextCounts.of(list(self.pairs.values()))


@dataclass
class Audit:
    """The result of `audit`: rows for every ranker and pair, and summaries made from them."""

    scored: list[Scored]
    pairs: dict[str, MinimalPair]
    summaries: list[AxiomSummary]
    dropped: dict[str, dict[str, int]]
    seed: int

    @property
    def rows(self) -> list[Row]:
        return [row for one in self.scored for row in one.rows]

    def to_pandas(self) -> pd.DataFrame:
        """A row a ranker and pair."""
        import pandas as pd

        return pd.DataFrame([vars(row) for row in self.rows])

    def worst(self, ranker: str, axiom: str, most: int = 10) -> list[Row]:
        """The strongest violations of an axiom."""
        rows = [r for r in self.rows if (r.ranker, r.label, r.outcome) == (ranker, axiom, "violates")]
        return sorted(rows, key=lambda row: row.gain)[:most]

    def scored_pair(self, row: Row) -> MinimalPair:
        """The pair of a row, with the texts that its ranker scored."""
        return next(one.pairs[row.pair].scored for one in self.scored if one.ranker == row.ranker)

    def to_json(self) -> dict[str, Any]:
        """audit.json: all but the rows."""
        return {
            "rankers": [
                {
                    "name": one.ranker,
                    "source": one.source,
                    "delta": one.delta,
                    "inputs": one.inputs,
                    "texts": one.texts().to_json(),
                    "dropped": one.dropped,
                }
                for one in self.scored
            ],
            "dropped": self.dropped,
            "axioms": [
                {
                    **summary.to_json(),
                    "worst": [self._worst(row) for row in self.worst(summary.ranker, summary.axiom)],
                }
                for summary in self.summaries
            ],
            "neutral": f"|difference| up to delta; default: {NEUTRAL_SHARE:.0%} of the deviation of its scores",
            "seed": self.seed,
        }

    def _worst(self, row: Row) -> dict[str, Any]:
        texts = {"baseline_text": row.baseline_text, "perturbed_text": row.perturbed_text}
        scores = {"baseline": row.baseline, "perturbed": row.perturbed, "difference": row.difference}
        return {"pair": row.pair, "query": row.query, **scores, **texts}


def audit_pairs(
    rankers: Sequence[Ranker],
    pairs: Sequence[MinimalPair],
    *,
    idf: Any = None,
    delta: float | None = None,
    seed: int = 0,
    dropped: dict[str, dict[str, int]] | None = None,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Scores every distinct (query, text) once for each ranker, and sums up by axiom."""
    if len({pair.id for pair in pairs}) < len(pairs) or len({ranker.name for ranker in rankers}) < len(rankers):
        raise UserError("a pair or a ranker is given twice", todo="give each its own id or name")
    if not pairs:
        raise UserError("there are no pairs to audit", todo="ask for other axioms, or more documents (-n)")
    scored = [
        score_pairs(ranker, pairs, idf=idf, delta=delta, progress=progress,
                    shards=shards / f"{number}" if shards else None)
        for number, ranker in enumerate(rankers)
    ]  # fmt: skip
    summaries = summarise([row for one in scored for row in one.rows], seed=seed)
    return Audit(scored, {pair.id: pair for pair in pairs}, summaries, dropped or {}, seed)


def score_pairs(
    ranker: Ranker,
    pairs: Sequence[MinimalPair],
    *,
    idf: Any = None,
    delta: float | None = None,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Scored:
    """One ranker's rows; a shared baseline is scored once. A user's own pair is scored as it is given."""
    read: dict[str, ScoredPair] = {}
    dropped: Counter[str] = Counter()
    for pair in pairs:
        try:
            read[pair.id] = for_scoring(pair, ranker)
        except CannotAlign as reason:
            dropped[str(reason)] += 1
    if not read:
        told = ", ".join(f"{reason} ({count})" for reason, count in dropped.items())
        raise UserError(f"no pair can be scored by {ranker.name}: {told}", todo="use shorter texts or other pairs")
    distinct = list(dict.fromkeys(one for pair in read.values() for one in inputs_of(pair.scored)))
    values, cut = score_in_shards(ranker, distinct, shards, progress)
    assert not cut, f"{ranker.name}: {cut} inputs were cut, which could take part of a change"
    if progress:
        progress(2 * len(pairs) - len(distinct))  # sides that needed no scoring of their own
    scores = dict(zip(distinct, values.tolist(), strict=True))
    band = _neutral(values.tolist()) if delta is None else delta
    rows = [_row(ranker.name, one, scores, band, idf) for one in read.values()]
    return Scored(ranker.name, str(ranker.source), band, rows, len(distinct), dict(dropped), read)


def _neutral(scores: list[float]) -> float:
    """Differences up to this are neutral: a share of the spread of all scores, and never less than their noise."""
    return max(NEUTRAL_SHARE * statistics.pstdev(scores), noise(scores))


def _position(pair: MinimalPair) -> float | None:
    """Where the change begins: 0 at the start of the text, 1 at its end; None for whole documents."""
    spans = (pair.slot or {}).get("perturbed")
    if not spans or spans[0] == (0, len(pair.perturbed)):
        return None
    return spans[0][0] / max(1, len(pair.perturbed))


def _row(ranker: str, read: ScoredPair, scores: dict[Pair, float], delta: float, idf: Any) -> Row:
    pair = read.given
    baseline, perturbed = (scores[one] for one in inputs_of(read.scored))
    difference = perturbed - baseline
    gain = difference if pair.prefer == "perturbed" else -difference
    return Row(
        ranker=ranker,
        pair=pair.id,
        axiom=pair.axiom or "own",
        variant=pair.variant,
        query=pair.query,
        qid=pair.qid,
        docid=pair.docid,
        term=pair.term,
        where=pair.where,
        k=pair.k,
        rank=pair.rank,
        tf=pair.tf,
        idf=idf(pair.term) if idf and pair.term else None,
        length=len(words(pair.baseline)),
        position=_position(pair),
        baseline=baseline,
        perturbed=perturbed,
        difference=difference,
        prefer=pair.prefer,
        gain=gain,
        outcome="neutral" if abs(gain) <= delta else "holds" if gain > 0 else "violates",
        padded=read.padded,
        cut=read.cut,
        baseline_text=read.scored.baseline,
        perturbed_text=read.scored.perturbed,
    )
