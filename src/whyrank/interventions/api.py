"""`patch`: why this score? From names to effects."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from whyrank.axioms.pair import MinimalPair
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.results import content_hash, plain
from whyrank.core.runs import Run
from whyrank.engines.engine import open_engine
from whyrank.interventions.aligned import AlignedPairs, aligned_pairs, pair_table
from whyrank.interventions.metric import Metric, NamedMetric
from whyrank.interventions.options import PatchArguments, PatchOptions
from whyrank.interventions.patching import Patching
from whyrank.interventions.results import Effects
from whyrank.interventions.summary import check_keep, summarise
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.ranker import Ranker

Pairs = Sequence[MinimalPair] | AlignedPairs | Path | str


@dataclass(frozen=True)
class Analysis:
    """How rows become a summary: which pairs count, the least |gap| of a ratio of its own, another run to compare
    with (and its name), a metric, and whether maps hide what is not significant."""

    keep: str
    min_gap: float | None
    hide_insignificant: bool
    other: Effects | None
    other_name: str
    metric: NamedMetric | None

    def inputs(self, pairs: Sequence[MinimalPair]) -> dict[str, Any]:
        return {
            "keep": self.keep, "min_gap": self.min_gap, "hide_insignificant": self.hide_insignificant,
            "compare": content_hash(self.other) if self.other else None,
            "metric": self.metric.fingerprint(pairs) if self.metric else None,
        }  # fmt: skip


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
    differ in token length is refused, padded with fillers (`pad`), or dropped and counted (`skip`). `first` takes
    only so many pairs; `max_length` reads at most so many tokens. `keep`: summarise `all` pairs, or those that are
    `adherent` (perturbed > baseline); `min_gap`: the least |gap| of a ratio of its own; `compare`: correlate this
    map with that of another run. `metric` is analysed in place of the score (see `interventions.metric`). With
    `out` the result is also written as a run folder, and work that was killed goes on.
    """
    asked = PatchOptions(**options)
    check_keep(keep)
    named = None if metric is None else NamedMetric.of(metric, asked)
    other = compare if isinstance(compare, Effects) or compare is None else Effects.read(compare)
    analysis = Analysis(keep, min_gap, hide_insignificant, other, _name_of(compare), named)
    opened = neural(ranker, max_length, device)
    caller.say(f"{opened.name}: {opened.source}; {opened.encoder}")
    opened.check_side(asked.side)
    asked.plan(opened.encoder, asked.intervention([]))
    aligned = _aligned(opened, pairs, asked.side, first=first, skip=skip, pad=pad)
    for sentence in aligned.counts().sentences(opened.name):
        caller.say(f"{sentence}; both texts and their scores are in pairs.parquet")
    reference = _reference(opened, asked, skip, pad)
    inputs = _inputs(opened, aligned, reference, asked) | {"skip": skip, "pad": pad}
    with ExitStack() as stack:
        run = stack.enter_context(Run.open(out, "patch", inputs | analysis.inputs(aligned.scored), caller))
        found = run.finished(Effects)
        if found is not None:
            return found
        where = stack.enter_context(open_engine(engine, workers))
        patching = Patching(opened, aligned.scored, asked, reference, run.work("shards"), where, run.progress)
        result = _effects(patching, aligned, analysis)
        run.save(result, pairs=result.pairs, rows=len(result), texts=plain(result.changed_texts))
        return result


def _inputs(
    ranker: NeuralRanker, aligned: AlignedPairs, reference: Sequence[MinimalPair], options: PatchOptions
) -> dict[str, Any]:
    """What the rows depend on."""
    return {
        "ranker": [ranker.name, ranker.fingerprint()],
        "pairs": _hash([one.given for one in aligned.pairs]),
        "dropped": aligned.dropped,
        "reference": _hash(reference) if reference else None,
        "options": options.inputs(),
    }


def _effects(patching: Patching, aligned: AlignedPairs, analysis: Analysis) -> Effects:
    """Patches, and summarises the rows."""
    options, ranker = patching.options, patching.ranker
    table, family = patching.rows()
    pair_frame = pair_table(ranker, aligned, options.side, table.scores_of_pairs())
    if analysis.metric:
        table = analysis.metric.of_table(table, patching.pairs)
    summary = summarise(
        table.frame, by=options.by, keep=analysis.keep, min_gap=analysis.min_gap, family=family, seed=options.seed
    )
    found = Effects(
        **vars(summary),
        ranker=ranker.name,
        source=str(ranker.source),
        side=options.side,
        ablate=options.kind,
        freeze_mlp=options.freeze_mlp,
        steps=options.steps,
        metric=analysis.metric.name if analysis.metric else None,
        texts=aligned.counts(),
        dropped=aligned.dropped,
        hide_insignificant=analysis.hide_insignificant,
        frame=table.frame,
        pair_frame=pair_frame,
    )
    if analysis.other is None:
        return found
    compared = found.compared_with(analysis.other, run=analysis.other_name, seed=options.seed)
    if not compared.points:
        where = analysis.other_name
        raise UserError("the two runs have no site in common", where=where, todo="compare runs of the same sites")
    return replace(found, compared=compared)


def neural(ranker: Ranker | str, max_length: int | None = None, device: str = "cpu") -> NeuralRanker:
    """The ranker, opened, reading at most so many tokens; BM25 has nothing inside."""
    if ranker == "bm25":
        raise UserError("bm25 cannot be opened", todo="choose a neural ranker, such as ce-minilm-l12")
    if max_length is not None and not isinstance(ranker, str):
        raise UserError("max_length is for a ranker given by name", todo="load it with this max_length")
    settings: dict[str, Any] = {} if max_length is None else {"max_length": max_length}
    loaded = load(ranker, device=device, **settings) if isinstance(ranker, str) else ranker
    if not isinstance(loaded, NeuralRanker):
        raise UserError(f"{loaded.name} cannot be opened", todo="choose a neural ranker, such as ce-minilm-l12")
    return loaded


def _aligned(ranker: NeuralRanker, pairs: Pairs, side: str, **how: Any) -> AlignedPairs:
    if isinstance(pairs, AlignedPairs):
        return pairs
    if isinstance(pairs, Path | str) and not Path(pairs).is_file():
        raise UserError("no such file", where=pairs, todo="make one: whyrank pairs --axiom TFC1 ...")
    return aligned_pairs(ranker, pairs, side, **how)


def _reference(ranker: NeuralRanker, options: PatchOptions, skip: bool, pad: bool) -> list[MinimalPair]:
    """The pairs that an ablation draws on, where they are not the pairs themselves."""
    if options.reference is None:
        return []
    return aligned_pairs(ranker, options.reference, options.side, skip=skip, pad=pad).scored


def _hash(pairs: Sequence[MinimalPair]) -> str:
    return hashlib.sha256("\n".join(pair.to_json() for pair in pairs).encode()).hexdigest()


def _name_of(run: Effects | Path | str | None) -> str:
    return f"the run of {run.ranker}" if isinstance(run, Effects) else str(run)
