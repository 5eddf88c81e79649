"""The rows of an audit: each distinct (query, text) scored once per ranker, each pair judged by its axiom."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyrank.audit.results import NEUTRAL_SHARE, Audit, AuditedRanker, Row
from whyrank.audit.summary import summarise
from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.same_score import noise, same_scores
from whyrank.axioms.scored_pair import ScoredPair, TextCounts, for_scoring, inputs_of
from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.rankers.ranker import Pair, Ranker
from whyrank.rankers.shards import score_in_shards
from whyrank.text.alignment import CannotAlign
from whyrank.text.words import words

#: The IDF of a word.
Idf = Callable[[str], float]


@dataclass(frozen=True)
class ScoredPairs:
    """One ranker's rows, how they were scored, and by id the pairs with the texts that it scored."""

    ranker: AuditedRanker
    rows: tuple[Row, ...]
    pairs: dict[str, ScoredPair]


def audit_pairs(
    rankers: Sequence[Ranker],
    pairs: Sequence[MinimalPair],
    *,
    idf: Idf | None = None,
    delta: float | None = None,
    seed: int = 0,
    dropped: dict[str, dict[str, int]] | None = None,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Scores every distinct (query, text) once for each ranker, and summarises by axiom."""
    if len({pair.id for pair in pairs}) < len(pairs) or len({ranker.name for ranker in rankers}) < len(rankers):
        raise UserError("a pair or a ranker is given twice", todo="give each its own id or name")
    if not pairs:
        raise UserError("there are no pairs to audit", todo="ask for other axioms, or more documents")
    scored = [
        score_pairs(ranker, pairs, idf=idf, delta=delta, progress=progress,
                    shards=shards / f"{number}" if shards else None)
        for number, ranker in enumerate(rankers)
    ]  # fmt: skip
    rows = tuple(row for one in scored for row in one.rows)
    texts = {one.ranker.name: {name: pair.scored for name, pair in one.pairs.items()} for one in scored}
    axioms = summarise(rows, texts, seed=seed)
    return Audit(tuple(one.ranker for one in scored), axioms, dropped or {}, len(pairs), seed, rows=rows)


def score_pairs(
    ranker: Ranker,
    pairs: Sequence[MinimalPair],
    *,
    idf: Idf | None = None,
    delta: float | None = None,
    shards: Path | None = None,
    progress: Progress | None = None,
) -> ScoredPairs:
    """One ranker's rows; a shared baseline is scored once. A user's own pair is scored as it is given."""
    read, dropped = _readable(ranker, pairs)
    distinct = list(dict.fromkeys(one for pair in read.values() for one in inputs_of(pair.scored)))
    values, cut = score_in_shards(ranker, distinct, shards, progress)
    assert not cut, f"{ranker.name}: {cut} inputs were cut, which could take part of a change"
    if progress:
        progress(2 * len(pairs) - len(distinct))  # sides that needed no scoring of their own
    scores = dict(zip(distinct, values.tolist(), strict=True))
    band = _neutral(values.tolist()) if delta is None else delta
    rows = tuple(_row(ranker.name, one, scores, band, idf) for one in read.values())
    same = same_scores([(row.baseline, row.perturbed) for row in rows])
    texts = TextCounts.of(list(read.values()))
    about = AuditedRanker(
        ranker.name, str(ranker.source), band, len(distinct), len(rows), same, texts, dict(dropped)
    )
    return ScoredPairs(about, rows, read)


def _readable(ranker: Ranker, pairs: Sequence[MinimalPair]) -> tuple[dict[str, ScoredPair], Counter[str]]:
    """The pairs that fit the ranker, with the texts that it scores, and why the others do not."""
    read: dict[str, ScoredPair] = {}
    dropped: Counter[str] = Counter()
    for pair in pairs:
        try:
            read[pair.id] = for_scoring(pair, ranker)
        except CannotAlign as reason:
            dropped[str(reason)] += 1
    if not read:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in dropped.items())
        raise UserError(
            f"no pair can be scored by {ranker.name}: {reasons}", todo="use shorter texts or other pairs"
        )
    return read, dropped


def _neutral(scores: list[float]) -> float:
    """Differences up to this are neutral: a share of the spread of all scores, and never less than their noise."""
    return max(NEUTRAL_SHARE * statistics.pstdev(scores), noise(scores))


def _position(pair: MinimalPair) -> float | None:
    """Where the change begins: 0 at the start of the text, 1 at its end; None for whole documents."""
    spans = (pair.slot or {}).get("perturbed")
    if not spans or spans[0] == (0, len(pair.perturbed)):
        return None
    return spans[0][0] / max(1, len(pair.perturbed))


def _row(ranker: str, read: ScoredPair, scores: dict[Pair, float], delta: float, idf: Idf | None) -> Row:
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
