"""The numbers of the papers, in one place: 'Reproducing and Extending Causal Insights Into Term Frequency
Computation in Neural Rankers' on TAS-B, its figures for single heads, and the published pairs for how often scores
rise."""

from __future__ import annotations

#: What TAS-B is called here and on the hub.
TAS_B = ("bi-tas-b", "sebastian-hofstaetter/distilbert-dot-tas_b-b256-msmarco")
NOTE = (
    "The paper's model is TAS-B, a DistilBERT of 6 x 12 heads, which is on the hub only; its heads' numbers mean "
    "nothing in another model, so they are shown without a verdict unless the ranker is TAS-B itself: "
    f"whyrank study term-frequency --ranker {TAS_B[1]}. The paper's shares are means of ratios, ours ratios of "
    "sums."
)
#: Shares of single heads, appended, ranks 1 to 10; and with occurrences replaced.
APPENDED = {"0.9": 0.45, "1.6": 0.82, "2.3": 0.96}
REPLACED = {"0.9": 0.81, "1.6": 0.80, "1.0": -1.61, "1.9": -1.35}
TOP, BOTTOM = "1-10", "91-100"
BY_BAND = f"up to {APPENDED['2.3']:.2f} in {TOP}, at most 0.10 in {BOTTOM}"
#: What the heads of APPENDED have together of the gap, at least.
HALF, TOGETHER = 0.5, "half of the gap or more"
#: Their effects when the term is prepended.
PREPENDED = "turn negative (-.12, -.38, -.32)"
#: Documents that hold the term, and where attention gathers the signal in [CLS].
HOLDING, GATHERED = "about 10%", "layers 4 and 5 of 6: the last third"
#: How often an appended term raises the score: over all ranks, and in the top ten.
RAISES, RAISES_TOP = 0.968, 0.805

#: Heads that count (TFC2).
COUNTING = ("1.0", "1.9", "1.6", "0.9")
#: The least R2 of its log fits, and the most that another occurrence adds, at `FAR` occurrences and beyond.
GOOD, LITTLE, FAR = 0.92, 0.005, 10
#: The share of pairs that do not rise at its last k.
MOST_VIOLATE, VIOLATE = 0.39, "8% to 39% as k grows"
#: It looks at attention beyond this k.
LATER = 5
