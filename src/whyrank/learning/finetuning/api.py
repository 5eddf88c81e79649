"""`finetune`: can I train a better one from this one? From names to the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whyrank.circuits.reading import cross_encoder
from whyrank.collections.catalogue import open_collection
from whyrank.collections.collection import Collection
from whyrank.collections.opening import first_stage_of, say_notes
from whyrank.collections.records import Run as Ranking
from whyrank.collections.records import fingerprint_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.parameters import SHORTEST_TEXT, check_counts, check_seed
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.learning.checkpoints import work_folders
from whyrank.learning.contents import lines_hash
from whyrank.learning.finetuning.conditions import CONDITIONS, parse_conditions
from whyrank.learning.finetuning.jobs import CANDIDATES, FineTuneSettings
from whyrank.learning.finetuning.results import (
    FIRST_STAGE,
    MEASURES,
    SELECT,
    UNTRAINED,
    FineTuning,
    TunedModel,
    tables,
)
from whyrank.learning.finetuning.tuner import FineTuner
from whyrank.learning.judgements import Judged, JudgementsUsed, judged
from whyrank.learning.progress import training_bar
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

EVERY = ",".join(CONDITIONS)


def finetune(
    ranker: str | Ranker,
    collection: str | Collection,
    *,
    conditions: str = EVERY,
    seeds: int = 3,
    epochs: int = 10,
    rate: float = 2e-5,
    negatives: int = 3,
    negatives_from: str = CANDIDATES,
    positives: int | None = None,
    batch: int = 16,
    max_length: int = 256,
    positive: int = 1,
    patience: int | None = None,
    depth: int = 100,
    run: Ranking | Path | str | None = None,
    queries: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> FineTuning:
    """Fine-tunes a cross-encoder, all of it or its embeddings, aligned with the collection's IDF or not.

    `conditions` are some of full, aligned-full, embeddings and aligned-embeddings, with commas; `run` is a first
    stage other than BM25; see `FineTuneSettings` for the rest. With `out` the result is also written as a run
    folder, with all models, and work that was killed continues. The ranker itself is not changed.
    """
    check_counts(
        1, seeds=seeds, epochs=epochs, negatives=negatives, batch=batch, positive=positive, patience=patience,
        depth=depth, queries=queries, positives=positives,
    )  # fmt: skip
    check_counts(SHORTEST_TEXT, max_length=max_length)
    check_seed(seed)
    settings = FineTuneSettings(
        tuple(map(str, parse_conditions(conditions))), seeds, epochs, rate, negatives, batch, max_length, patience,
        positive, depth, queries, seed, positives, negatives_from,
    )  # fmt: skip
    opened = open_collection(collection) if isinstance(collection, str) else collection
    say_notes(opened, caller)
    known = judged(opened, most=queries)
    model = cross_encoder(ranker if isinstance(ranker, Ranker) else neural_ranker(ranker, max_length, device))
    caller.say(f"{model.name}: {model.source}; reads {model.max_length} tokens of a pair")
    first, origin = first_stage_of(known.collection, run, depth)
    inputs = _inputs(model, known, first, settings)
    with Run.open(out, FineTuning.COMMAND, inputs, caller) as place:
        finished = place.finished(FineTuning)
        if finished is not None:
            return finished
        name = collection if isinstance(collection, str) else collection.name
        with work_folders(place) as (folder, work):
            tuner = FineTuner.of(model, known, first, settings, folder, work)
            return _tuned(place, tuner, name, origin)


def _inputs(ranker: CrossEncoder, known: Judged, first: Ranking, settings: FineTuneSettings) -> dict[str, Any]:
    """Everything that the result depends on, by content."""
    return {
        "ranker": ranker.fingerprint(), "collection": known.collection.fingerprint(),
        "first_stage": fingerprint_of(first), "test_queries": known.test and lines_hash(known.test),
        "validation_queries": known.validation and lines_hash(known.validation), "settings": plain(settings),
    }  # fmt: skip


def _tuned(place: Run, tuner: FineTuner, collection: str, origin: str) -> FineTuning:
    """Trains what is not trained yet, and writes the results."""
    _say_plan(tuner, place.caller)
    place.begin()
    place.keep_work()
    result = tuning_result(tuner, place.caller, collection, origin, kept=place.path is not None)
    place.save(
        result, jobs=len(result.models), judgements=plain(result.judgements), pairs_per_epoch=result.pairs,
    )  # fmt: skip
    return result


def tuning_result(
    tuner: FineTuner, caller: Caller, collection: str, first_stage: str, kept: bool = True
) -> FineTuning:
    """Trains, and returns all that came of it."""
    settings, material = tuner.settings, tuner.material
    untrained, first = tuner.test.measured(tuner.ranker, MEASURES), tuner.test.first_stage(MEASURES)
    with training_bar(caller, tuner.steps, settings.epochs, SELECT) as on_progress:
        trained = tuner.run(on_progress)
    means, differences = tables(trained, untrained, first, settings.seed)
    return FineTuning(
        ranker=tuner.ranker.name,
        collection=collection,
        first_stage=first_stage,
        settings=settings,
        split=tuner.split,
        judgements=JudgementsUsed.of(tuner.judged, [tuner.split]),
        positives=tuner.pairs.positives,
        pairs=len(tuner.pairs),
        missing_documents=material.missing_documents,
        dropped_queries=material.dropped_queries,
        aligned_tokens=tuner.aligned.tokens if tuner.aligned else None,
        means=means,
        differences=differences,
        models=tuple(TunedModel.of(one, kept) for one in trained),
        baselines={UNTRAINED: untrained, FIRST_STAGE: first},
    )


def _say_plan(tuner: FineTuner, caller: Caller) -> None:
    for line in JudgementsUsed.of(tuner.judged, [tuner.split]).lines():
        caller.say(line)
    parts = ", ".join(f"{len(qids)} {part}" for part, qids in tuner.split)
    caller.say(f"queries: {parts}; {tuner.pairs.positives} positives, {len(tuner.pairs)} pairs per epoch")
    if tuner.material.missing_documents:
        caller.say(
            f"{tuner.material.missing_documents} relevant documents are not in the collection and cannot be "
            "learned from"
        )
