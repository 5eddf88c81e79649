"""Which heads stand out: significant after Holm's correction over all of them, the largest shares first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whyrank.evaluation.estimate import is_significant

#: Heads that are looked at one by one.
MOST = 6


def leading_heads(sites: Sequence[dict[str, Any]], most: int = MOST) -> list[str]:
    """Names of heads (`0.9`) of a summary's sites, at most so many; where none is significant, the three
    largest."""
    heads = [site for site in sites if site["head"] is not None and site["category"] is None]
    order = sorted(heads, key=lambda site: -abs(site["share"] or 0.0))
    sure = [site for site in order if is_significant(site["p_holm"])]
    return [f"{site['layer']}.{site['head']}" for site in (sure or order[:3])[:most]]
