"""The pairs of a file, ready to be patched in one ranker; those that cannot be, refused by file and line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.axioms.pair import MinimalPair, line_of, read_pairs
from whyrank.axioms.scored_pair import ScoredPair, TextCounts, for_patching, for_scoring, inputs_of
from whyrank.core.errors import UserError
from whyrank.rankers.neural import NeuralRanker
from whyrank.text.alignment import CannotAlign, Misaligned, SidesDiffer

if TYPE_CHECKING:
    import pandas as pd

#: The columns of pairs.parquet: the texts that were scored, those given, and the scores of both.
COLUMNS = (
    "pair", "query", "baseline_text", "perturbed_text", "base", "perturbed", "padded", "cut",
    "given_baseline_text", "given_perturbed_text", "given_base", "given_perturbed",
)  # fmt: skip


MAKE_PAIRS = "make pairs for this ranker (whyrank pairs --ranker)"


@dataclass(frozen=True)
class AlignedPairs:
    """Pairs that one ranker can be patched on, with the texts that it scores, and why how many were dropped."""

    pairs: tuple[ScoredPair, ...]
    dropped: dict[str, int] = field(default_factory=dict)

    @property
    def scored(self) -> list[MinimalPair]:
        return [one.scored for one in self.pairs]

    def counts(self) -> TextCounts:
        return TextCounts.of(self.pairs)

    def together(self, others: AlignedPairs) -> AlignedPairs:
        """These and others."""
        dropped = Counter(self.dropped) + Counter(others.dropped)
        return AlignedPairs((*self.pairs, *others.pairs), dict(dropped))


def aligned_pairs(
    ranker: NeuralRanker,
    pairs: Sequence[MinimalPair] | Path | str,
    side: str = "document",
    *,
    first: int | None = None,
    skip: bool = False,
    pad: bool = False,
) -> AlignedPairs:
    """The pairs that can be patched in this ranker: as given, or padded with fillers (`pad`); others are refused,
    or dropped and counted (`skip`)."""
    path = Path(pairs) if isinstance(pairs, str | Path) else None
    some = read_pairs(pairs) if isinstance(pairs, str | Path) else list(pairs)
    kept, dropped = [], Counter[str]()
    for pair in some[:first]:
        try:
            kept.append(for_patching(pair, ranker, side, pad=pad))
        except CannotAlign as reason:
            if not skip:
                raise _refusal(pair, ranker, path, reason, pad) from reason
            dropped[str(reason)] += 1
    if not kept:
        reasons = ", ".join(f"{reason} ({count})" for reason, count in dropped.items())
        todo = MAKE_PAIRS + ("" if pad else ", or have fillers put in (pad)")
        raise UserError(
            f"no pair can be patched in {ranker.name}: {reasons or 'there is none'}", where=path, todo=todo
        )
    return AlignedPairs(tuple(kept), dict(dropped))


def fitting_pairs(ranker: NeuralRanker, pairs: Sequence[MinimalPair]) -> AlignedPairs:
    """Pairs that need not align, cut to what this ranker reads; those that do not fit are dropped and counted."""
    kept, dropped = [], Counter[str]()
    for pair in pairs:
        try:
            kept.append(for_scoring(pair, ranker))
        except CannotAlign as reason:
            dropped[str(reason)] += 1
    return AlignedPairs(tuple(kept), dict(dropped))


def _refusal(
    pair: MinimalPair, ranker: NeuralRanker, path: Path | None, reason: CannotAlign, pad: bool
) -> UserError:
    sizes = f" ({reason.baseline} and {reason.perturbed} tokens)" if isinstance(reason, SidesDiffer) else ""
    return UserError(
        f"pair {pair.id!r} cannot be patched in {ranker.name}: {reason}{sizes}",
        where=path and f"{path}:{line_of(path, pair.id)}",
        todo=_todo(isinstance(reason, Misaligned) and not pad and pair.fillable() is not pair),
    )


def _todo(can_be_padded: bool) -> str:
    if can_be_padded:
        return "write as many tokens on both sides, have fillers put in (pad), or drop such pairs (skip)"
    return f"{MAKE_PAIRS}, or drop such pairs (skip)"


def pair_table(
    ranker: NeuralRanker, aligned: AlignedPairs, side: str, scores: dict[str, tuple[float, float]] | None = None
) -> pd.DataFrame:
    """One row per pair: the texts that were scored and those given, with the scores of both; `scores` are those
    that are known of the texts scored. A text given that is too long is scored as `rank` does, cut at its end."""
    import pandas as pd

    known = scores or {}
    wanted = [inputs_of(one.scored, side) for one in aligned.pairs if one.scored.id not in known]
    wanted += [inputs_of(one.given, side) for one in aligned.pairs if one.changed]
    distinct = list(dict.fromkeys(one for both in wanted for one in both))
    found = dict(zip(distinct, ranker.score(distinct).tolist(), strict=True)) if distinct else {}
    rows = []
    for one in aligned.pairs:
        base = known.get(one.scored.id) or tuple(found[text] for text in inputs_of(one.scored, side))
        given = tuple(found[text] for text in inputs_of(one.given, side)) if one.changed else base
        rows.append(
            (
                one.given.id, one.given.query, one.scored.baseline, one.scored.perturbed, *base,
                one.padded, one.cut, one.given.baseline, one.given.perturbed, *given,
            )
        )  # fmt: skip
    return pd.DataFrame(rows, columns=list(COLUMNS))
