"""What the verbs that edit share: a ranker with its dial, the ranking that a change is tried on, saving."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from whyrank.collections.collection import Collection
from whyrank.collections.demo import open_demo
from whyrank.collections.opening import collection_of, first_stage_of
from whyrank.collections.records import Run as Ranking
from whyrank.collections.records import fingerprint_of
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.core.packages import sha256
from whyrank.core.results import plain
from whyrank.core.runs import Run
from whyrank.edits.cost import preview
from whyrank.edits.dial import Dial
from whyrank.edits.edit import DISTANCES, Edit, least_scale
from whyrank.edits.results import Edited, RankingEdit, SharedPiece
from whyrank.edits.saving import EDITS_FILE, EditedRanker, check_target
from whyrank.edits.term_pieces import other_spellings, shared_pieces
from whyrank.edits.unedited import Unedited
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

#: A first stage, or its file or run folder.
FirstStage = Ranking | Path | str
E = TypeVar("E", bound=Edited)
R = TypeVar("R", bound=RankingEdit)


@dataclass(frozen=True)
class RankingChoice:
    """What a change is tried on: the first `depth` documents of a first stage (BM25's), of `queries` queries."""

    run: FirstStage | None = None
    depth: int = 20
    queries: int | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Dialed:
    """A ranker with its dial, and the collection that it is tried on, if any."""

    ranker: NeuralRanker
    dial: Dial
    given: Collection | None

    @classmethod
    def open(
        cls, ranker: str | Ranker, collection: str | Collection | None, idf: str, caller: Caller, device: str,
        *, fall_back: bool = True,
    ) -> Dialed:  # fmt: skip
        """Opens all, and says how sure the dial's sign is. `fall_back`: by the IDF of the built-in collection
        where the words of this one do not show the sign."""
        opened = collection_of(collection, caller) if collection is not None else None
        model = neural_ranker(ranker, device=device, caller=caller)
        if (model.checkpoint.folder / EDITS_FILE).exists():
            caller.say("this checkpoint was edited before; U0 is of its embeddings as they are now")
        dial = Dial.of(model, idf, opened, fall_back=fall_back)
        about = dial.summary()
        if about.fallback:
            caller.say(f"{about.fallback}: the IDF of the built-in collection {about.idf} is used")
        caller.say(f"U0 against the IDF of {about.idf}: r = {about.r.text()}, {about.r.pairs} words")
        return cls(model, dial, opened)

    @property
    def collection(self) -> Collection:
        if self.given is None:
            raise UserError("there is no collection to rank", todo="give collection")
        return self.given

    @property
    def collection_name(self) -> str | None:
        return None if self.given is None else self.given.name

    def shared(self, edit: Edit) -> tuple[SharedPiece, ...]:
        """Pieces that words of the collection (or of the built-in one) share with the edited terms."""
        texts = (text for _, text in (self.given or open_demo()).documents())
        return tuple(shared_pieces(self.ranker.pieces.tokenizer, edit.terms, texts))

    def spellings(self, edit: Edit) -> dict[str, tuple[str, ...]]:
        """By term, spellings that are other tokens."""
        found = {term: tuple(other_spellings(self.ranker.pieces.tokenizer, term)) for term in edit.terms}
        return {term: others for term, others in found.items() if others}

    def edited(self, change: Edit, origin: str, record: dict[str, Any] | None = None) -> EditedRanker:
        """The ranker with an edit; `record` is what edits.json says besides."""
        turns = self.dial.turns(change)
        done = {"dial": plain(self.dial.summary()), "edits": plain(change.parts), "turns": plain(turns)}
        return EditedRanker(self.ranker, self.dial.change(turns), done | (record or {}), origin)

    def first_stage(self, choice: RankingChoice, caller: Caller) -> Ranking:
        """The candidates."""
        stage, _ = first_stage_of(self.collection, choice.run, choice.depth)
        if self.collection.qrels:
            caller.say(f"measured by {self.collection.judgements}")
        return dict(list(stage.items())[: choice.queries])

    def inputs(self, stage: Ranking, choice: RankingChoice) -> dict[str, Any]:
        """What a ranking with an edit depends on, but for the edit."""
        return {
            "judgements": self.collection.judgements, "split": self.collection.split,
            "ranker": self.ranker.fingerprint(), "collection": self.collection.fingerprint(),
            "first_stage": fingerprint_of(stage), "depth": choice.depth, "seed": choice.seed,
        }  # fmt: skip

    def unedited(self, stage: Ranking, depth: int, run: Run) -> Unedited:
        """The ranking before any edit."""
        shards, step = run.work("shards"), run.progress
        return Unedited.ranked(self.ranker, self.collection, stage, depth=depth, shards=shards, step=step)

    def ranked(
        self, found: R, choice: RankingChoice, what: dict[str, Any], out: Path | str | None,
        caller: Caller,
    ) -> R:  # fmt: skip
        """A change with the ranking before and after; `what` was changed is an input of the run."""
        stage = self.first_stage(choice, caller)
        with Run.open(out, found.COMMAND, self.inputs(stage, choice) | what, caller) as run:
            done = run.finished(type(found))
            if done is None:
                unedited = self.unedited(stage, choice.depth, run)
                tried = preview(
                    unedited, found.apply().change, seed=choice.seed, shards=run.work("shards"),
                    step=run.progress,
                )  # fmt: skip
                done = replace(found, **vars(tried))
                run.save(done, pairs=tried.ranking.pairs, rescored=tried.ranking.rescored)
            return replace(done, edited=found.edited)


def idf_fingerprint(idf: str) -> str:
    """`collection` and `wordfreq` as they are, a file by its content."""
    return sha256(Path(idf)) if idf not in ("collection", "wordfreq") and Path(idf).is_file() else idf


def scales_of(given: str | Sequence[float], rule: str) -> tuple[float, ...]:
    """`0.5,1,2`, or numbers, as growing scales of a rule."""
    least = least_scale(rule)
    try:
        found = tuple(sorted({float(one) for one in (given.split(",") if isinstance(given, str) else given)}))
    except ValueError:
        found = ()
    if not found or not all(least <= scale < float("inf") for scale in found):
        such = "0.5,1,2,4" if rule in DISTANCES else "1,5,20,100"
        raise UserError(
            f"'{given}' are no scales of the rule {rule}", todo=f"write numbers from {least:g} on, such as {such}"
        )
    return found


def check_call(preview: bool, collection: object, out: object, save: Path | str | None) -> None:
    """What goes together, before anything is loaded."""
    if preview and collection is None:
        raise UserError("a preview needs a collection to rank", todo="give collection")
    if out is not None and not preview:
        raise UserError("out is for a preview", todo="drop it; save names the checkpoint's folder")
    if save is not None:
        check_target(Path(save))


def saved(found: E, save: Path | str | None, caller: Caller) -> E:
    """The result; its edited ranker is saved if asked for."""
    if save is not None:
        found.apply().save(save)
        caller.say(f"wrote {save}: an ordinary checkpoint; what was done is in {EDITS_FILE}")
    return found
