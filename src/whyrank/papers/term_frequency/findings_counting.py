"""What the papers say of repeated terms (TFC2), judged by what was measured here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import Estimate, percent
from whyrank.evaluation.interval import Interval
from whyrank.pages.findings import Finding
from whyrank.papers.term_frequency.findings import judged, majority, some_of
from whyrank.papers.term_frequency.paper import COUNTING, FAR, GOOD, LATER, LITTLE, MOST_VIOLATE, VIOLATE
from whyrank.papers.term_frequency.parts import Attention, Counted, CurveFit, EffectCurve, Point

if TYPE_CHECKING:
    from whyrank.papers.term_frequency.results import TermFrequencyStudy

Variants = Mapping[str, Counted]
#: Fewest documents on which a share of pairs can be judged.
FEWEST = 20
#: In so many draws a curve must be the best to be called so.
CLEARLY = 0.95


def counting_findings(study: TermFrequencyStudy, known: bool) -> Iterator[Finding]:
    variants, leading = study.counting.variants, study.counting.leading
    if not variants:
        return
    n = f"{next(iter(variants.values())).documents} documents"
    if known:
        yield Finding.heads("heads that count (TFC2)", COUNTING, leading, n)
    else:
        ours = " ".join(leading) or "none"
        yield Finding.holds("heads that count (TFC2)", f"{' '.join(COUNTING)} (TAS-B)", ours, n, None)
    for name in ("cumulative", "cumulative, 50 slots"):
        if name in variants:
            yield from _shapes(name, variants[name])
    yield from _gains(variants)
    yield from _violations("marginal" if "marginal" in variants else next(iter(variants)), variants)
    yield from _attention(study.counting.attention)


def _shapes(name: str, one: Counted) -> Iterator[Finding]:
    """Log fits and shapes of heads that have an effect, in documents whose score rises at every k (as the paper
    filters), if there are any."""
    filtered = bool(one.effects_of_adherent)
    effects = one.effects_of_adherent if filtered else one.effects
    curves = {short_name(site): curve for site, curve in effects.items() if curve.shape != "none"}
    n = f"{one.adherent_documents} of " * filtered + f"{one.documents} documents"
    count = one.adherent_documents if filtered else one.documents
    yield from (judged(row, count) for row in _fits(f"R2 of log fits, k up to 5 ({name})", curves, n))
    yield from (judged(row, count) for row in _slopes(f"late slope over early slope ({name})", curves, n))


def _fits(what: str, curves: Mapping[str, EffectCurve], n: str) -> Iterator[Finding]:
    logs = {head: curve.log_fit.r2 for head, curve in curves.items() if curve.log_fit}
    logs = {head: r2 for head, r2 in logs.items() if r2.value is not None}
    if not logs:
        return
    good = sum(r2.interval.low >= GOOD for r2 in logs.values())
    bad = sum(r2.interval.high < GOOD for r2 in logs.values())
    yield Finding.holds(
        what,
        f"{GOOD} or more in every head",
        some_of([f"{head} {r2:.2f}" for head, r2 in logs.items()]),
        n,
        True if good == len(logs) else False if bad else None,
        f"surely {GOOD} or more: {good} of {len(logs)}, surely less: {bad}",
    )


def _slopes(what: str, curves: Mapping[str, EffectCurve], n: str) -> Iterator[Finding]:
    ratios = {head: curve.ratio for head, curve in curves.items() if curve.ratio.value is not None}
    if not ratios:
        return
    below = sum(one.interval.high < 1 for one in ratios.values())
    above = sum(one.interval.low >= 1 for one in ratios.values())
    yield Finding.holds(
        what,
        "below 1: sublinear",
        some_of([f"{head} {one:.2f}" for head, one in ratios.items()]),
        n,
        True if below == len(ratios) else False if above > len(ratios) / 2 else None,
        f"surely below 1: {below} of {len(ratios)}, surely not: {above}",
    )


class _Gain(NamedTuple):
    """A gain as a share of the whole effect, and on how many documents."""

    value: float
    interval: Interval
    documents: int

    @property
    def is_little(self) -> bool:
        return max(abs(self.interval.low), abs(self.interval.high)) < LITTLE

    @property
    def text(self) -> str:
        return Estimate.of(self.value, self.interval, self.documents, 0).percent(1)


def _gains(variants: Variants) -> Iterator[Finding]:
    """The gain of one more occurrence at k = 10 or later, by the effect of all before, of heads that surely have
    one."""
    what, stated = f"gain of one more beyond k = {FAR}, by the whole effect", "below 0.5%"
    points = list(_at_far(variants))
    gains = {head: _gain(gain, whole.mean.value or 0.0) for head, gain, whole in points if whole.mean.is_sure}
    if not gains:
        why = "no head surely has an effect to gain on" if points else f"k = {FAR} was not asked for"
        yield Finding.holds(what, stated, "not measured", "–", None, why)
        return
    little = [head for head, gain in gains.items() if gain.interval and gain.is_little]
    large = [head for head, gain in gains.items() if gain.interval and _outside(gain.interval, LITTLE)]
    n = max(gain.documents for gain in gains.values())
    row = Finding.holds(
        what,
        stated,
        some_of([f"{head} {gain.text}" for head, gain in gains.items()]),
        f"{n} documents",
        True if len(little) == len(gains) else False if large else None,
        f"surely below: {len(little)} of {len(gains)}, surely above: {len(large)}; the interval is the gain's",
    )
    yield judged(row, n)


def _at_far(variants: Variants) -> Iterator[tuple[str, Point, Point]]:
    """By head: the gain of one more, and the whole effect, where both were measured."""
    one_more, whole = (variants[name].effects if name in variants else {} for name in ("marginal", "cumulative"))
    for site, curve in one_more.items():
        here, there = (_from(one.points if one else (), FAR) for one in (curve, whole.get(site)))
        if here and there:
            yield short_name(site), here, there


def _gain(gain: Point, whole: float) -> _Gain:
    mean = gain.mean
    return _Gain((mean.value or 0.0) / whole, mean.interval.scaled(1 / whole), mean.pairs)


def _from(points: Sequence[Point], k: int) -> Point | None:
    """The first point from k on."""
    return next((point for point in points if point.k >= k), None)


def _outside(ends: Interval, limit: float) -> bool:
    return ends.low > limit or ends.high < -limit


def _violations(name: str, variants: Variants) -> Iterator[Finding]:
    """Do more pairs fail to rise as k grows? Judged by intervals that are apart, of enough documents."""
    found = variants[name].violations
    if len(found.points) < 2:
        return
    first, last = found.points[0].mean, found.points[-1].mean
    n = min(first.pairs, last.pairs)
    grows = _grows(first, last) if n >= FEWEST else None
    why = f"fewer than {FEWEST} documents" if n < FEWEST else "" if grows is not None else "the intervals overlap"
    if grows and not last.interval.low <= MOST_VIOLATE <= last.interval.high:
        than = "more" if (last.value or 0.0) > MOST_VIOLATE else "fewer"
        why = f"they grow, to {than} than the paper's {percent(MOST_VIOLATE)}"
    shown = ", ".join(f"{point.mean.percent()} at k = {point.k}" for point in (found.points[0], found.points[-1]))
    n_shown = f"{n} documents"
    yield Finding.holds(f"pairs that do not rise ({name})", VIOLATE, shown, n_shown, grows, why)
    log = found.log_fit
    if log and log.r2.value is not None:
        yield _growth(f"how they grow ({name})", log, n_shown, grows)


def _grows(first: Estimate, last: Estimate) -> bool | None:
    here, there = first.interval, last.interval
    return True if there.low > here.high else False if there.high < here.low else None


def _growth(what: str, log: CurveFit, n: str, grows: bool | None) -> Finding:
    part = log.best_in
    best = None if part is None else True if part >= CLEARLY else False if part <= 1 - CLEARLY else None
    in_draws = "" if part is None else f", best in {percent(part)} of draws"
    return Finding.holds(
        what, "logarithmically", f"log R2 {log.r2:.2f}{in_draws}", n, best if grows else None,
        "" if grows else "they do not surely grow",
    )  # fmt: skip


def _attention(every: Sequence[Attention]) -> Iterator[Finding]:
    """Beyond k = 5: does the injected term look less at itself and more at other query words?"""
    rows = [row for row in every if row.k is not None and row.k >= LATER]
    heads = list(dict.fromkeys(row.head for row in rows))
    moves = {head: (_moves(rows, head, "inj -> inj"), _moves(rows, head, "inj -> qterm-")) for head in heads}
    known = {head: both for head, both in moves.items() if None not in both}
    if not known:
        return
    left = [head for head, both in known.items() if both == (-1, 1)]
    came = [head for head, both in known.items() if both == (1, -1)]
    n = max(row.mean.pairs for row in rows)
    row = Finding.holds(
        f"attention beyond k = {LATER}",
        "from the injected term to other query words",
        f"{len(left)} of {len(known)} heads surely go, {len(came)} the other way",
        f"{n} documents",
        majority(len(left), len(came), len(known)),
    )
    yield judged(row, n)


def _moves(rows: Sequence[Attention], head: str, quantity: str) -> int | None:
    """1 where attention surely rises from the first of these k to the last, -1 falls, 0 neither."""
    mine = sorted((r for r in rows if (r.head, r.quantity) == (head, quantity)), key=lambda row: row.k or 0)
    if len(mine) < 2 or not (mine[0].mean.interval and mine[-1].mean.interval):
        return None
    rises = _grows(mine[0].mean, mine[-1].mean)
    return 0 if rises is None else 1 if rises else -1
