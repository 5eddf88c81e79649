"""`semantic_bm`: from a cross-encoder, its matching heads and a collection to the fitted model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whyrank.circuits.api import open_cross_encoder
from whyrank.circuits.head import Head, parse_heads
from whyrank.circuits.results import Circuit, parsed_roles, read_roles
from whyrank.circuits.semantic_bm.fit import Choices, fit
from whyrank.circuits.semantic_bm.idf_dimension import IdfDimension
from whyrank.circuits.semantic_bm.pool import GivenCollection, GivenRun, Pool, open_pool
from whyrank.circuits.semantic_bm.protocol import LEAST_SAMPLES
from whyrank.circuits.semantic_bm.results import SemanticBM
from whyrank.circuits.semantic_bm.samples import check_queries, read_samples
from whyrank.collections.idf import TokenIdf, token_idf
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, located
from whyrank.core.parameters import SHORTEST_TEXT, check_counts, check_seed
from whyrank.core.runs import Run
from whyrank.rankers.cross_encoder import CrossEncoder
from whyrank.rankers.ranker import Ranker


def semantic_bm(
    ranker: str | Ranker,
    collection: GivenCollection | Sequence[GivenCollection],
    *,
    circuit: Path | str | Circuit | None = None,
    heads: str | None = None,
    run: GivenRun | Sequence[GivenRun] | None = None,
    depth: int = 20,
    queries: int | None = None,
    sep: bool = False,
    min_samples: int = LEAST_SAMPLES,
    idf: str = "collection",
    max_length: int | None = None,
    seed: int = 0,
    device: str = "cpu",
    out: Path | str | None = None,
    caller: Caller = SILENT,
) -> SemanticBM:
    """A cross-encoder's score as a linear model of its matching heads and its IDF dimension.

    The heads are those of a `circuit` (a result of `circuit`, or its run folder), or `heads` (`0.8,1.7,L2.H1`).
    The pairs are the best `depth` documents of `run` (BM25's), of the first `queries` (all). Several collections
    (and as many runs, or none) are fitted together, and measured together and apart. `sep`: attention to
    the final [SEP] counts as matching. In the paper's protocol, query lengths have more than `min_samples`
    samples. `idf`: `collection`, `wordfreq` or a file: which way U0 points. With `out` the result is also written
    as a run folder, which `load("semantic-bm:RUN")` opens as a ranker; work that was killed goes on.
    """
    check_counts(1, depth=depth, queries=queries)
    check_counts(0, min_samples=min_samples)
    check_counts(SHORTEST_TEXT, max_length=max_length)
    check_seed(seed)
    if (circuit is None) == (heads is None):
        what = "no matching heads" if circuit is None else "matching heads given twice"
        raise UserError(what, todo="give either heads (0.8,1.7,...) or circuit (a run of whyrank circuit)")
    opened = open_cross_encoder(ranker, max_length, device, caller)
    chosen, taken = _heads(opened, circuit, heads)
    pool = open_pool(collection, run, depth, queries, caller)
    pairs = pool.pairs
    check_queries(opened, pairs)
    rarity = _idf(opened, idf, pool)
    u0 = IdfDimension.of(opened, rarity)
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()], "collections": pool.inputs(), "split": pool.split,
        "judgements": pool.judgements, "depth": depth, "queries": queries, "heads": list(map(str, chosen)),
        "taken": list(map(str, taken)), "sep": sep, "min_samples": min_samples, "seed": seed,
        "idf": hashlib.sha256(rarity.of("bm25").tobytes()).hexdigest(),
    }  # fmt: skip
    choices = Choices(
        tuple(chosen), tuple(taken), sep, min_samples, seed, pool.first_stage, depth,
        str(circuit) if isinstance(circuit, Path | str) else None,
    )  # fmt: skip
    with Run.open(out, SemanticBM.COMMAND, inputs, caller) as work:
        known = work.finished(SemanticBM)
        if known is not None:
            return known
        with work.progress(f"reading {pool.first_stage}", len(pairs)) as advance:
            samples = read_samples(opened, pairs, work.work("shards"), advance)
        work.say(f"fitting {len(chosen)} heads, and their rivals, to {len(samples)} scores")
        result = fit(opened, pool, samples, u0, choices)
        work.save(result, samples=len(samples), queries=result.queries, cut=samples.cut)
        return result


def _idf(ranker: CrossEncoder, idf: str, pool: Pool) -> TokenIdf:
    """Counted in the documents of all collections together, by `wordfreq`, or read from a file."""
    if idf == "collection" and pool.is_several:
        return TokenIdf.counted(ranker.pieces.tokenizer, pool.texts(), pool.name)
    return token_idf(ranker.pieces.tokenizer, idf, pool.parts[0].collection)


def _heads(
    ranker: CrossEncoder, circuit: Path | str | Circuit | None, heads: str | None
) -> tuple[list[Head], list[Head]]:
    """The matching heads, and all heads of the circuit, which the random ones are drawn outside of."""
    if circuit is None:
        chosen = parse_heads(heads or "", ranker.encoder)
        if not chosen:
            raise UserError("heads names no head", todo="write 0.8,1.7,...")
        return chosen, chosen
    folder = None if isinstance(circuit, Circuit) else Path(circuit)
    roles = parsed_roles(circuit.roles) if isinstance(circuit, Circuit) else read_roles(Path(circuit))
    taken = sorted({head for some in roles.values() for head in some})
    with located(folder / Circuit.FILE if folder else Circuit.FILE):
        for head in taken:
            head.site().check(ranker.encoder.layers, ranker.encoder.heads)
    if not roles.get("matching"):
        raise UserError("this circuit has no matching head", where=folder, todo="name some heads: 0.8,1.7,...")
    return sorted(roles["matching"]), taken
