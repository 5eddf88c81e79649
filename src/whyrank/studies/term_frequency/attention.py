"""What heads look at around the injected term: mean attention between categories of tokens, on the perturbed run.

    inj -> qterm+     the injected term reads its occurrences in the text
    qterm+ -> inj     these read it
    inj -> qterm-     it reads other query words
    inj -> sep, other -> sep    what is parked on the separator

A quantity is, for each pair, the attention that a token of the first category gives to all tokens of the second,
averaged over the tokens of the first; a pair that lacks either has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.encoders.site import Site
from whyrank.evaluation.bootstrap import clustered_intervals
from whyrank.interventions.prepared import PreparedPair
from whyrank.interventions.recording import Recording
from whyrank.interventions.statistics import finite
from whyrank.rankers.neural import NeuralRanker, no_gradients
from whyrank.rankers.ranker import Progress

if TYPE_CHECKING:
    from torch import Tensor

QUANTITIES = (
    ("inj", "qterm+"), ("qterm+", "inj"), ("inj", "qterm-"), ("inj", "sep"), ("other", "sep"), ("cls", "inj"),
)  # fmt: skip


def attention_quantities(
    ranker: NeuralRanker, pairs: Sequence[MinimalPair], heads: Sequence[str], progress: Progress | None = None
) -> list[dict[str, Any]]:
    """A row for each head, quantity and k (None where pairs have none): mean, interval over queries, n."""
    sites = [Site.parse(head) for head in heads]
    found: dict[tuple[str, str, int | None], list[tuple[str, float]]] = {}
    for pair in pairs:
        for key, value in _of_pair(ranker, pair, sites).items():
            found.setdefault((*key, pair.k), []).append((pair.qid or pair.id, value))
        if progress:
            progress(1)
    return [_row(*key, values) for key, values in found.items()]


def _of_pair(ranker: NeuralRanker, pair: MinimalPair, sites: Sequence[Site]) -> dict[tuple[str, str], float]:
    prepared = PreparedPair.of(ranker, pair)
    categories = prepared.categories
    found = {}
    with no_gradients():
        run = Recording.of(ranker.encoder, prepared.inputs.only(1))
        for site in sites:
            assert site.layer is not None and site.head is not None
            pattern = run.pattern(site.layer)[site.head]
            for first, second in QUANTITIES:
                if first in categories and second in categories:
                    value = _between(pattern, categories[first], categories[second])
                    found[f"{site.layer}.{site.head}", f"{first} -> {second}"] = value
    return found


def _between(pattern: Tensor, rows: Tensor, columns: Tensor) -> float:
    return float(pattern[rows][:, columns].sum(-1).mean())


def _row(head: str, quantity: str, k: int | None, values: list[tuple[str, float]]) -> dict[str, Any]:
    import numpy as np

    numbers = np.array([value for _, value in values])
    (interval,) = clustered_intervals(numbers[:, None], [query for query, _ in values])
    return {
        "head": head, "quantity": quantity, "k": k, "mean": float(numbers.mean()), "low": finite(interval.low),
        "high": finite(interval.high), "n": len(numbers),
    }  # fmt: skip
