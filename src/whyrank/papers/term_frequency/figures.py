"""The figures of a term-frequency study of one ranker."""

from __future__ import annotations

from typing import Any

from whyrank.pages.page import Figures
from whyrank.papers.term_frequency.attention_report import attention_figures, attention_over_k
from whyrank.papers.term_frequency.counting_report import counting_figures
from whyrank.papers.term_frequency.flow_report import flow_figures
from whyrank.papers.term_frequency.heads_report import block_figures, category_figures, head_figures


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
