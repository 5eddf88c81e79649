"""A preview of an edit by intent: the ranking with it, who else moves, a scale from held-out queries, new
tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.core.results import plain as plain_value
from whyrank.core.runs import Run
from whyrank.edits.cost import Compared, previewed
from whyrank.edits.dialed import Dialed, RankingChoice
from whyrank.edits.edit import Edit
from whyrank.edits.encode_again import documents_to_encode
from whyrank.edits.holders import holding
from whyrank.edits.intent import NewTokens, Proposal
from whyrank.edits.new_token import MOST_FITTED, Extended, extended, fit
from whyrank.edits.proposal import proposal
from whyrank.edits.results import EditPreview
from whyrank.edits.rows import RowChange
from whyrank.edits.saving import EditedRanker
from whyrank.edits.sharers import sharers_of_edits
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.estimate import Estimate
from whyrank.rankers.dual import DualRanker


@dataclass(frozen=True)
class Asked:
    """What a preview shall say besides what moves."""

    edit: Edit
    propose: bool = False
    max_loss: float | None = None
    new_token: str | None = None
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Intent:
    """An edit on its way to a preview: what was asked, the unedited ranker, and the one with new tokens, if
    any."""

    asked: Asked
    plain: Dialed
    new: Extended | None = None

    @classmethod
    def of(cls, asked: Asked, dialed: Dialed) -> Intent:
        """With new tokens where they were asked for."""
        return cls(asked, dialed, extended(dialed.dial, asked.edit.terms) if asked.new_token else None)

    @property
    def dialed(self) -> Dialed:
        """The ranker that the edit is made in."""
        return replace(self.plain, ranker=self.new.ranker, dial=self.new.dial) if self.new else self.plain

    @property
    def also(self) -> Sequence[int]:
        """Tokens that the unedited ranker does not have."""
        return self.new.ids if self.new else ()

    def edited(self) -> EditedRanker:
        """The ranker with the edit."""
        record = {"new_tokens": plain_value(self.new.tokens)} if self.new else {}
        return self.dialed.edited(self.asked.edit, "edited from", record)

    def untried(self, depth: int) -> EditPreview:
        """What is known before anything is ranked."""
        dialed, edit = self.dialed, self.asked.edit
        return EditPreview(
            ranker=dialed.ranker.name, source=str(dialed.ranker.source), collection=dialed.collection_name,
            depth=depth, seed=self.asked.seed, dial=dialed.dial.summary(), edited=self.edited(), edits=edit.parts,
            turns=tuple(dialed.dial.turns(edit)), shared=dialed.shared(edit), spellings=dialed.spellings(edit),
            new_tokens=self._untried_tokens(),
        )  # fmt: skip

    def tried(
        self, choice: RankingChoice, inputs: dict[str, Any], out: Path | str | None, caller: Caller
    ) -> EditPreview:
        """The edit with the ranking before and after, and all that is said by intent."""
        stage = self.plain.first_stage(choice, caller)
        with Run.open(out, EditPreview.COMMAND, self.plain.inputs(stage, choice) | inputs, caller) as run:
            done = run.finished(EditPreview)
            if done is not None:
                return replace(done, edited=self._with_rows_of(done).edited())
            unedited = self.plain.unedited(stage, choice.depth, run)
            places, fitted = self._fitted(unedited, run)
            done = fitted._ranked(unedited, choice, places, run)
            assert done.ranking is not None
            run.save(done, pairs=done.ranking.pairs, rescored=done.ranking.rescored)
            return done

    def _ranked(self, unedited: Unedited, choice: RankingChoice, fitted: Sequence[int], run: Run) -> EditPreview:
        found = self.untried(choice.depth)
        scores, rescored = self._rescored(unedited, found.apply().change, "edited", run)
        ranked = previewed(unedited, scores, rescored, self.asked.edit, self.asked.seed)
        tokenizer = unedited.ranker.pieces.tokenizer
        return replace(
            found,
            **vars(ranked),
            sharers=sharers_of_edits(tokenizer, unedited, scores, self.asked.edit, self.asked.seed),
            new_tokens=self._new_tokens(unedited, fitted, run) if self.new else None,
            proposal=self._proposal(unedited, run) if self.asked.propose else None,
            encode_again=self._encode_again(found, run),
        )

    def _rescored(self, unedited: Unedited, change: RowChange, name: str, run: Run) -> tuple[np.ndarray, int]:
        return unedited.rescored(
            change, by=self.dialed.ranker, also=self.also, name=name, shards=run.work("shards"), step=run.progress
        )

    def _fitted(self, unedited: Unedited, run: Run) -> tuple[list[int], Intent]:
        """With rows fitted on some pairs that hold the words, if that was asked for; and the pairs' places."""
        if self.new is None or self.asked.new_token != "fitted":
            return [], self
        new, places = self.new, holding_pairs(unedited, self.new)[::2][:MOST_FITTED]
        if not places:
            raise UserError(
                f"no candidate holds {' or '.join(one.term for one in new.tokens)}, so no row can be fitted",
                todo="give new_token mean, or a collection that holds it",
            )
        pairs, scores = [unedited.pairs[i] for i in places], unedited.scores[places]
        rows = run.stages().get("fitted rows", lambda: fit(new, pairs, scores, step=run.progress))
        return places, replace(self, new=new.with_rows(self.plain.dial, rows))

    def _with_rows_of(self, done: EditPreview) -> Intent:
        """The rows that a finished result was made with."""
        if self.new is None or done.new_tokens is None:
            return self
        return replace(self, new=self.new.with_rows(self.plain.dial, [one.row for one in done.new_tokens.tokens]))

    def _proposal(self, unedited: Unedited, run: Run) -> Proposal:
        def rescored(half: Unedited, change: RowChange, name: str) -> np.ndarray:
            return self._rescored(half, change, name, run)[0]

        asked = self.asked
        return proposal(
            unedited, self.dialed.dial.change, asked.edit, rescored, max_loss=asked.max_loss, seed=asked.seed
        )

    def _encode_again(self, found: EditPreview, run: Run) -> tuple[str, ...] | None:
        ranker = self.dialed.ranker
        if not isinstance(ranker, DualRanker):
            return None
        moved = [turn.token for turn in found.turns if turn.after != turn.before]
        collection = self.plain.collection
        size = sum(1 for _ in collection.documents())
        with run.progress("documents to encode again", size, unit="documents") as advance:
            return tuple(documents_to_encode(ranker, collection, [*moved, *self.also], advance))

    def _untried_tokens(self) -> NewTokens | None:
        if self.new is None:
            return None
        none = Estimate.undefined()
        return NewTokens(str(self.asked.new_token), self.new.tokens, 0, none, none, 0.0, None, none)

    def _new_tokens(self, unedited: Unedited, fitted: Sequence[int], run: Run) -> NewTokens:
        """How far scores move by the new tokens alone, over the pairs that they were not fitted on."""
        assert self.new is not None
        alone, _ = self._rescored(unedited, RowChange.none(self.new.ranker), "with new tokens alone", run)
        places = [i for i in holding_pairs(unedited, self.new) if i not in set(fitted)]
        moved, qids = (alone - unedited.scores)[places], [unedited.rows[i].qid for i in places]
        sd, seed = unedited.deviation, self.asked.seed
        shift = Estimate.mean(np.abs(moved), qids, seed)
        return NewTokens(
            str(self.asked.new_token), self.new.tokens, len(places), shift, Estimate.mean(moved, qids, seed),
            float(np.abs(moved).max(initial=0.0)), shift.value / sd if sd and shift.value is not None else None,
            Compared.of(unedited, alone).cost(seed).agreement, len(fitted),
        )  # fmt: skip


def holding_pairs(unedited: Unedited, new: Extended) -> list[int]:
    """The places of the pairs whose query or document holds a word that has a new token."""
    holds = [holding(one.term) for one in new.tokens]
    known: dict[str, bool] = {}
    for pair in unedited.pairs:
        for text in pair:
            if text not in known:
                known[text] = any(one(text) for one in holds)
    return [i for i, pair in enumerate(unedited.pairs) if any(known[text] for text in pair)]
