"""A term-frequency study by hand: every part that the report reads, with numbers that are easy to follow."""

import math
from dataclasses import replace
from itertools import pairwise

from whyrank.audit.results import AxiomSummary, Contrast
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.summary import Gap, Keeping, MapCorrelation
from whyrank.papers.term_frequency.atlas import CarryingHead, RankerSummary
from whyrank.papers.term_frequency.findings import findings
from whyrank.papers.term_frequency.parts import (
    Attention,
    AttentionExample,
    Counted,
    Counting,
    Curve,
    CurveFit,
    Depth,
    EffectCurve,
    Estimators,
    FlowLink,
    FlowRow,
    GroupContrast,
    JointShare,
    Likeness,
    PairedDifference,
    PairSet,
    Point,
    Questions,
    SiteEffect,
    Survival,
    Together,
    Token,
)
from whyrank.papers.term_frequency.results import About, TermFrequencyStudy
from whyrank.papers.term_frequency.sizes import Sizes

CATEGORIES = ("cls", "inj", "qterm+", "qterm-", "other", "sep")
SETS = (
    "append", "prepend", "middle", "replace", "replace, 5 or more", "null", "null, prepend", "minimal context",
    "minimal context, prepend",
)  # fmt: skip
SIZE = {"layers": 2, "heads_per_layer": 3}


def estimate(value, width=0.05, n=20, queries=10):
    return Estimate(value, value - width, value + width, n, queries)


def site(name, share, *, layer=0, head=None, category=None, p=0.5, n=20, queries=10, gap=2.0, width=0.05):
    """What a site does; its effect on the score is its share of a gap of 2."""
    of_gap, effect = estimate(share, width, n, queries), estimate(share * gap, abs(width * gap), n, queries)
    place = name, layer, head, category, n, queries
    return SiteEffect(*place, of_gap, of_gap, effect, effect, share, 0.0, p, p, p)


def heads(shares, layers=2, heads_per_layer=3, **more):
    """All heads; those that `shares` names are significant, the others carry .01."""
    return tuple(
        site(f"L{layer}.H{head}.z", shares.get(f"{layer}.{head}", 0.01), layer=layer, head=head,
             p=0.001 if f"{layer}.{head}" in shares else 0.9, **more)
        for layer in range(layers) for head in range(heads_per_layer)
    )  # fmt: skip


def one_set(shares, *, gap=2.0, sure=True, **more):
    return PairSet(
        pairs=20, queries=10, gap=Gap(gap, gap, 8.0, 8.0 + gap, 0),
        mean_gap=estimate(gap, 0.5 if sure else 2 * abs(gap)), keep=Keeping("all", 20, 18, 0.98),
        heads=heads(shares, gap=gap, **more),
        splits={
            "rank": {"1-10": heads({h: 2 * s for h, s in shares.items()}, n=10, **more),
                     "91-100": heads({h: s / 4 for h, s in shares.items()}, n=10, **more)},
            "term_present": {"no": heads(shares, n=15, **more), "yes": heads(shares, n=5, **more)},
        },
        adherence={},
    )  # fmt: skip


def against(shares, keep):
    """A control in which every head keeps a part of what it has."""
    return tuple(
        PairedDifference(one.site, one.layer, one.head, None, whole, keep * whole, estimate((1 - keep) * whole),
                         one.p_holm)
        for one in heads(shares) for whole in [one.share.value]
    )  # fmt: skip


def curve(values, shape, ratio, *, width=0.05, n=24, log_r2=0.97):
    """Points over k = 1, 2, ...; the log fit goes through the first and the fifth."""
    a = (values[min(4, len(values) - 1)] - values[0]) / math.log(min(5, len(values)))
    fits = (
        CurveFit("log", a, values[0], estimate(log_r2, 0.02), -20.0, 0.97),
        CurveFit("linear", a / 2, values[0], Estimate(0.8, None, None, 20, 10, "not defined"), None, 0.03),
    )
    points = tuple(Point(k, estimate(v, width, n)) for k, v in enumerate(values, start=1))
    return EffectCurve(points, fits, ratio or Estimate.undefined(), shape)


def counted(names, most=10, *, marginal=False):
    """TFC2 of these heads: a log curve, or its steps."""
    total = [0.4 * math.log(k) + 0.5 for k in range(1, most + 2)]
    gains = [b - a for a, b in pairwise(total)]
    values = gains if marginal else total[:most]
    effects = {
        f"L{h.split('.')[0]}.H{h.split('.')[1]}.z": curve(
            [v / (i + 1) for v in values], "falls" if marginal else "sublinear", estimate(0.4, 0.2), n=24
        )
        for i, h in enumerate(names)
    }
    rates = [0.08 + 0.31 * math.log(k) / math.log(most) for k in range(1, most + 1)]
    violations = curve(rates, "", None, n=24)
    return Counted(24, 18, effects, effects, Curve(violations.points, violations.fits), 90, 40)


def attention_over_k(names, most=10):
    """Attention over k: each head leaves the injected term for other query words."""
    return tuple(
        Attention(head, source, target, k, estimate(first + step * (k - 1), 0.02, 24))
        for head in names
        for source, target, first, step in (
            ("inj", "inj", 0.6, -0.05), ("inj", "qterm-", 0.1, 0.04), ("cls", "inj", 0.2, 0.02),
        )
        for k in range(1, most + 1)
    )  # fmt: skip


def flowing(layers=2):
    """The signal goes from the injected term to CLS, most of it in the last layer."""
    found = []
    for layer in range(layers):
        late = layer / layers
        stands = {"cls": 0.8 * late, "inj": 1 - 0.8 * late, "other": -0.1}
        lands = {"cls": 0.2 + 0.6 * late, "inj": 0.1, "other": 0.0}
        found += [
            FlowRow(layer, c, estimate(stands[c], n=12), estimate(0.3, n=6), estimate(lands[c], n=12))
            for c in stands
        ]
    return (*found, *(FlowRow(layers, c, estimate(v, n=12)) for c, v in (("cls", 0.9), ("inj", 0.1))))


def audited(name):
    why = (Contrast("length", 80.0, 40.0, Estimate(0.6, 0.2, 0.8, 50, 12)),)
    return AxiomSummary("r", name, "perturbed", 50, 12, estimate(0.9), estimate(0.02), estimate(0.08),
                        estimate(0.5), 0.5, None, None, why=why)  # fmt: skip


def likeness(r=0.9):
    return Likeness(12, 1.5, 10, MapCorrelation(6, estimate(r), r), ("1.0",))


def difference(name, value, p, layer=0, head=0, category=None):
    return PairedDifference(name, layer, head, category, value, 0.0, estimate(value, 0.1), p)


def contrast(one):
    shares = estimate(0.2, n=4), estimate(one.share.value, n=16), estimate(0.2 - one.share.value)
    return GroupContrast(one.site, estimate(-0.1, n=4), estimate(0.4, n=16), estimate(-0.5), *shares, one.p_holm)


def estimators(one):
    def survival(survives):
        return Survival(estimate(one.share.value, n=18), survives and one.p_holm < 0.05)

    return Estimators(one.site, 20, 0.1, survival(True), survival(True), survival(False))


def about(**more):
    known = {
        "ranker": "bi-tiny", "kind": "bi-encoder", "source": "folder", "reads": "[CLS]", "term": "effect",
        "documents": "all 130 documents", "queries": 10, "max_length": 128, "cut": 0.25, "sizes": Sizes(), **SIZE,
    }  # fmt: skip
    return About(**(known | more))


def small(**more):
    """A ranker of 2 layers x 3 heads; 0.1 and 1.0 carry an appended term, and turn round when it is prepended.

    `more` are fields of the study, or of what it says about its ranker; its findings are those of all the rest.
    """
    shares, leading = {"0.1": 0.3, "1.0": 0.4}, ("1.0", "0.1")
    turned = {head: -share for head, share in shares.items()}
    study = TermFrequencyStudy(
        about=about(**{name: more.pop(name) for name in list(more) if name in About.__dataclass_fields__}),
        sets={
            **{name: one_set(shares) for name in SETS},
            "prepend": one_set(turned), "middle": one_set(shares, gap=0.1, sure=False),
        },
        controls={
            "null": against(shares, 0.1), "minimal context": against(shares, 0.7),
            "null, prepend": against(turned, 0.1), "minimal context, prepend": against(turned, 0.7),
        },
        leading=leading,
        depth=Depth(2, (estimate(0.4), estimate(0.6)), estimate(0.6), ((0.4, 0.6), (0.5, 0.5)), 10),
        blocks=tuple(
            site(f"L{layer}.{part}@{c}", 0.1 * i, layer=layer, category=c, p=0.01 if i == 1 else 0.9, n=12)
            for layer in range(2) for part in ("resid", "attn", "mlp") for i, c in enumerate(CATEGORIES)
        ),
        by_category=tuple(
            site(f"L1.H0.z@{c}", 0.35 if c == "inj" else 0.01, layer=1, head=0, category=c,
                 p=0.001 if c == "inj" else None)
            for c in ("cls", "inj", "other")
        ),
        together=Together(
            (("1.0",), ("1.0", "0.1")),
            JointShare(estimate(0.55), {"1-10": estimate(0.7, n=10), "91-100": estimate(0.3, n=10)}),
            None,
        ),
        append_less_prepend=tuple(
            difference(s.site, 2 * s.mean_effect.value, s.p_holm, s.layer, s.head) for s in heads(shares)
        ),
        append_less_prepend_by_category=(difference("L1.H0.z@qterm+", 0.5, 0.01, 1, 0, "qterm+"),),
        attention=(Attention("1.0", "inj", "qterm+", None, estimate(0.4, n=15)),),
        patterns=tuple(
            Attention("1.0", "inj", to, None, estimate(mean, n=15))
            for to, mean in (("cls", 0.2), ("inj", 0.1), ("qterm+", 0.6))
        ),
        example=AttentionExample(
            "1.0", "cat", "d1", "cat", (Token("[CLS]", "cls"), Token("$5", "other"), Token("cat", "inj")),
            ((0.5, 0.3, 0.2), (0.1, 0.8, 0.1), (0.05, 0.05, 0.9)),
        ),
        estimators=tuple(map(estimators, heads(shares))),
        counting=Counting(
            ("1.0",),
            {"cumulative": counted(leading), "marginal": counted(leading, marginal=True),
             "cumulative, 50 slots": counted(leading)},
            attention_over_k(leading),
        ),
        flow=flowing(),
        links=(FlowLink(0, "inj", "cls", 0.3), FlowLink(1, "inj", "cls", 0.2)),
        questions=Questions(
            tuple(map(contrast, heads(shares))), likeness(), {"mask": likeness(0.8), "random": likeness(0.7)},
            likeness(0.2), {"TFC1:append": (audited("TFC1:append"),)},
        ),
    )  # fmt: skip
    study = replace(study, **more)
    return replace(study, findings=tuple(findings(study)))


def with_set(name, one, **more):
    return small(sets={**small().sets, name: one}, **more)


def with_variants(variants, **more):
    """A study with other variants of TFC2."""
    return small(counting=replace(small().counting, variants=variants, **more))


def page(ranker, profile, *, significant=2, layers=2, findings=()):
    """One ranker of the atlas."""
    carrying = (
        CarryingHead("1.0", estimate(0.4), 1.0, 0.001, True),
        CarryingHead("0.2", estimate(0.01), 0.0, None, False),
    )
    depth = estimate(0.7) if significant else Estimate.undefined()
    profile = tuple(estimate(value, 0.1) for value in profile)
    return RankerSummary(ranker, ranker, layers, 20, carrying, significant, profile, depth, tuple(findings))
