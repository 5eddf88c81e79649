"""Fig. 14: what a scoring head's CLS pays the edited word, over the scales of the edit."""

from __future__ import annotations

from collections.abc import Iterator

from whyrank.circuits import known
from whyrank.edits.experiment import TwoTokenExperiment
from whyrank.encoders.site import short_name
from whyrank.evaluation.estimate import Estimate
from whyrank.pages.findings import Finding

#: How the paper's curves for 10.1 go, up and down: with the dial.
SAID = {"up": ("rises (Fig. 14)", 1), "down": ("falls (Fig. 14)", -1)}


def attention_findings(found: TwoTokenExperiment) -> Iterator[Finding]:
    """One for each direction that has the attention at two scales or more."""
    edit = found.controls[0]
    for direction, (said, sign) in SAID.items():
        seen = [(one.scale, one.attention) for one in found.curve(edit, direction) if one.attention is not None]
        if found.head is None or len(seen) < 2:
            continue
        (least, first), (most, last) = min(seen, key=lambda one: one[0]), max(seen, key=lambda one: one[0])
        head = short_name(found.head)
        yield Finding.holds(
            f"attention of CLS to the edited word in {head} when IDF goes {direction}",
            said if head == short_name(known.SCORING[0]) else "–",
            f"{first.text()} at scale {least:g}, {last.text()} at {most:g}",
            f"{last.pairs} documents",
            _moves(first, last, sign),
        )


def _moves(first: Estimate, last: Estimate, sign: int) -> bool | None:
    """Whether the last is surely on this side of the first; None where their intervals overlap."""
    if first.low is None or first.high is None or last.low is None or last.high is None:
        return None
    if last.low > first.high:
        return sign > 0
    return sign < 0 if last.high < first.low else None
