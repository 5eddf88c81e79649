"""The figures of a term-frequency study of one ranker."""

from __future__ import annotations

from typing import Any

from whyrank.reports.html import Figures
from whyrank.reports.term_frequency_attention import attention_figures, attention_over_k
from whyrank.reports.term_frequency_counting import counting_figures
from whyrank.reports.term_frequency_flow import flow_figures
from whyrank.reports.term_frequency_heads import block_figures, category_figures, head_figures


def term_frequency_figures(told: dict[str, Any], *, hide: bool = False) -> Figures:
    """By name. `hide`: only what is significant after Holm's correction is coloured."""
    return {
        **head_figures(told, hide=hide),
        **block_figures(told, hide=hide),
        **category_figures(told, hide=hide),
        **attention_figures(told),
        **counting_figures(told),
        **attention_over_k(told),
        **flow_figures(told),
    }
