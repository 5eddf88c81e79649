"""What heads look at, tested on all heads of a cross-encoder at once.

    scoring             attention of CLS to query token i                      against IDF(i)
    contextualization   mean attention of the other query tokens to token i    against IDF(i)
    matching            attention of query token i to document token j         against cosine(W_E[i], W_E[j])

Each has an r for each head: pooled over all readings, as in the paper, and within readings (both sides less their
mean in the reading), which lengths of queries and documents cannot make. Intervals redraw whole queries.

U_0 of a query token against its matching score, the attention it gives to the document summed over the matching
heads, says whether IDF and matching are separate signals: r near 0 if they are (.143 in the paper).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch.nn.functional import normalize

from whyrank.axioms.pair import MinimalPair
from whyrank.axioms.realise import realise
from whyrank.circuits.head import Head, all_heads
from whyrank.circuits.reading import Reading
from whyrank.circuits.results import TESTS, IdfStep
from whyrank.core.progress import OpenProgress, Progress, no_progress
from whyrank.evaluation.correlation import ClusteredMoments, Pearson
from whyrank.evaluation.estimate import Estimate
from whyrank.rankers.cross_encoder import CrossEncoder

if TYPE_CHECKING:
    import numpy as np

#: Steps of IDF in a curve.
STEPS = 8


class Text(NamedTuple):
    """One (query, document) to read; readings of one query are one cluster."""

    qid: str
    query: str
    text: str


@dataclass(eq=False)
class AttentionTests:
    """Sums over readings, for all heads; `add` one reading after the other, then ask."""

    ranker: CrossEncoder
    idf: np.ndarray
    pooled: dict[str, ClusteredMoments] = field(init=False)
    within: dict[str, ClusteredMoments] = field(init=False)
    #: For each reading of each query: how much of its attention CLS gives to the query's tokens, [heads].
    _mass: dict[str, list[np.ndarray]] = field(default_factory=dict)
    #: The same for each of the query's tokens that has an IDF: (query, IDF [m], attention [heads, m]).
    _reads: list[tuple[str, np.ndarray, np.ndarray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = self.ranker.encoder.layers * self.ranker.encoder.heads
        self.pooled = {name: ClusteredMoments(count) for name in TESTS}
        self.within = {name: ClusteredMoments(count) for name in TESTS}

    @classmethod
    def on(
        cls, ranker: CrossEncoder, texts: Sequence[Text], idf: np.ndarray, progress: Progress | None = None
    ) -> AttentionTests:
        """The tests on these texts; `idf` has a value for each token, NaN where it has none."""
        tests = cls(ranker, idf)
        for one in texts:
            tests.add(one.qid, Reading.of(ranker, one.query, one.text))
            if progress:
                progress(1)
        return tests

    def add(self, cluster: str, reading: Reading) -> None:
        import numpy as np

        rarity = self.idf[reading.query_ids]
        to_query = reading.block([0], reading.query)[:, :, 0]
        self._add("scoring", cluster, rarity, to_query.flatten(0, 1).numpy())
        self._mass.setdefault(cluster, []).append(to_query.sum(-1).flatten().numpy())
        known = np.isfinite(rarity)
        self._reads.append((cluster, rarity[known], to_query.flatten(0, 1).numpy()[:, known]))
        if len(reading.query) > 1:
            self._add("contextualization", cluster, rarity, _from_others(reading).flatten(0, 1).numpy())
        if reading.document:
            attention = reading.block(reading.query, reading.document)
            self._add("matching", cluster, self._cosines(reading), attention.flatten(2).flatten(0, 1).numpy())

    def _add(self, name: str, cluster: str, x: np.ndarray, y: np.ndarray) -> None:
        import numpy as np

        self.pooled[name].add(cluster, x, y)
        known = np.isfinite(x)
        if known.sum() > 1:
            x, y = x[known], y[:, known]
            self.within[name].add(cluster, x - x.mean(), y - y.mean(axis=1, keepdims=True))

    def _cosines(self, reading: Reading) -> np.ndarray:
        """cosine(W_E[q_i], W_E[d_j]), row by row."""
        with torch.no_grad():
            rows = self.ranker.encoder.word_embeddings
            q, d = (normalize(rows[ids], dim=-1) for ids in (reading.query_ids, reading.document_ids))
            return (q @ d.T).flatten().cpu().numpy()

    def heads(self) -> list[Head]:
        return all_heads(self.ranker.encoder)

    def query_mass(self) -> np.ndarray:
        """How much of its attention CLS gives to the query's tokens, [heads], mean over readings."""
        import numpy as np

        return np.mean([one for several in self._mass.values() for one in several], axis=0)

    def by_idf(self, head: Head, steps: int = STEPS) -> tuple[IdfStep, ...]:
        """What CLS reads of query tokens in a head, by steps of their IDF with as many tokens each; intervals over
        queries."""
        import numpy as np

        if not any(len(x) for _, x, _ in self._reads):
            return ()
        number = self.heads().index(head)
        rarity = np.concatenate([x for _, x, _ in self._reads])
        reads = np.concatenate([y[number] for _, _, y in self._reads])
        queries = [query for query, x, _ in self._reads for _ in x]
        order = np.array_split(np.argsort(rarity, kind="stable"), min(steps, len(rarity)))
        return tuple(
            IdfStep(float(rarity[some].mean()), Estimate.mean(reads[some], [queries[i] for i in some]))
            for some in order
            if len(some)
        )

    def correlations(self, seed: int = 0) -> dict[str, dict[str, list[Pearson]]]:
        """{'pooled' or 'within': {test: r of every head}}."""
        return {
            kind: {name: moments.correlations(seed=seed) for name, moments in tests.items()}
            for kind, tests in (("pooled", self.pooled), ("within", self.within))
        }


def _from_others(reading: Reading) -> torch.Tensor:
    """The mean attention that each query token gets from the other query tokens: [L, H, m]."""
    block = reading.block(reading.query, reading.query)
    own = torch.diagonal(block, dim1=-2, dim2=-1)
    return (block.sum(-2) - own) / (len(reading.query) - 1)


def idf_against_matching(
    ranker: CrossEncoder,
    heads: Sequence[Head],
    texts: Sequence[Text],
    u0: np.ndarray,
    progress: OpenProgress = no_progress,
) -> Estimate:
    """r over query tokens between U_0 and the summed matching score."""
    last = max(head.layer for head in heads) + 1
    places = [head.layer * ranker.encoder.heads + head.head for head in heads]
    moments = ClusteredMoments(1)
    with progress("U0 against matching", len(texts)) as advance:
        for one in texts:
            reading = Reading.of(ranker, one.query, one.text, last)
            scores = reading.matching().flatten(0, 1)[places].sum(0).numpy()
            moments.add(one.qid, u0[reading.query_ids], scores[None])
            advance(1)
    return Estimate.of(*moments.correlations()[0])


def texts_of(ranker: CrossEncoder, pairs: Iterable[MinimalPair]) -> list[Text]:
    """The perturbed sides of minimal pairs as the ranker reads them, cut but not at the change, each text once."""
    found = [Text(pair.qid or pair.id, *realise(pair, ranker).perturbed) for pair in pairs]
    return list(dict.fromkeys(found))
