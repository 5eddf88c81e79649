"""A term_frequency.json by hand: every key that the report reads, with numbers that are easy to follow."""

import math
from itertools import pairwise

CATEGORIES = ("cls", "inj", "qterm+", "qterm-", "other", "sep")
SETS = (
    "append", "prepend", "middle", "replace", "replace, 5 or more", "null", "null, prepend", "minimal context",
    "minimal context, prepend",
)  # fmt: skip


def ends(value, width=0.05):
    return {"low": value - width, "high": value + width}


def estimate(value, width=0.05):
    return {"value": value, **ends(value, width)}


def site(name, share, *, layer=0, head=None, category=None, p=0.5, n=20, queries=10, gap=2.0, width=0.05):
    """A site's summary; its effect on the score is its share of a gap of 2."""
    return {
        "site": name, "layer": layer, "head": head, "category": category, "n": n, "queries": queries,
        "share": share, "share_interval": ends(share, width), "mean_effect": share * gap,
        "mean_interval": ends(share * gap, width * gap), "mean_of_ratios": share, "p_holm": p,
    }  # fmt: skip


def heads(shares, layers=2, a_layer=3, **more):
    """All heads; those that `shares` names are significant, the others carry .01."""
    return [
        site(f"L{layer}.H{head}.z", shares.get(f"{layer}.{head}", 0.01), layer=layer, head=head,
             p=0.001 if f"{layer}.{head}" in shares else 0.9, **more)
        for layer in range(layers) for head in range(a_layer)
    ]  # fmt: skip


def one_set(shares, *, gap=2.0, sure=True, **more):
    sites = heads(shares, gap=gap, **more)
    return {
        "pairs": 20, "queries": 10, "gap": {"mean": gap, "median": gap, "base": 8.0, "perturbed": 8.0 + gap},
        "keep": {"rule": "all", "pairs": 20, "adherent": 18, "correlation_with_all": 0.98},
        "gap_interval": ends(gap, 0.5 if sure else 2 * abs(gap)), "sure": sure, "sites": sites,
        "splits": {
            "rank": {"1-10": heads({h: 2 * s for h, s in shares.items()}, n=10, **more),
                     "91-100": heads({h: s / 4 for h, s in shares.items()}, n=10, **more)},
            "term_present": {"no": heads(shares, n=15, **more), "yes": heads(shares, n=5, **more)},
        },
    }  # fmt: skip


def against(shares, keep, layers=2, a_layer=3):
    """A control in which every head keeps a part of what it has."""
    found = []
    for layer in range(layers):
        for head in range(a_layer):
            whole = shares.get(f"{layer}.{head}", 0.01)
            found.append({
                "site": f"L{layer}.H{head}.z", "layer": layer, "head": head, "append": whole,
                "other": keep * whole, "difference": (1 - keep) * whole, **ends((1 - keep) * whole),
                "p_holm": 0.001 if f"{layer}.{head}" in shares else 0.9, "n": 20, "queries": 10,
            })  # fmt: skip
    return found


def curve(values, verdict, ratio, *, width=0.05, n=24, log_r2=0.97):
    """Points over k = 1, 2, ...; the log fit goes through the first and the fifth."""
    a = (values[min(4, len(values) - 1)] - values[0]) / math.log(min(5, len(values)))
    fits = [
        {"curve": "log", "a": a, "b": values[0], "r2": log_r2, "aicc": -20.0, "best_in": 0.97,
         "r2_interval": ends(log_r2, 0.02)},
        {"curve": "linear", "a": a / 2, "b": values[0], "r2": 0.8, "aicc": None, "best_in": 0.03,
         "r2_interval": {"low": None, "high": None}},
    ]  # fmt: skip
    points = [{"k": k, "mean": v, **ends(v, width), "n": n} for k, v in enumerate(values, start=1)]
    return {"points": points, "fits": fits, "good_fit": log_r2 > 0.9, "verdict": verdict, "ratio": ratio}


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
    return {
        "documents": 24, "adherent_documents": 18, "effects": effects, "effects_of_adherent": effects,
        "violations": {key: violations[key] for key in ("points", "fits")},
        "words_kept": {"median": 90, "least": 40},
    }  # fmt: skip


def looks(names, most=10):
    """Attention over k: each head leaves the injected term for other query words."""
    found = []
    for head in names:
        for quantity, first, step in (
            ("inj -> inj", 0.6, -0.05),
            ("inj -> qterm-", 0.1, 0.04),
            ("cls -> inj", 0.2, 0.02),
        ):
            found += [
                {"head": head, "quantity": quantity, "from": "inj", "to": "inj", "k": k,
                 "mean": first + step * (k - 1), **ends(first + step * (k - 1), 0.02), "n": 24}
                for k in range(1, most + 1)
            ]  # fmt: skip
    return found


def flowing(layers=2):
    """The signal goes from the injected term to CLS, most of it in the last layer."""
    found = []
    for layer in range(layers):
        late = layer / layers
        stands = {"cls": 0.8 * late, "inj": 1 - 0.8 * late, "other": -0.1}
        for category, value in stands.items():
            lands = {"cls": 0.2 + 0.6 * late, "inj": 0.1, "other": 0.0}[category]
            found.append({
                "layer": layer, "category": category, "stands": {"share": value, **ends(value), "n": 12},
                "moves": {"share": 0.3, **ends(0.3), "n": 6}, "lands": {"share": lands, **ends(lands), "n": 12},
            })  # fmt: skip
    final = {"cls": 0.9, "inj": 0.1}
    return found + [
        {"layer": layers, "category": c, "stands": {"share": v, **ends(v), "n": 12}} for c, v in final.items()
    ]


def audited(name):
    shares = {"holds": 0.9, "neutral": 0.02, "violates": 0.08}
    why = [{"feature": "length", "violating": 80.0, "adhering": 40.0,
            "cliffs_delta": {"value": 0.6, "low": 0.2, "high": 0.8}}]  # fmt: skip
    outcomes = {outcome: {"value": share, **ends(share)} for outcome, share in shares.items()}
    summary = {"ranker": "r", "axiom": name, "n": 50, "queries": 12, **outcomes,
               "mean": {"value": 0.5, **ends(0.5)}, "why": why}  # fmt: skip
    return {"axioms": [summary]}


def alike(r=0.9):
    return {"pairs": 12, "gap": {"mean": 1.5}, "adherent": 10, "leading": ["1.0"],
            "map": {"sites": 6, "pearson": r, "interval": ends(r), "spearman": r}}  # fmt: skip


def difference(name, value, p, layer=0, head=0, category=None):
    return {"site": name, "layer": layer, "head": head, "category": category, "one": value, "other": 0.0,
            "difference": value, **ends(value, 0.1), "n": 20, "queries": 10, "p_holm": p}  # fmt: skip


def small(**more):
    """A ranker of 2 layers x 3 heads; 0.1 and 1.0 carry an appended term, and turn round when it is prepended."""
    shares = {"0.1": 0.3, "1.0": 0.4}
    size = {"layers": 2, "a_layer": 3}
    leading = ["1.0", "0.1"]
    turned = {head: -share for head, share in shares.items()}
    told = {
        "ranker": "bi-tiny", "kind": "bi-encoder", "source": "folder", "layers": 2, "heads_a_layer": 3,
        "term": "effect", "sizes": {}, "documents": "all 130 documents", "queries": 10, "max_length": 128,
        "cut": 0.25, "reads": "[CLS]", "leading": leading, "tfc2_leading": ["1.0"],
        "sets": {
            **{name: one_set(shares, **size) for name in SETS},
            "prepend": one_set(turned, **size), "middle": one_set(shares, gap=0.1, sure=False, **size),
        },
        "against_append": {
            "null": against(shares, 0.1), "minimal context": against(shares, 0.7),
            "null, prepend": against(turned, 0.1), "minimal context, prepend": against(turned, 0.7),
        },
        "heads": heads(shares),
        "blocks": [
            site(f"L{layer}.{part}@{c}", 0.1 * i, layer=layer, category=c, p=0.01 if i == 1 else 0.9, n=12)
            for layer in range(2) for part in ("resid", "attn", "mlp") for i, c in enumerate(CATEGORIES)
        ],
        "by_category": [
            site(f"L1.H0.z@{c}", 0.35 if c == "inj" else 0.01, layer=1, head=0, category=c,
                 p=0.001 if c == "inj" else None)
            for c in ("cls", "inj", "other")
        ],
        "together": {
            "halves": [["1.0"], ["1.0", "0.1"]],
            "positive": {"share": 0.55, **ends(0.55), "n": 20,
                         "bands": {"1-10": {"share": 0.7, **ends(0.7), "n": 10},
                                   "91-100": {"share": 0.3, **ends(0.3), "n": 10}}},
            "all": None,
        },
        "append_less_prepend": [
            difference(s["site"], 2 * s["mean_effect"], s["p_holm"], s["layer"], s["head"]) for s in heads(shares)
        ],
        "append_less_prepend_by_category": [difference("L1.H0.z@qterm+", 0.5, 0.01, 1, 0, "qterm+")],
        "attention": [{"head": "1.0", "quantity": "inj -> qterm+", "k": None, "mean": 0.4, **ends(0.4), "n": 15}],
        "patterns": [
            {"head": "1.0", "from": "inj", "to": to, "mean": mean, **ends(mean), "n": 15}
            for to, mean in (("cls", 0.2), ("inj", 0.1), ("qterm+", 0.6))
        ],
        "example": {
            "head": "1.0", "query": "cat", "docid": "d1", "term": "cat",
            "tokens": [{"text": "[CLS]", "category": "cls"}, {"text": "$5", "category": "other"},
                       {"text": "cat", "category": "inj"}],
            "weights": [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]],
        },
        "estimators": [
            {"site": s["site"], "n": 20, "threshold": 0.1, **{
                name: {**estimate(s["share"]), "survives": s["p_holm"] < 0.05 and name[0] != "m", "n": 18}
                for name in ("ratio_of_sums", "thresholded_mean", "mean_of_ratios")}}
            for s in heads(shares)
        ],
        "tfc2": {"cumulative": counted(leading), "marginal": counted(leading, marginal=True),
                 "cumulative, 50 slots": counted(leading)},
        "attention_over_k": looks(leading),
        "flow": flowing(),
        "links": [{"layer": 0, "from": "inj", "to": "cls", "width": 0.3},
                  {"layer": 1, "from": "inj", "to": "cls", "width": 0.2}],
        "questions": {
            "violating_against_adhering": [
                {"site": s["site"], "n_violating": 4, "n_adhering": 16, "violating": estimate(-0.1),
                 "adhering": estimate(0.4), "difference": estimate(-0.5), "share_violating": estimate(0.2),
                 "share_adhering": estimate(s["share"]), "share_difference": estimate(0.2 - s["share"]),
                 "p_holm": s["p_holm"]}
                for s in heads(shares)
            ],
            "document_terms": alike(), "restored": alike(0.2),
            "fillers": {"mask": alike(0.8), "random": alike(0.7)},
            "audit": {"TFC1:append": audited("TFC1:append")},
        },
    }  # fmt: skip
    return {**told, **more}


def page(ranker, profile, *, significant=2, layers=2):
    """One ranker of the atlas."""
    return {
        "ranker": ranker, "layers": layers, "pairs": 20, "significant": significant,
        "carrying": [{"head": "1.0", "share": 0.4, **ends(0.4), "depth": 1.0, "p_holm": 0.001,
                      "beyond_null": True},
                     {"head": "0.2", "share": 0.01, **ends(0.01), "depth": 0.0, "p_holm": None,
                      "beyond_null": False}],
        "profile": [estimate(value, 0.1) for value in profile],
        "depth": estimate(0.7) if significant else {"value": None, "low": None, "high": None},
        "findings": [],
    }  # fmt: skip
