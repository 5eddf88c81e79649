"""The transformers that `pyterrier.py` makes: subclasses of PyTerrier's own, so that `>>`, `%`, `+` compose them.

Columns that they do not know stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import pyterrier as pt

from whyrank.collections.hits import Fields, Hit, Hits
from whyrank.core.errors import UserError, nearest
from whyrank.explain.api import explain
from whyrank.explain.explanation import Explanation
from whyrank.explain.removal import removal
from whyrank.explain.scored import ScoredTexts
from whyrank.rankers.ranker import Ranker

if TYPE_CHECKING:
    import pandas as pd

#: The columns that are read.
COLUMNS = ["qid", "query", "docno", "text"]
#: How a cell holds an explanation.
SHOWN: dict[str, Callable[[Explanation], object]] = {
    "words": lambda found: found.in_words(),
    "json": lambda found: json.dumps(found.to_json(), ensure_ascii=False),
    "object": lambda found: found,
}


class RankerTransformer(pt.Transformer):
    """Scores each row and ranks the rows of each query, rank 0 first; sorted by query and rank."""

    #: What PyTerrier's inspection of a pipeline asks for.
    transform_inputs: ClassVar[list[list[str]]] = [COLUMNS]

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        check_frame(inp)
        return self.ranker.transform(inp)

    def __repr__(self) -> str:
        return f"whyrank.transformer({self.ranker.name!r})"


class Explainer(pt.Transformer):
    """Adds a column: why each row's document scores as it does. Rows keep their order, scores and ranks."""

    transform_inputs: ClassVar[list[list[str]]] = [COLUMNS]

    def __init__(self, ranker: Ranker, column: str, show: str, remove: str, budget: int) -> None:
        if show not in SHOWN:
            raise UserError(f"unknown way '{show}' to show an explanation", todo=nearest(show, SHOWN))
        if column in COLUMNS:
            raise UserError(f"an explanation cannot stand in the column '{column}'", todo="give another name")
        removal(remove, ranker, ".", ".")  # refuses an unknown way before the pipeline runs
        ScoredTexts(ranker, budget)
        self.ranker, self.column, self.show, self.remove, self.budget = ranker, column, show, remove, budget

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        check_frame(inp)
        rows = zip(inp["query"], inp["docno"], inp["text"], strict=True)
        cells = [SHOWN[self.show](self.explanation(*row)) for row in rows]
        return inp.assign(**{self.column: pd.Series(cells, index=inp.index, dtype=object)})

    def explanation(self, query: str, docno: object, text: str) -> Explanation:
        """The explanation of one row, in which the document has its docno as its name."""
        hits = Hits(None, (Hit(str(docno), text),), Fields())
        return explain(self.ranker, query, str(docno), hits=hits, remove=self.remove, budget=self.budget)

    def __repr__(self) -> str:
        return f"whyrank.explainer({self.ranker.name!r})"


def check_frame(frame: pd.DataFrame) -> None:
    """Raises where a column is missing, or a query or document has no text, naming the first."""
    missing = [name for name in COLUMNS if name not in frame.columns]
    if missing:
        todo = "put pt.text.get_text(...) before it" if missing == ["text"] else f"give {', '.join(COLUMNS)}"
        raise UserError(f"the data frame lacks {', '.join(missing)}", todo=todo)
    for qid, query, docno, text in frame[COLUMNS].itertuples(index=False):
        for what, value in ((f"query {qid}", query), (f"document {docno} of query {qid}", text)):
            if not isinstance(value, str) or not value.strip():
                raise UserError(f"{what} has no text", todo="drop the row, or give its text")
