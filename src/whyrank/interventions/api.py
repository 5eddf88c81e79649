"""`patch`: why this score? From names to effects."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from whyrank.axioms.pair import MinimalPair
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import SHORTEST_TEXT, at_least, check_counts
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.engines.engine import open_engine
from whyrank.interventions.aligned import AlignedPairs, aligned_pairs
from whyrank.interventions.analysis import Analysis
from whyrank.interventions.metric import Metric
from whyrank.interventions.options import PatchArguments, PatchOptions
from whyrank.interventions.patching import Patching
from whyrank.interventions.results import Effects
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

Pairs = Sequence[MinimalPair] | AlignedPairs | Path | str


def patch(
    ranker: Ranker | str,
    pairs: Pairs,
    *,
    keep: str = "all",
    min_gap: float | None = None,
    compare: Effects | Path | str | None = None,
    first: int | None = None,
    max_length: int | None = None,
    skip: bool = False,
    pad: bool = False,
    hide_insignificant: bool = False,
    metric: Metric | None = None,
    engine: str = "local",
    workers: int | None = None,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
    **options: Unpack[PatchArguments],
) -> Effects:
    """What sites of a ranker do to its score on minimal pairs.

        effects = whyrank.patch("ce-minilm-l12", "tfc1.jsonl", method="path", sites="heads", to="logits")
        effects.sites[0].share                     # an Estimate; effects.to_pandas() has one row per pair and site

    `options` say what is patched: see `PatchArguments`. Texts are scored as they are given; a pair whose sides
    differ in token length is refused, padded with fillers (`pad`), or dropped and counted (`skip`). `first`: use
    only that many pairs; `max_length`: read at most that many tokens. `keep`: summarise `all` pairs, or those that
    are `adherent` (perturbed > baseline); `min_gap`: the least |gap| of a ratio of its own; `compare`: correlate
    this map with that of another run; `metric`: analyse it in place of the score (see `interventions/metric.py`).
    With `out` the result is also written as a run folder, and work that was killed goes on.
    """
    check_counts(1, first=first)
    check_counts(SHORTEST_TEXT, max_length=max_length)
    at_least("min_gap", min_gap, 0)
    asked = PatchOptions.of(options)
    analysis = Analysis.of(asked, keep, min_gap, hide_insignificant, metric, compare)
    _check_file(pairs)
    opened = neural_ranker(ranker, max_length, device)
    caller.say(f"{opened.name}: {opened.source}; {opened.encoder}")
    opened.check_side(asked.side)
    asked.plan(opened.encoder, asked.intervention([]))
    aligned = _aligned(opened, pairs, asked.side, first=first, skip=skip, pad=pad)
    for sentence in aligned.counts().sentences(opened.name):
        caller.say(f"{sentence}; both texts and their scores are in pairs.parquet")
    patching = Patching(opened, aligned.scored, asked, _reference(opened, asked, skip=skip, pad=pad))
    inputs = _inputs(patching, aligned) | analysis.inputs(aligned.scored)
    with Run.open(out, Effects.COMMAND, inputs, caller) as run:
        found = run.finished(Effects)
        if found is not None:
            return found
        with open_engine(engine, workers) as place:
            here = replace(patching, shards=run.work("shards"), engine=place, progress=run.progress)
            found = analysis.effects(here, aligned)
        run.save(found, pairs=found.pairs, rows=len(found), texts=plain(found.changed_texts))
        return found


def _check_file(pairs: Pairs) -> None:
    """Raises where there is no pairs file, before anything is loaded."""
    if isinstance(pairs, Path | str) and not Path(pairs).is_file():
        raise UserError("no such file", where=pairs, todo="make one: whyrank pairs --axiom TFC1 ...")


def _aligned(ranker: NeuralRanker, pairs: Pairs, side: str, **how: Any) -> AlignedPairs:
    if isinstance(pairs, AlignedPairs):
        return pairs
    return aligned_pairs(ranker, pairs, side, **how)


def _reference(ranker: NeuralRanker, options: PatchOptions, *, skip: bool, pad: bool) -> list[MinimalPair]:
    """The pairs that an ablation draws on, where they are not the pairs themselves."""
    if options.reference is None:
        return []
    return aligned_pairs(ranker, options.reference, options.side, skip=skip, pad=pad).scored


def _inputs(patching: Patching, aligned: AlignedPairs) -> dict[str, Any]:
    """What the rows depend on."""
    ranker = patching.ranker
    return {
        "ranker": [ranker.name, ranker.fingerprint()],
        "pairs": _hash([one.given for one in aligned.pairs]),
        "scored": _hash(aligned.scored),
        "dropped": aligned.dropped,
        "reference": _hash(patching.reference) if patching.reference else None,
        "options": patching.options.inputs(),
    }


def _hash(pairs: Sequence[MinimalPair]) -> str:
    return hashlib.sha256("\n".join(pair.to_json() for pair in pairs).encode()).hexdigest()
