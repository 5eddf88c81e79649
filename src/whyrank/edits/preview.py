"""What an edit does, before anything is saved: the pieces it turns, who shares them, what moves, what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from whyrank.core.progress import OpenProgress
from whyrank.edits.cost import Cost
from whyrank.edits.dial import Dial
from whyrank.edits.holders import moves_of_edits
from whyrank.edits.rows import RowChange
from whyrank.edits.term_edit import Edits
from whyrank.edits.term_pieces import other_spellings, shared_pieces
from whyrank.edits.unedited import Unedited


def describe_edits(dial: Dial, edits: Edits, texts: Iterable[str]) -> dict[str, Any]:
    """The edits, what each does to U_0, and what it does besides: pieces that other words in `texts` share, and
    spellings of the term that are other tokens, which it leaves alone."""
    tokenizer = dial.ranker.pieces.tokenizer
    spellings = {term: other_spellings(tokenizer, term) for term in edits.terms}
    return {
        "edits": edits.to_json(),
        "turns": [turn.to_json() for turn in dial.turns(edits)],
        "shared": [one.to_json() for one in shared_pieces(tokenizer, edits.terms, texts)],
        "spellings": {term: others for term, others in spellings.items() if others},
    }


def preview(
    unedited: Unedited,
    change: RowChange,
    edits: Edits | None = None,
    *,
    seed: int = 0,
    shards: Path | None = None,
    step: OpenProgress | None = None,
) -> tuple[dict[str, Any], Cost]:
    """Whether the documents that hold the edited words moved as the `edits` mean, what else moves in the ranking,
    and what that costs, ready for JSON; and the two rankings."""
    scores, rescored = unedited.rescored(change, shards=shards, step=step)
    cost = Cost.of(unedited, scores)
    told = {
        "holders": [one.to_json() for one in moves_of_edits(unedited, scores, edits or Edits(), seed)],
        "pairs": len(unedited.pairs),
        "rescored": rescored,
        "seed": seed,
        "cost": cost.summary(seed),
        "changes": cost.changes(),
    }
    return told, cost
