"""What an explanation shows of the ranker's inside: matching heads, a fitted SemanticBM, heads behind a word."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whyrank.circuits import known
from whyrank.circuits.head import Head, parse_heads
from whyrank.circuits.semantic_bm.ranker import SemanticBMRanker
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.core.errors import UserError
from whyrank.explain.explained import Fitted
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Ranker


@dataclass(frozen=True)
class Inside:
    """The matching heads of a cross-encoder, a SemanticBM of it, and whether heads are looked for at all."""

    matching: tuple[Head, ...] = ()
    scoring: tuple[Head, ...] = ()
    fitted: Fitted | None = None
    heads: bool = False

    @classmethod
    def of(cls, ranker: Ranker, matching: str | None, semantic_bm: Path | str | None, heads: bool) -> Inside:
        """`matching` names heads; without it they are the fitted model's, else those that a paper names."""
        if heads and not isinstance(ranker, NeuralRanker):
            raise UserError(f"{ranker.name} has no heads", todo="drop heads, or give a neural ranker")
        if not isinstance(ranker, CrossEncoder):
            for name, given in (("matching", matching), ("semantic_bm", semantic_bm)):
                if given is not None:
                    raise UserError(f"{name} is for a cross-encoder; {ranker.name} is none", todo=f"drop {name}")
            return cls(heads=heads)
        fitted = None if semantic_bm is None else _fitted(ranker, semantic_bm)
        if matching is not None:
            found = tuple(parse_heads(matching, ranker.encoder))
        elif fitted is not None:
            found = fitted.model.model.heads
        else:
            found = _named(ranker, known.MATCHING)
        return cls(found, _named(ranker, known.SCORING), fitted, heads)

    def groups(self) -> dict[str, tuple[Head, ...]]:
        """The groups of heads that are patched at once."""
        named = {"matching heads": self.matching, "scoring heads": self.scoring}
        return {name: heads for name, heads in named.items() if heads}

    def inputs(self) -> Mapping[str, Any]:
        """What a result depends on."""
        fitted = None if self.fitted is None else self.fitted.model.fingerprint()
        return {"matching": list(map(str, self.matching)), "semantic_bm": fitted, "heads": self.heads}


def _named(ranker: CrossEncoder, heads: tuple[str, ...]) -> tuple[Head, ...]:
    """The heads that the paper names, in the model that it is about."""
    return tuple(map(Head.parse, heads)) if known.is_papers_model(ranker.name) else ()


def _fitted(ranker: CrossEncoder, folder: Path | str) -> Fitted:
    """The model of a run of `semantic_bm` over this very ranker."""
    path = str(folder).removeprefix("semantic-bm:")
    result, model = SemanticBM.read(path), load(f"semantic-bm:{path}")
    assert isinstance(model, SemanticBMRanker)
    if model.base.fingerprint() != ranker.fingerprint():
        raise UserError(
            f"fitted to {model.base.name}, and {ranker.name} is explained", where=path, todo="give its own"
        )
    return Fitted(model, result.default.models[0].pearson.value)
