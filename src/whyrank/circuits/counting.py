"""Do matching heads count? Attention over the number of occurrences (TFC2) and over length (LNC1).

Saturation: what the query's term reads of its injected occurrences, summed, should rise fast and then flatten,
while what it reads of document tokens that are no query token, the control, stays level (the paper's Fig. 12); the
same of the terms that were not selected (Fig. 13) and of all query tokens. A count, not a flag: with only the
matching heads patched, the score should still grow with k. Length: what all query tokens read of the document, as
a sum and as a mean over its tokens, before and after foreign sentences are added.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise, realise_for_patching
from whyrank.circuits.head import Head, all_heads, together
from whyrank.circuits.reading import Reading
from whyrank.circuits.results import Curve, CurvePoint, Length, RowsOfQuery, Saturation
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.evaluation.curves import fit_curves
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.activation import Activation
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.text.alignment import CannotAlign
from whyrank.text.words import words

if TYPE_CHECKING:
    import numpy as np

#: Document tokens that are no word of the query and no fillers: of them those are the control whose word piece the
#: query lacks, too (as many for every k where terms are appended).
CONTROL = ("other",)
#: Tokens of the query: those of the term, of all other words, and all.
SELECTED, UNSELECTED, EVERY = QUERY_ROWS = ("selected", "unselected", "every")


def saturation(
    ranker: CrossEncoder,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    progress: OpenProgress = no_progress,
) -> Saturation | None:
    """Attention of the term in the query to its k injected occurrences, and to other document tokens, by k: the
    mean over the matching heads, each of them, and the mean over all other heads; None where no pair shows it."""
    groups = _groups(ranker, heads)
    found = {name: (_ByK(), _ByK()) for name in QUERY_ROWS}
    with progress("attention over occurrences", len(pairs)) as advance:
        for pair in pairs:
            advance(1)
            for name, read in _query_attention(ranker, pair).items():
                for by_k, value in zip(found[name], read, strict=True):
                    by_k.add(pair, {group: float(value[chosen].mean()) for group, chosen in groups.items()})
    curves = {
        name: RowsOfQuery(injected.curves(fits=True), control.curves())
        for name, (injected, control) in found.items()
        if injected.rows
    }
    if SELECTED not in curves:
        return None
    own = curves[SELECTED]
    return Saturation(own.injected, own.other_tokens, curves.get(UNSELECTED), curves.get(EVERY))


def count_not_flag(
    ranker: CrossEncoder,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    *,
    shards: Path | None = None,
    progress: OpenProgress = no_progress,
) -> dict[str, Curve]:
    """The effect by k when only the matching heads take the perturbed run's values, and the whole gap."""
    plan = SitePlan((together(heads),))
    with progress("matching heads alone on TFC2", len(pairs)) as advance:
        frame = sweep(ranker, pairs, plan, Activation(), shards=shards, progress=advance).frame
    effects, by_id = _ByK(), {pair.id: pair for pair in pairs}
    gaps = frame["perturbed"] - frame["base"]
    for name, effect, gap in zip(frame["pair"], frame["effect"], gaps, strict=True):
        effects.add(by_id[name], {"matching heads": float(effect), "whole gap": float(gap)})
    return effects.curves(fits=True)


def length(
    ranker: CrossEncoder,
    heads: Sequence[Head],
    pairs: Sequence[MinimalPair],
    progress: OpenProgress = no_progress,
) -> Length | None:
    """What query tokens read of the document, perturbed less baseline, by the number k of sentences added; None
    where no pair fits into the length that is read."""
    groups = _groups(ranker, heads)
    found = {name: _ByK() for name in ("sum", "mean over tokens")}
    with progress("attention over length", len(pairs)) as advance:
        for pair in pairs:
            advance(1)
            try:
                texts = realise(pair, ranker)
            except CannotAlign:
                continue
            readings = [Reading.of(ranker, *text) for text in texts]
            if not all(one.document for one in readings):  # cut down to nothing: no mean over its tokens
                continue
            sums = [one.matching().mean(-1).flatten().numpy() for one in readings]
            means = [total / len(one.document) for total, one in zip(sums, readings, strict=True)]
            for name, (before, after) in (("sum", sums), ("mean over tokens", means)):
                change = after - before
                found[name].add(pair, {group: float(change[chosen].mean()) for group, chosen in groups.items()})
    return Length(found["sum"].curves(), found["mean over tokens"].curves()) if found["sum"].rows else None


def _groups(ranker: CrossEncoder, heads: Sequence[Head]) -> dict[str, np.ndarray]:
    """The matching heads together, all others, and each matching head, as masks over all heads."""
    import numpy as np

    every = all_heads(ranker.encoder)
    inside = np.array([head in set(heads) for head in every])
    return {
        "matching heads": inside, "other heads": ~inside,
        **{str(head): np.array([one == head for one in every]) for head in heads},
    }  # fmt: skip


def _query_attention(ranker: CrossEncoder, pair: MinimalPair) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """[heads] twice: the attention of some tokens of the query to the places of the change that hold the term,
    and to the control; both summed over places, averaged over those tokens. Nothing of a pair without any."""
    try:
        realised = realise_for_patching(pair, ranker)
    except CannotAlign:
        return {}
    reading = Reading.of(ranker, *realised.texts.perturbed)
    rows, asked = term_rows(ranker, reading, pair.term or ""), set(reading.query_ids)
    injected = [i for i, name in enumerate(realised.names) if name == "inj"]
    control = [
        i for i, name in enumerate(realised.names) if name in CONTROL and reading.tokens.ids[i] not in asked
    ]
    if not rows or not injected or not control:
        return {}
    others = [i for i in reading.query if i not in set(rows)]
    read = {SELECTED: rows, UNSELECTED: others, EVERY: reading.query}
    return {
        name: (_read(reading, some, injected), _read(reading, some, control))
        for name, some in read.items()
        if some
    }


def _read(reading: Reading, rows: Sequence[int], columns: Sequence[int]) -> np.ndarray:
    return reading.block(rows, columns).sum(-1).mean(-1).flatten().numpy()


def term_rows(ranker: CrossEncoder, reading: Reading, term: str) -> list[int]:
    """The positions of a term's tokens in the query."""
    pieces = ranker.pieces.tokenizer.encode(f" {term}", add_special_tokens=False).ids
    ids = reading.query_ids
    places = [
        start
        for start in range(len(ids) - len(pieces) + 1)
        if words(term) and ids[start:][: len(pieces)] == pieces
    ]
    return [reading.query[start + i] for start in places for i in range(len(pieces))]


class _ByK:
    """Values of several groups by k, with the query each comes from."""

    def __init__(self) -> None:
        self.rows: defaultdict[int, list[tuple[str, dict[str, float]]]] = defaultdict(list)

    def add(self, pair: MinimalPair, values: Mapping[str, float]) -> None:
        self.rows[pair.k or 1].append((pair.qid or pair.id, dict(values)))

    def curves(self, fits: bool = False) -> dict[str, Curve]:
        """For each group its means over k, and (`fits`) the curves that describe them."""
        ks, names = sorted(self.rows), list(next(iter(self.rows.values()))[0][1])
        means = zip(*(self._means(k, names) for k in ks), strict=True)
        found = {name: tuple(map(CurvePoint, ks, estimates)) for name, estimates in zip(names, means, strict=True)}
        fitted = {
            name: tuple(fit_curves(ks, [point.mean.value or 0.0 for point in points]))
            if fits and len(ks) > 2
            else ()
            for name, points in found.items()
        }
        return {name: Curve(points, fitted[name]) for name, points in found.items()}

    def _means(self, k: int, names: Sequence[str]) -> list[Estimate]:
        """Each group's mean over the pairs of one k."""
        import numpy as np

        rows = np.array([[values[name] for name in names] for _, values in self.rows[k]])
        queries = [query for query, _ in self.rows[k]]
        intervals = clustered_intervals(rows, queries)
        size = (len(rows), len(set(queries)))
        return [
            Estimate.of(float(mean), interval, *size)
            for mean, interval in zip(rows.mean(axis=0), intervals, strict=True)
        ]
