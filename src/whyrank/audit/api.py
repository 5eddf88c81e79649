"""`audit`: does a ranker behave? From names to the result."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Unpack

from whyrank.audit.results import Audit
from whyrank.audit.scoring import audit_pairs
from whyrank.axioms.api import PairArguments, PairSettings, axioms_of, make_pairs
from whyrank.axioms.axiom import Axiom
from whyrank.axioms.pair import MinimalPair, read_pairs
from whyrank.axioms.pool import Pool
from whyrank.axioms.results import MinimalPairs
from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of
from whyrank.core.caller import SILENT, Caller
from whyrank.core.parameters import at_least
from whyrank.core.runs import Run
from whyrank.rankers.opening import rankers_of
from whyrank.rankers.ranker import Ranker
from whyrank.text.markup import markup_note


def audit(
    ranker: str | Ranker | Sequence[str | Ranker],
    collection: str | Collection,
    axiom: str | Axiom | Sequence[str | Axiom] = "all",
    *,
    pairs: Path | str | Sequence[MinimalPair] | None = None,
    delta: float | None = None,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
    **options: Unpack[PairArguments],
) -> Audit:
    """Whether rankers do what IR axioms say, on minimal pairs made from a collection, or on `pairs` of your own.

    Differences up to `delta` are neutral. `options` choose the pairs: see `PairArguments`. With `out` the result
    is also written as a run folder, and work that was killed goes on.
    """
    at_least("delta", delta, 0)
    chosen, settings = axioms_of(axiom), PairSettings.of(options)
    own = _given_pairs(pairs)
    if own is not None and axiom != "all":
        caller.say("axiom is for pairs made here; the given pairs are audited as they are")
    opened = collection_of(collection, caller)
    rankers = rankers_of(ranker, opened, caller, device)
    inputs = _inputs(rankers, opened, chosen, settings, own) | {"delta": delta}
    with Run.open(out, Audit.COMMAND, inputs, caller) as run:
        return run.finished(Audit) or _audited(run, rankers, opened, chosen, settings, own, delta)


def _audited(
    run: Run,
    rankers: list[Ranker],
    collection: Collection,
    axioms: list[Axiom],
    settings: PairSettings,
    own: list[MinimalPair] | None,
    delta: float | None,
) -> Audit:
    """Makes the pairs, scores them, writes the run folder."""
    pool = Pool(collection, settings.options.run, settings.choices.depth)
    dropped: dict[str, dict[str, int]] = {}
    if own is None:
        made = _made(run, rankers, collection, axioms, settings, pool)
        own, dropped = list(made.pairs), made.dropped
    with run.caller.progress("scoring", 2 * len(own) * len(rankers), "inputs") as advance:
        result = audit_pairs(
            rankers, own, idf=pool.idf, delta=delta, seed=settings.choices.seed, dropped=dropped,
            shards=run.work("shards"), progress=advance,
        )  # fmt: skip
    run.save(
        result,
        pairs=len(own),
        inputs_scored={one.name: one.inputs for one in result.rankers},
        texts={one.name: asdict(one.texts) for one in result.rankers},
    )
    return result


def _made(
    run: Run,
    rankers: list[Ranker],
    collection: Collection,
    axioms: list[Axiom],
    settings: PairSettings,
    pool: Pool,
) -> MinimalPairs:
    """Pairs of the collection; HTML in its documents is said."""
    if note := markup_note(pool.texts.values()):
        run.say(note)
    with run.caller.progress("making pairs", settings.choices.documents * len(axioms), "documents") as advance:
        return make_pairs(
            axioms, collection, rankers, settings.choices, settings.options, pool=pool, progress=advance
        )


def _given_pairs(pairs: Path | str | Sequence[MinimalPair] | None) -> list[MinimalPair] | None:
    if pairs is None:
        return None
    return read_pairs(Path(pairs)) if isinstance(pairs, Path | str) else list(pairs)


def _inputs(
    rankers: Sequence[Ranker],
    collection: Collection,
    axioms: Sequence[Axiom],
    settings: PairSettings,
    own: Sequence[MinimalPair] | None,
) -> dict[str, Any]:
    """Everything that the result depends on."""
    lines = None if own is None else "\n".join(pair.to_json() for pair in own)
    return {
        "rankers": [[one.name, one.fingerprint()] for one in rankers],
        "collection": collection.fingerprint(),
        "split": collection.split,
        "pairs": None if lines is None else hashlib.sha256(lines.encode()).hexdigest(),
        "axioms": [] if own is not None else [str(axiom) for axiom in axioms],
        **settings.inputs(),
    }
