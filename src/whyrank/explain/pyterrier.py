"""PyTerrier: a ranker as a transformer of a pipeline, an explanation as a column.

    pipeline = first_stage >> whyrank.transformer("ce-minilm-l12") % 3 >> whyrank.explainer("ce-minilm-l12")

PyTerrier is imported when one is made. Neither needs Java.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of
from whyrank.core.errors import UserError
from whyrank.explain.scored import BUDGET
from whyrank.rankers.opening import Given, rankers_of

if TYPE_CHECKING:
    from types import ModuleType

    from whyrank.explain.transformers import Explainer, RankerTransformer
    from whyrank.rankers.ranker import Ranker


def transformer(
    ranker: Given, *, collection: str | Collection | None = None, device: str = "cpu"
) -> RankerTransformer:
    """A `pt.Transformer` that scores and ranks frames with qid, query, docno, text. BM25 needs the `collection`
    that its statistics are of."""
    module = _transformers()
    made: RankerTransformer = module.RankerTransformer(_opened(ranker, collection, device))
    return made


def explainer(
    ranker: Given,
    *,
    column: str = "explanation",
    show: str = "words",
    remove: str = "replace",
    budget: int = BUDGET,
    collection: str | Collection | None = None,
    device: str = "cpu",
) -> Explainer:
    """A `pt.Transformer` that adds why each row's document scores as it does; up to `budget` texts are scored for
    each row, so cut the ranking first: `... % 3 >> whyrank.explainer(ranker)`.

    `show`: `words` (a few sentences), `json` (what explanation.json holds), or `object` (the `Explanation`).
    `remove` as in `explain`.
    """
    module = _transformers()
    opened = _opened(ranker, collection, device)
    made: Explainer = module.Explainer(opened, column=column, show=show, remove=remove, budget=budget)
    return made


def _opened(ranker: Given, collection: str | Collection | None, device: str) -> Ranker:
    opened = None if collection is None else collection_of(collection)
    return rankers_of(ranker, opened, device=device)[0]


def _transformers() -> ModuleType:
    try:
        return import_module("whyrank.explain.transformers")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pyterrier":
            raise
        raise UserError("PyTerrier is not installed here", todo="pip install 'whyrank[pyterrier]'") from error
