"""What heads look at around the injected term: mean attention between categories of tokens, on the perturbed run.

    inj -> qterm+     the injected term reads its occurrences in the text
    qterm+ -> inj     these read it
    inj -> qterm-     it reads other query words; cls -> qterm- CLS does
    inj -> sep, other -> sep    what is parked on the separator

A quantity is, for each pair, the attention that a token of the first category pays to all tokens of the second,
averaged over the tokens of the first; a pair that lacks either has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair
from whyrank.core.progress import Progress
from whyrank.encoders.site import Site, short_name
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions.prepared import PreparedPair
from whyrank.interventions.recording import Recording
from whyrank.papers.term_frequency.parts import Attention, AttentionExample, Token
from whyrank.rankers.neural import NeuralRanker, no_gradients
from whyrank.text.categories import CATEGORIES

if TYPE_CHECKING:
    from torch import Tensor

QUANTITIES = (
    ("inj", "qterm+"), ("qterm+", "inj"), ("inj", "inj"), ("inj", "qterm-"), ("qterm-", "inj"), ("inj", "sep"),
    ("other", "sep"), ("cls", "inj"), ("cls", "qterm-"), ("query", "inj"),
)  # fmt: skip
#: From each category of tokens to each.
PATTERN: tuple[tuple[str, str], ...] = tuple(product(CATEGORIES, CATEGORIES))
#: Tokens of the example that are shown.
SHOWN = 40


def attention_quantities(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair],
    heads: Sequence[str],
    progress: Progress | None = None,
    quantities: Sequence[tuple[str, str]] = QUANTITIES,
) -> tuple[Attention, ...]:
    """The mean over pairs of each head, quantity and k (None where pairs have none)."""
    sites = [Site.parse(head) for head in heads]
    found: dict[tuple[str, tuple[str, str], int | None], list[tuple[str, float]]] = {}
    for pair in pairs:
        for key, value in _of_pair(ranker, pair, sites, quantities).items():
            found.setdefault((*key, pair.k), []).append((pair.qid or pair.id, value))
        if progress:
            progress(1)
    return tuple(
        Attention(head, *quantity, k, Estimate.mean([value for _, value in some], [query for query, _ in some]))
        for (head, quantity, k), some in found.items()
    )


def example_pattern(ranker: NeuralRanker, pair: MinimalPair, head: str) -> AttentionExample:
    """The attention of a head on one pair's perturbed side: the first tokens and those around the injected term,
    as many as can be shown."""
    site, prepared = Site.parse(head), PreparedPair.of(ranker, pair)
    assert site.layer is not None and site.head is not None
    with no_gradients():
        inputs = prepared.inputs.only(1)
        pattern = Recording.of(ranker.encoder, inputs).pattern(site.layer)[site.head]
    places = _shown(prepared.names)
    token = ranker.pieces.tokenizer.id_to_token
    return AttentionExample(
        head, pair.query, pair.docid, pair.term,
        tuple(Token(str(token(int(inputs.ids[0, i]))), prepared.names[i]) for i in places),
        tuple(tuple(round(float(pattern[i, j]), 5) for j in places) for i in places),
    )  # fmt: skip


def _shown(names: Sequence[str]) -> list[int]:
    """CLS, the injected term, its duplicates, and then the tokens nearest to the injected ones."""
    injected = [i for i, name in enumerate(names) if name == "inj"] or [0]
    first = [i for i, name in enumerate(names) if name in ("cls", "inj", "qterm+", "sep")][: SHOWN // 2]
    near = sorted(range(len(names)), key=lambda i: (min(abs(i - j) for j in injected), i))
    return sorted(list(dict.fromkeys([*first, *near]))[:SHOWN])


def _of_pair(
    ranker: NeuralRanker, pair: MinimalPair, sites: Sequence[Site], quantities: Sequence[tuple[str, str]]
) -> dict[tuple[str, tuple[str, str]], float]:
    prepared = PreparedPair.of(ranker, pair)
    categories = prepared.categories
    found = {}
    with no_gradients():
        run = Recording.of(ranker.encoder, prepared.inputs.only(1))
        for site in sites:
            assert site.layer is not None and site.head is not None
            pattern = run.pattern(site.layer)[site.head]
            for first, second in quantities:
                if first in categories and second in categories:
                    value = _between(pattern, categories[first], categories[second])
                    found[short_name(str(site)), (first, second)] = value
    return found


def _between(pattern: Tensor, rows: Tensor, columns: Tensor) -> float:
    return float(pattern[rows][:, columns].sum(-1).mean())
