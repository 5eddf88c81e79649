"""The verbs that change a ranker, or say how: `idf`, `edit`, `two_tokens`, `suppress`, `align`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from whyrank.collections.collection import Collection
from whyrank.collections.idf import FORMULAS, token_idf
from whyrank.collections.opening import collection_of
from whyrank.collections.records import Run as Ranking
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import at_least, check_counts, check_seed
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.edits.align import alignment, alignment_fit
from whyrank.edits.block_list import BlockList, entries_of
from whyrank.edits.controls import DRAWN
from whyrank.edits.dialed import (
    Dialed,
    FirstStage,
    RankingChoice,
    check_call,
    idf_fingerprint,
    saved,
    scales_of,
)
from whyrank.edits.edit import RULES, Edit, Scales, known_rule, plain_numbers
from whyrank.edits.experiment import TwoTokenExperiment
from whyrank.edits.idf import IdfDirection, idf_direction
from whyrank.edits.intent import check_loss
from whyrank.edits.new_token import check_row
from whyrank.edits.previewing import Asked, Intent
from whyrank.edits.results import Alignment, EditPreview
from whyrank.edits.saving import EditedRanker, check_target
from whyrank.edits.suppress import SCALES, SuppressionSettings, suppression
from whyrank.edits.suppression import Suppression
from whyrank.edits.two_tokens import SCALES as EXPERIMENT_SCALES
from whyrank.edits.two_tokens import experiment
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

#: Words that a correlation needs.
ENOUGH_WORDS = 4


def idf(
    ranker: str | Ranker, collection: str | Collection | None = None, *, idf: str = "collection",
    vectors: int = 10, device: str = "cpu", out: Path | str | None = None, caller: Caller = SILENT,
) -> IdfDirection:  # fmt: skip
    """How a ranker's first singular vectors go with IDF: counted in the collection, of `wordfreq`, or a file's."""
    check_counts(1, vectors=vectors)
    opened = collection_of(collection, caller) if collection is not None else None
    if opened is None and idf == "collection":
        todo = "give a collection, or as idf wordfreq or a file of word<TAB>idf"
        raise UserError("no collection to count words in", todo=todo)
    model = neural_ranker(ranker, device=device, caller=caller)
    counted = opened.fingerprint() if opened and idf == "collection" else None
    inputs = {
        "ranker": model.fingerprint(),
        "collection": counted,
        "idf": idf_fingerprint(idf),
        "vectors": vectors,
    }
    with Run.open(out, IdfDirection.COMMAND, inputs, caller) as run:
        found = run.finished(IdfDirection)
        if found is None:
            found = idf_direction(model, token_idf(model.pieces.tokenizer, idf, opened), vectors)
            if len(found.words) < ENOUGH_WORDS:
                raise UserError(
                    f"{len(found.words)} words of the ranker's vocabulary have an IDF here",
                    where=opened.name if opened else idf,
                    todo=f"{ENOUGH_WORDS} or more are needed: give another collection or file",
                )
            run.save(found, words=len(found.words))
        return found


def edit(
    ranker: str | Ranker, edit: Edit | str = "", *, up: Scales = (), down: Scales = (), rule: str = RULES[0],
    collection: str | Collection | None = None, preview: bool | None = None, propose: bool = False,
    new_token: str | None = None, max_loss: float | None = None, save: Path | str | None = None,
    idf: str = "collection", run: FirstStage | None = None, depth: int = 20, queries: int | None = None,
    seed: int = 0, device: str = "cpu", out: Path | str | None = None, caller: Caller = SILENT,
) -> EditPreview:  # fmt: skip
    """Turns a ranker's own IDF dial for some terms, and shows what that does to a collection's ranking.

        found = whyrank.edit("bi-minilm-l3", up={"yellow": 2}, down={"plant": "1sd"}, collection="demo")
        with found.apply() as ranker: ...           # the edited ranker, inside of the block
        found.apply().save("edited")                # an ordinary checkpoint, as with `save`

    A plain number is of the `rule`: standard deviations of U0 over whole words (`2sd`); `1.5idf` and `x5` are of
    other rules (see `Edit`). Without a collection, or with `preview=False`, nothing is ranked. The first `depth`
    documents of BM25, or of `run`, are ranked for the first `queries` queries.

    `propose`: also a scale, chosen on one half of the queries and tried on the other. `new_token` (`mean` or
    `fitted`): a token of its own for each word of several pieces (see `edits.new_token`). `max_loss`: a gate;
    raises `GateFailed`, and saves nothing, where nDCG@10 of the judged queries falls by more.
    """
    check_counts(1, depth=depth, queries=queries)
    check_seed(seed)
    at_least("max_loss", max_loss, 0)
    check_row(new_token)
    up, down = (held(some) for some in (up, down))
    wanted = (Edit.parse(edit) if isinstance(edit, str) else edit) + Edit.of(up, down, rule)
    if not len(wanted):
        raise UserError("no edit", todo="give up or down a term and a scale, such as yellow=2sd")
    ranks = collection is not None if preview is None else preview
    check_call(ranks, collection, out, save)
    check_tried(ranks, propose=propose, max_loss=max_loss is not None, fitted=new_token == "fitted")
    if rule == RULES[0] and (plain_ones := plain_numbers(edit if isinstance(edit, str) else "", up, down)):
        say_plain(plain_ones[0], caller)
    asked = Asked(wanted, propose, max_loss, new_token, seed)
    dialed = Dialed.open(ranker, collection, idf, caller, device)
    if max_loss is not None and not dialed.collection.qrels:
        raise UserError(f"{dialed.collection.name} has no judgements", todo="leave out max_loss, or give them")
    intent = Intent.of(asked, dialed)
    if not ranks:
        return saved(intent.untried(depth), save, caller)
    inputs = {
        "edits": plain(wanted.parts), "idf": idf_fingerprint(idf), "new_token": new_token,
        "propose": [max_loss] if propose else None,
    }  # fmt: skip
    found = intent.tried(RankingChoice(run, depth, queries, seed), inputs, out, caller)
    if max_loss is not None:
        check_loss(found.ranking.cost if found.ranking else None, max_loss, found)
    return saved(found, save, caller)


def check_tried(ranks: bool, **needed: bool) -> None:
    """Raises for an option that needs a ranking where nothing is ranked."""
    for name in [name for name, is_given in needed.items() if is_given and not ranks]:
        what = "new_token fitted" if name == "fitted" else name
        raise UserError(f"{what} needs a preview", todo="give preview and collection")


def say_plain(edit: str, caller: Caller) -> None:
    """What a number without a unit means; it meant a factor once."""
    term, _, number = edit.rpartition("=")
    caller.say(f"{edit} is {term}={number}sd: {number} standard deviations of U0 over whole words "
               f"(a factor of |U0|, as earlier versions took it, is {term}=x{number})")  # fmt: skip


def held(scales: Scales) -> Mapping[str, float | str] | list[str]:
    """Scales that can be gone through more than once."""
    return scales if isinstance(scales, Mapping) else [scales] if isinstance(scales, str) else list(scales)


def edited_ranker(
    ranker: str | Ranker, change: Edit, collection: str | Collection | None = None, *, idf: str = "collection"
) -> EditedRanker:
    """The ranker with an edit, nothing else (`Edit.apply`)."""
    return Dialed.open(ranker, collection, idf, SILENT, "cpu").edited(change, "edited from")


def two_tokens(
    ranker: str | Ranker, collection: str | Collection, *, scales: str | Sequence[float] = EXPERIMENT_SCALES,
    head: str | None = None, rule: str = RULES[0], idf: str = "collection", queries: int | None = None,
    randoms: int = DRAWN, seed: int = 0, device: str = "cpu", out: Path | str | None = None,
    caller: Caller = SILENT,
) -> TwoTokenExperiment:  # fmt: skip
    """Whether U_0 is what a ranker takes for IDF: two-token documents over scales, beside controls of the same
    size: U1, U2, the row, and so many `randoms` (random directions). `scales` are of the `rule`, by default
    standard deviations of U0. `head` (such as 10.1): what its [CLS] row reads of the edited word."""
    check_counts(1, queries=queries)
    check_counts(2, randoms=randoms)
    check_seed(seed)
    rule = known_rule(rule)
    chosen = scales_of(scales, rule)
    dialed = Dialed.open(ranker, collection, idf, caller, device)
    opened = dialed.collection
    some = dict(list(opened.queries.items())[:queries])
    inputs = {
        "ranker": dialed.ranker.fingerprint(), "collection": opened.fingerprint(), "split": opened.split,
        "queries": list(some), "head": head, "scales": list(chosen), "rule": rule, "idf": idf_fingerprint(idf),
        "seed": seed, "randoms": randoms, "what": "experiment",
    }  # fmt: skip
    with Run.open(out, TwoTokenExperiment.COMMAND, inputs, caller) as run:
        found = run.finished(TwoTokenExperiment)
        if found is None:
            found = experiment(
                dialed.dial, some, collection=opened.name, scales=chosen, head=head, rule=rule,
                randoms=randoms, seed=seed, shards=run.work("shards"), step=run.progress,
            )  # fmt: skip
            run.save(found, items=found.items)
        return found


def suppress(
    ranker: str | Ranker, terms: Path | str | Iterable[str], collection: str | Collection, *,
    documents: int = 10, min_rise: float = 0.1, scales: str | Sequence[float] = SCALES, rule: str = RULES[0],
    randoms: int = 10,
    save: Path | str | None = None, idf: str = "collection", run: FirstStage | None = None, depth: int = 20,
    seed: int = 0, device: str = "cpu", out: Path | str | None = None, caller: Caller = SILENT,
) -> Suppression:  # fmt: skip
    """Turns listed words down until a document does not gain by them, and proposes a scale.

    `terms`: a file with one word or phrase per line, or a list of them. Each is put into `documents` documents;
    those count whose score rises by more than `min_rise` standard deviations of the scores within queries. Beside
    the dial stand `randoms` random directions, the row of [UNK], the mean row, and the words deleted from the
    texts. With `save`, the ranker with all words down at the scale proposed.
    """
    check_counts(1, documents=documents, depth=depth)
    check_counts(2, randoms=randoms)
    at_least("min_rise", min_rise, 0)
    check_seed(seed)
    rule = known_rule(rule)
    how = SuppressionSettings(documents, min_rise, scales_of(scales, rule), rule, randoms, seed)
    if save is not None:
        check_target(Path(save))
        if len(how.scales) < 3:
            raise UserError("a knee needs three scales or more", todo="give more scales, or do not save")
    entries = entries_of(terms)
    dialed = Dialed.open(ranker, collection, idf, caller, device)
    listed = BlockList.read(terms if isinstance(terms, Path | str) else entries, dialed.ranker.pieces.tokenizer)
    choice = RankingChoice(run, depth, None, seed)
    stage = dialed.first_stage(choice, caller)
    hashed = hashlib.sha256("\n".join(entries).encode()).hexdigest()
    inputs = dialed.inputs(stage, choice) | plain(how) | {"terms": hashed, "idf": idf_fingerprint(idf)}
    with Run.open(out, Suppression.COMMAND, inputs, caller) as work:
        found = work.finished(Suppression) or _suppressed(work, dialed, listed, stage, how, depth)
    if found.knee is None:
        if save is not None:
            todo = "look at the curve and choose: whyrank edit --down WORD=SCALE"
            raise UserError("there is no knee to save at", todo=todo)
        return found
    edited = dialed.edited(listed.edit(found.knee.scale, rule), "words suppressed in")
    return saved(replace(found, edited=edited), save, caller)


def _suppressed(
    run: Run, dialed: Dialed, listed: BlockList, stage: Ranking, how: SuppressionSettings, depth: int
) -> Suppression:
    """Does the work, and writes the run folder."""
    unedited = dialed.unedited(stage, depth, run)
    found = suppression(
        dialed.dial, listed, unedited, how, collection=dialed.collection.name, depth=depth,
        shards=run.work("shards"), step=run.progress,
    )  # fmt: skip
    every = listed.edit(how.scales[-1], how.rule)
    found = replace(found, shared=dialed.shared(every), spellings=dialed.spellings(every))
    run.save(found, pairs=found.kept)
    return found


def align(
    ranker: str | Ranker, collection: str | Collection, *, preview: bool = False,
    save: Path | str | None = None, idf: str = "collection", formula: str = "bm25",
    run: FirstStage | None = None, depth: int = 20, queries: int | None = None, seed: int = 0,
    device: str = "cpu", out: Path | str | None = None, caller: Caller = SILENT,
) -> Alignment:  # fmt: skip
    """Sets a ranker's IDF dial to a collection's own IDF, for all its tokens at once; `formula`: bm25 or plain.

    With `preview` the collection is ranked, too: what moves, and what it costs; `out` is where that is written.
    """
    check_counts(1, depth=depth, queries=queries)
    check_seed(seed)
    if formula not in FORMULAS:
        raise UserError(f"unknown IDF formula '{formula}'", todo=f"choose {' or '.join(FORMULAS)}")
    check_call(preview, collection, out, save)
    dialed = Dialed.open(ranker, collection, idf, caller, device, fall_back=False)
    model, dial = dialed.ranker, dialed.dial.summary()
    change = alignment(dialed.dial, formula)
    fit = alignment_fit(dialed.dial, change, formula)
    record = {"dial": plain(dial), "alignment": plain(fit)}
    found = Alignment(
        ranker=model.name, source=str(model.source), collection=dialed.collection_name, depth=depth, seed=seed,
        dial=dial, edited=EditedRanker(model, change, record, f"aligned with the IDF of {dial.idf}, from"),
        alignment=fit,
    )  # fmt: skip
    if preview:
        what = {"align": formula, "idf": idf_fingerprint(idf)}
        found = dialed.ranked(found, RankingChoice(run, depth, queries, seed), what, out, caller)
    return saved(found, save, caller)
