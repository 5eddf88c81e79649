"""Evaluation: measures of rankings, and whether two rankings differ by more than chance."""

from whyrank.evaluation.evaluate import evaluate
from whyrank.evaluation.measures import mean, parse_measures, per_query, unjudged
from whyrank.evaluation.results import Evaluation
from whyrank.evaluation.significance import holm, paired_t_test, randomisation_test

__all__ = [
    "Evaluation",
    "evaluate",
    "holm",
    "mean",
    "paired_t_test",
    "parse_measures",
    "per_query",
    "randomisation_test",
    "unjudged",
]
