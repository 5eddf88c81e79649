"""The four ways to fine-tune: all parameters or the word embeddings only, from the checkpoint as it is or aligned.

Aligned means that the singular vector U_0 of the embedding matrix is first set to the collection's IDF (see
`edits.align`). The paper's names: A1 full, A2 aligned-full, B1 embeddings, B2 aligned-embeddings.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from whyrank.core.errors import UserError, nearest
from whyrank.rankers.cross_encoder import CrossEncoder


@dataclass(frozen=True)
class Condition:
    """What is learned, and from where it starts."""

    name: str
    aligned: bool
    embeddings_only: bool

    def __str__(self) -> str:
        return self.name

    def parameters(self, ranker: CrossEncoder) -> list[Tensor]:
        """What is learned: everything, or the matrix W_E alone (not positions, not token types)."""
        if self.embeddings_only:
            return [ranker.encoder.word_embeddings]
        return list(ranker.model.parameters())


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("full", aligned=False, embeddings_only=False),
        Condition("aligned-full", aligned=True, embeddings_only=False),
        Condition("embeddings", aligned=False, embeddings_only=True),
        Condition("aligned-embeddings", aligned=True, embeddings_only=True),
    )
}


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """`full,aligned-full` as conditions, each once."""
    names = dict.fromkeys(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in CONDITIONS]
    if unknown or not names:
        what = f"unknown condition '{unknown[0]}'" if unknown else "no condition"
        todo = nearest(unknown[0], CONDITIONS) if unknown else f"choose of {', '.join(CONDITIONS)}"
        raise UserError(what, where="--conditions", todo=todo)
    return tuple(CONDITIONS[name] for name in names)
