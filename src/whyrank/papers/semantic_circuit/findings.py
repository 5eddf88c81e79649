"""The findings of 'Pathway to Relevance' and what a study of a cross-encoder found, by the stage of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from whyrank.circuits import known
from whyrank.circuits.results import CONTEXTUALIZATION, MATCHING, SCORING, Circuit, Curve, CurvePoint, Step
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.core.results import Result
from whyrank.edits.experiment import ExperimentPoint, TwoTokenExperiment
from whyrank.edits.idf import IdfDirection
from whyrank.edits.suppression import Suppression
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import Estimate, percent
from whyrank.interventions.results import Effects
from whyrank.pages.findings import OPEN, Finding
from whyrank.papers.semantic_circuit import paper
from whyrank.papers.semantic_circuit.dial_attention import attention_findings

#: Scales of an edit that are shown: the middle of the paper's first range, and the end of its second.
SCALES_SHOWN = (1.0, 4.0)
#: A share below this part of another is small beside it.
SMALL = 0.1
#: A curve that changes by less than this part is level.
LEVEL = 0.2
GROUP = "matching heads"


def findings(results: Mapping[str, Result]) -> list[Finding]:
    """By the name of the stage, whatever stages there are."""
    return [row for name, read in READERS.items() if name in results for row in read(results[name])]


def _number(what: str, value: float, ours: Estimate, n: str) -> Finding:
    return Finding.number(what, value, ours.value, ours.interval, n)


def _circuit(circuit: Circuit) -> Iterator[Finding]:
    steps = {(step.number, step.part): step for step in circuit.steps}
    first, values = steps[0, None], steps.get((1, "v"))
    same_model = known.is_papers_model(circuit.ranker)
    sent = tuple(edge.sender for edge in circuit.kept(first))
    for what, heads, ours, step in (
        ("heads that reach the logits", known.SCORING, sent, first),
        ("query contextualization heads", known.CONTEXTUALIZATION, circuit.roles[CONTEXTUALIZATION], values),
        ("matching heads", known.MATCHING, circuit.roles[MATCHING], values),
    ):
        found = Finding.heads(what, heads, _short(ours), f"{_pairs(step)} pairs")
        yield found if same_model else replace(found, verdict=OPEN, why="another model: its heads are its own")
    for what, r, step in (
        ("to the logits", paper.SETS_TO_LOGITS, first),
        ("to the scoring heads' values", paper.SETS_TO_VALUES, values),
    ):
        between = step.between_sets if step else None
        if between:
            n = f"{between.sites} heads, {between.pearson.pairs} pairs"
            yield _number(f"TFC1 against STMC1, {what}: r", r, between.pearson, n)
    yield from _scoring(circuit, same_model)
    yield from _attention(circuit, same_model)
    yield from _independence(circuit)
    yield from _ablation(circuit)
    yield from _saturation(circuit)
    yield from _counting(circuit)


def _scoring(circuit: Circuit, same_model: bool) -> Iterator[Finding]:
    """What CLS reads of the query, on average and in each scoring head."""
    heads = {one.head: one.pooled for one in circuit.tests.heads}
    n = _n(next(iter(heads.values()))[SCORING])
    mean = circuit.tests.roles[SCORING].role_absolute
    if mean:
        what = "CLS attention to query tokens against IDF, mean |r| of the scoring heads"
        yield _number(what, paper.SCORING_R, mean, n)
    for head in circuit.roles[SCORING]:
        r, name = heads[head][SCORING], short_name(head)
        reads = {1: "rare terms", -1: "common terms", 0: "no clear preference"}[_sign(r)]
        said, holds = (paper.READS.get(name, "–"), _sign_agrees(name, r)) if same_model else ("–", None)
        yield Finding.holds(f"what {name} reads of the query", said, f"{reads}: r = {r.text()}", n, holds)


def _attention(circuit: Circuit, same_model: bool) -> Iterator[Finding]:
    """What contextualization and matching heads read."""
    heads = {one.head: one.pooled for one in circuit.tests.heads}
    for head, value in paper.CONTEXTUALIZATION_R.items():
        if same_model and head in heads:
            r = heads[head][CONTEXTUALIZATION]
            yield _number(f"{short_name(head)}: query-to-query attention against IDF, r", value, r, _n(r))
    test, n = circuit.tests.roles[MATCHING], _n(next(iter(heads.values()))[MATCHING], "pairs of tokens")
    for name, value, mean in (
        (GROUP, paper.MATCHING_R, test.role), ("all other heads", paper.OTHERS_R, test.others)
    ):  # fmt: skip
        if mean:
            yield _number(f"attention to document tokens against cosine, mean r of {name}", value, mean, n)


def _sign(r: Estimate) -> int:
    """Of r, where its interval excludes 0; else 0."""
    return 0 if not r.is_sure else 1 if (r.value or 0.0) > 0 else -1


def _sign_agrees(head: str, r: Estimate) -> bool | None:
    if head not in paper.READS or not _sign(r):
        return None
    return (_sign(r) > 0) == (head != paper.COMMON)


def _independence(circuit: Circuit) -> Iterator[Finding]:
    u0, paths = circuit.u0_against_matching, circuit.matching_to_scoring
    if u0:
        yield _number(
            "U0 against matching score, r", paper.U0_MATCHING_R, u0, f"{u0.pairs} tokens of {u0.queries} queries"
        )
    if paths and paths.q and paths.v:
        q, v = paths.q, paths.v
        sizes = [one.share.value for one in (q, v)]
        small = None if sizes[0] is None or sizes[1] is None else abs(sizes[0]) < SMALL * abs(sizes[1])
        yield Finding.holds(
            "matching heads to the scoring heads' queries", "about 0",
            f"{q.share.text()} of the gap; to their values {v.share.text()}", f"{q.n} pairs", small,
        )  # fmt: skip


def _ablation(circuit: Circuit) -> Iterator[Finding]:
    for name, measured in circuit.faithfulness.items():
        zero = measured.kinds.get("zero")
        if zero is None or zero.without_matching is None or name not in paper.ZEROED:
            continue
        gone = zero.without_matching
        ours, holds = f"{zero.perturbed:.3f} to {gone.perturbed:.3f}", None
        least = gone.random.perturbed_least
        if least is not None:
            ours += f"; as many random heads: {gone.random.perturbed:.3f}, at least {least:.3f}"
            holds = gone.perturbed < least
        yield Finding.holds(
            f"matching heads zeroed, {name}: mean logit",
            paper.ZEROED[name],
            ours,
            f"{gone.kept.pairs} pairs",
            holds,
        )


def _saturation(circuit: Circuit) -> Iterator[Finding]:
    if circuit.saturation is None:
        return
    injected, control = circuit.saturation.injected[GROUP], circuit.saturation.other_tokens[GROUP].points
    first, half, last = injected.points[0], injected.points[len(injected.points) // 2], injected.points[-1]
    best = injected.fits[0].curve if injected.fits else None
    n = f"{first.mean.pairs} documents"
    yield Finding.holds(
        "attention of matching heads to the term over its occurrences", "rises, then flattens",
        f"{_mean(first):.3f} at k={first.k}, {_mean(half):.3f} at {half.k}, {_mean(last):.3f} at {last.k}; best "
        f"fit {best or 'none'}", n, None if best is None else _grows(injected) and best in ("log", "sqrt"),
    )  # fmt: skip
    change = _mean(control[-1]) / _mean(control[0]) - 1
    shown = f"{_mean(control[0]):.3f} to {_mean(control[-1]):.3f} ({percent(change, sign='+')})"
    yield Finding.holds(
        "the same to other document tokens", "level", shown, n, abs(change) < LEVEL,
    )  # fmt: skip


def _counting(circuit: Circuit) -> Iterator[Finding]:
    if circuit.count_not_flag:
        curve = circuit.count_not_flag[GROUP]
        first, last = curve.points[0], curve.points[-1]
        yield Finding.holds(
            "matching heads alone on TFC2: the score", "grows with the count",
            f"{_mean(first):+.3f} at k={first.k}, {_mean(last):+.3f} at {last.k}", f"{first.mean.pairs} documents",
            _grows(curve),
        )  # fmt: skip
    if circuit.length:
        total, mean = circuit.length.sum[GROUP].points, circuit.length.mean_over_tokens[GROUP].points
        yield Finding.holds(
            "attention to the document as sentences are added", "falls (section 4.3); rises (appendix E)",
            f"sum {_over_all(total):+.4f}, mean over tokens {_over_all(mean):+.5f}",
            f"{sum(point.mean.pairs for point in total)} documents", None,
        )  # fmt: skip


def _grows(curve: Curve) -> bool | None:
    """Whether the last point is surely above the first; None where the intervals overlap."""
    first, last = curve.points[0].mean, curve.points[-1].mean
    if first.low is None or first.high is None or last.low is None or last.high is None:
        return None
    if last.low > first.high:
        return True
    return False if last.high < first.low else None


def _activation(effects: Effects) -> Iterator[Finding]:
    if effects.compared:
        found = effects.compared.correlation
        n = f"{found.sites} heads, {effects.pairs} pairs"
        yield _number("TFC1 against STMC1, activation patching: r", paper.SETS_ACTIVATION, found.pearson, n)


def _idf(found: IdfDirection) -> Iterator[Finding]:
    r = found.correlations[0].r
    yield _number(f"U0 against IDF ({found.idf}), r", paper.U0_IDF_R, r, f"{r.pairs} words")


def _two_tokens(found: TwoTokenExperiment) -> Iterator[Finding]:
    def at(control: str, direction: str, scale: float) -> ExperimentPoint:
        return min(found.curve(control, direction), key=lambda one: abs(one.scale - scale))

    edit, *_ = found.controls
    for direction, said, sign in (("up", "rises", 1), ("down", "falls", -1)):
        for scale in SCALES_SHOWN:
            point = at(edit, direction, scale)
            own = point.randoms.edit_less if point.randoms else None
            finding = Finding.holds(
                f"score of doc1 when IDF goes {direction}, {point.scale:g}{found.rule}", said,
                point.doc1.text("+.2f"), f"{found.items} documents",
                _surely(point.doc1, sign) and _surely(own, sign),
            )  # fmt: skip
            less = own.text("+.2f") if own else "not measured"
            yield replace(finding, why=f"beyond the mean of random directions of the same size: {less}")
    yield from attention_findings(found)


def _surely(one: Estimate | None, sign: int) -> bool:
    """Whether the interval lies on this side of 0."""
    return one is not None and one.has_sign(sign)


def _suppress(found: Suppression) -> Iterator[Finding]:
    last = found.scales[-1]
    n = f"{found.kept} pairs of {found.words} words"
    yield _number(f"unsafe below safe, scale {last.scale:g}", paper.SUPPRESSED, last.success, n)
    what = f"the same beyond random directions of the same size, scale {found.at:g}"
    yield Finding.holds(what, "not measured", found.randoms.below.edit_less.text("+.2f"), n, None)
    kept = last.cost.agreement
    what = f"nDCG against the unedited ranking, scale {last.scale:g}"
    yield _number(what, paper.SUPPRESSED_NDCG, kept, f"{kept.queries} queries")


def _semantic_bm(result: SemanticBM) -> Iterator[Finding]:
    titles = ("split by query, shared coefficients", "the paper's protocol")
    for title, protocol in zip(titles, result.protocols, strict=True):
        for name, label in (("semantic_bm", "SemanticBM"), ("bm25", "BM25")):
            model = protocol.model(name)
            if model:
                what = f"{label} against the cross-encoder, {title}, {len(result.heads)} heads: r"
                yield _number(what, paper.SEMANTIC_BM_R[name], model.pearson, f"{model.pearson.pairs} pairs")


READERS: dict[str, Callable[[Any], Iterator[Finding]]] = {
    "circuit": _circuit, "activation-stmc1": _activation, "idf": _idf, "two-tokens": _two_tokens,
    "suppress": _suppress, "semantic-bm": _semantic_bm, "semantic-bm-paper": _semantic_bm,
}  # fmt: skip


def _short(heads: Sequence[str]) -> list[str]:
    return [short_name(head) for head in heads if head.startswith("L")]


def _n(r: Estimate, what: str = "tokens") -> str:
    return f"{r.pairs} {what}, {r.queries} queries"


def _pairs(step: Step | None) -> int:
    return sum(step.pairs.values()) if step else 0


def _mean(point: CurvePoint) -> float:
    return point.mean.value or 0.0


def _over_all(points: Sequence[CurvePoint]) -> float:
    """The mean over all documents, whatever their k."""
    return sum(_mean(one) * one.mean.pairs for one in points) / sum(one.mean.pairs for one in points)
