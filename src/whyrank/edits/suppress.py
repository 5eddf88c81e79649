"""Suppressing words: turned down until a document with one of them ranks below the same document without.

Each listed word (or phrase) is appended to safe documents; the pairs whose score really rises are kept: by more
than a tenth of a standard deviation of the unedited scores within queries. All listed words are turned down at
once, at each of a range of scales. Success: the unsafe document scores below the safe one, by the edited ranker; a
tie is none. The scale at the knee of success is proposed (Satopaa et al. 2011, 'Finding a Kneedle in a Haystack').
There the dial stands beside

    random directions    the same rows moved as far, at least 10 of them (controls.py)
    [UNK] row            the rows set to the unknown token's: the ranker cannot tell the words from any other
    mean row             the rows set to the mean of the vocabulary's
    word deleted         no edit at all: listed words are deleted from documents before they are scored

The cost of each is that on the collection's own ranking (see `cost`).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from whyrank.core.errors import UserError, located
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.edits.against_random import AgainstRandom
from whyrank.edits.block_list import BlockList
from whyrank.edits.controls import random_directions, set_to
from whyrank.edits.cost import Compared
from whyrank.edits.dial import Dial
from whyrank.edits.edit import RULES, Edit
from whyrank.edits.holders import moves_of_holders
from whyrank.edits.rows import RowChange, applied, reads_any, sequences_read
from whyrank.edits.suppression import (
    Knee,
    MethodResult,
    RandomDirections,
    ScaleResult,
    Suppression,
    WordResult,
)
from whyrank.edits.term_pieces import unknown_token
from whyrank.edits.unedited import Unedited
from whyrank.evaluation.crossed import crossed_mean
from whyrank.evaluation.estimate import Estimate
from whyrank.evaluation.interval import TOO_FEW
from whyrank.rankers.ranker import Pair
from whyrank.rankers.shards import score_in_shards

#: What the dial is called among the methods.
DIAL = "U0"
#: Two scores so near each other are the same: batches differ in the last digits.
TIE = 1e-5
SCALES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class SuppressionSettings:
    """How words are tried: documents per word, the least rise of a score in its standard deviations, the scales,
    the rule of the edit, the random directions."""

    documents: int = 10
    min_rise: float = 0.1
    scales: tuple[float, ...] = SCALES
    rule: str = RULES[0]
    randoms: int = 10
    seed: int = 0


def suppression(
    dial: Dial,
    listed: BlockList,
    unedited: Unedited,
    settings: SuppressionSettings | None = None,
    *,
    collection: str | None = None,
    depth: int = 0,
    shards: Path | None = None,
    step: OpenProgress | None = None,
) -> Suppression:
    """Success and cost over the scales. With `shards`, stopped work goes on."""
    how = settings or SuppressionSettings()
    trial = _Trial.prepared(dial, listed, unedited, how, Stages(shards), step or no_progress)
    scored = [trial.at_scale(scale) for scale in how.scales]
    successes = [float(one.below.mean()) for one in scored]
    bend = knee(how.scales, successes)
    shown = scored[how.scales.index(bend.scale if bend else how.scales[-1])]
    holders = moves_of_holders(
        unedited, shown.ranking, lambda text: not listed.holds_none(text), "a listed word", "down", how.seed
    )
    ranker = dial.ranker
    return Suppression(
        ranker=ranker.name, source=str(ranker.source), collection=collection, depth=depth, seed=how.seed,
        dial=dial.summary(), words=len(listed.words), phrases=listed.phrases, skipped=listed.skipped,
        documents=how.documents, min_rise=how.min_rise, deviation=trial.deviation, rule=how.rule,
        drawn=len(trial.drawn), kept=len(trial.kept), rise=trial.estimate(trial.rise),
        scales=tuple(trial.result(one) for one in scored), knee=bend,
        by_word=by_word(trial.drawn, trial.kept, shown.below), at=shown.scale,
        methods=tuple(trial.methods(shown)), randoms=trial.randoms(shown), holders=holders,
    )  # fmt: skip


@dataclass(frozen=True)
class Injected:
    """A safe pair of the unedited ranking (its place there), and the word that is appended to its document."""

    word: str
    place: int
    qid: str
    safe: Pair

    @property
    def unsafe(self) -> Pair:
        return self.safe[0], f"{self.safe[1]} {self.word}"


def inject(listed: BlockList, unedited: Unedited, documents: int, seed: int = 0) -> list[Injected]:
    """For each word, `documents` pairs drawn from those whose document holds no listed word and has room for one
    more."""
    safe = [i for i, (_, text) in enumerate(unedited.pairs) if listed.holds_none(text)]
    if not safe:
        raise UserError("every document holds a listed word", todo="give another collection, or a greater depth")
    found = [one for word in listed.words for one in _drawn(word, safe, unedited, documents, seed)]
    if not found:
        raise UserError(
            "no safe document has room for one more word", todo="give a collection of shorter documents"
        )
    return found


def _drawn(word: str, safe: list[int], unedited: Unedited, most: int, seed: int) -> list[Injected]:
    found: list[Injected] = []
    for place in random.Random(f"{seed} {word}").sample(safe, len(safe)):
        one = Injected(word, place, unedited.rows[place].qid, unedited.pairs[place])
        (read,) = sequences_read(unedited.ranker, [one.unsafe])
        if not any(sequence.cut for sequence in read):
            found.append(one)
        if len(found) == most:
            break
    return found


def rising(injected: list[Injected], rise: np.ndarray, least: float) -> np.ndarray:
    """The places of the pairs whose score rises by more than this."""
    places = np.flatnonzero(rise > least)
    if not len(places):
        raise UserError(
            f"no listed word raises a score by more than min_rise ({least:.3g} of a score; {len(injected)} "
            "documents tried): nothing to suppress",
            todo="give a smaller min_rise, or more documents per word",
        )
    return places


def by_word(drawn: Sequence[Injected], kept: Sequence[Injected], success: np.ndarray) -> tuple[WordResult, ...]:
    """One row per word that was put into a document."""
    found = []
    for word, count in Counter(one.word for one in drawn).items():
        mine = [bool(below) for one, below in zip(kept, success, strict=True) if one.word == word]
        found.append(WordResult(word, count, len(mine), sum(mine) / len(mine) if mine else None))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Scored:
    """By one method: unsafe - safe of the kept pairs, and the whole ranking's scores."""

    scale: float
    gap: np.ndarray
    ranking: np.ndarray

    @property
    def below(self) -> np.ndarray:
        """Which unsafe documents score below their safe ones."""
        found: np.ndarray = self.gap < -TIE
        return found

    @property
    def not_above(self) -> np.ndarray:
        found: np.ndarray = self.gap <= TIE
        return found


@dataclass(frozen=True, eq=False)
class _Trial:
    """The kept pairs, scored again by each method; a safe document only where it has a piece of a listed word."""

    dial: Dial
    listed: BlockList
    unedited: Unedited
    how: SuppressionSettings
    stages: Stages
    step: OpenProgress
    drawn: list[Injected]
    kept: list[Injected]
    safe: np.ndarray
    unsafe: np.ndarray
    deviation: float

    @classmethod
    def prepared(
        cls, dial: Dial, listed: BlockList, unedited: Unedited, how: SuppressionSettings, stages: Stages,
        step: OpenProgress,
    ) -> _Trial:  # fmt: skip
        """The words put into documents, and the pairs whose score rises."""
        deviation = unedited.deviation
        if deviation is None:
            raise UserError("no query has two documents that score differently", todo="give a greater depth")
        drawn = inject(listed, unedited, how.documents, how.seed)
        safe = unedited.scores[[one.place for one in drawn]]
        with step("injecting", len(drawn)) as advance:
            pairs = [one.unsafe for one in drawn]
            unsafe = score_in_shards(dial.ranker, pairs, stages.shards("injected"), advance).values
        with located(listed.source):
            places = rising(drawn, unsafe - safe, how.min_rise * deviation)
        kept = [drawn[place] for place in places]
        return cls(dial, listed, unedited, how, stages, step, drawn, kept, safe[places], unsafe[places], deviation)

    @property
    def rise(self) -> np.ndarray:
        return self.unsafe - self.safe

    def at_scale(self, scale: float) -> _Scored:
        return self._scored(self.dial.change(self._edit(scale)), scale, f"scale {scale:g}")

    def result(self, scored: _Scored) -> ScaleResult:
        cost = Compared.of(self.unedited, scored.ranking).cost(self.how.seed)
        return ScaleResult(scored.scale, self.estimate(scored.below, share=True), self.estimate(scored.gap), cost)

    def methods(self, shown: _Scored) -> Iterator[MethodResult]:
        """The dial at this scale, and what a sceptic would do."""
        yield self._method(DIAL, shown)
        ranker, tokens = self.dial.ranker, [turn.token for turn in self.dial.turns(self._edit(shown.scale))]
        matrix = ranker.encoder.word_embeddings.detach()
        rows = {"mean row": matrix.double().mean(dim=0)}
        unknown = unknown_token(ranker.pieces.tokenizer)
        if unknown is not None:
            rows = {"[UNK] row": matrix[unknown], **rows}
        for name, row in rows.items():
            yield self._method(name, self._scored(set_to(ranker, tokens, row), shown.scale, name), shown)
        yield self._method("word deleted", self._deleted(shown.scale), shown)

    def randoms(self, shown: _Scored) -> RandomDirections:
        """The same rows moved as far, along random directions."""
        turns = self.dial.turns(self._edit(shown.scale))
        directions = random_directions(self.dial, self.how.seed, self.how.randoms)
        found = [self._scored(control(turns), shown.scale, name) for name, control in directions.items()]
        costs = [Compared.of(self.unedited, one.ranking) for one in found]
        differences = [one.differences for one in costs]
        judged = list(differences[0])
        changes = np.array([[one[qid] for one in differences] for qid in judged])
        means = changes.mean(axis=0) if judged else np.array([])
        return RandomDirections(
            self._against(shown.below, [one.below for one in found]),
            self._against(shown.not_above, [one.not_above for one in found]),
            crossed_mean(changes, judged, self.how.seed) if judged else None,
            float(means.min()) if judged else None, float(means.max()) if judged else None,
        )  # fmt: skip

    def estimate(self, values: np.ndarray, *, share: bool = False) -> Estimate:
        """The mean over pairs; its interval redraws queries, or words, whichever makes it wider: pairs of one word
        are edited together. Fewer than 6 words are not redrawn: what is said is said of these words."""
        by_query, by_word = (
            Estimate.mean(values, names, self.how.seed, share=share) for names in self._clusters()
        )
        if by_query.no_interval == TOO_FEW:
            return by_query
        wider = max((by_query, by_word), key=lambda one: one.interval.width if one.interval else -1.0)
        return replace(wider, queries=by_query.queries)

    def _clusters(self) -> tuple[list[str], list[str]]:
        """The pairs' queries, and their words."""
        return [one.qid for one in self.kept], [one.word for one in self.kept]

    def _against(self, edit: np.ndarray, randoms: Sequence[np.ndarray]) -> AgainstRandom:
        """By queries or by words, whichever leaves the dial's own less sure."""
        values = np.stack([one.astype(float) for one in randoms], axis=1)
        found = [
            AgainstRandom.of(edit.astype(float), values, names, 1, self.how.seed) for names in self._clusters()
        ]
        if found[0].edit_less.no_interval == TOO_FEW:
            return found[0]
        return max(found, key=lambda one: one.edit_less.interval.width if one.edit_less.interval else -1.0)

    def _method(self, name: str, scored: _Scored, dial: _Scored | None = None) -> MethodResult:
        more = None if dial is None else self.estimate(dial.below.astype(float) - scored.below)
        return MethodResult(
            name, self.estimate(scored.below, share=True), self.estimate(scored.not_above, share=True),
            self.estimate(scored.gap / self.deviation),
            Compared.of(self.unedited, scored.ranking).cost(self.how.seed), more,
        )  # fmt: skip

    def _edit(self, scale: float) -> Edit:
        return self.listed.edit(scale, self.how.rule)

    def _scored(self, change: RowChange, scale: float, name: str) -> _Scored:
        """The pairs and the ranking with a change."""
        gap = self._gap(change, name)
        ranking, _ = self.unedited.rescored(change, name=f"by {name}", shards=self.stages.folder, step=self.step)
        return _Scored(scale, gap, ranking)

    def _gap(self, change: RowChange, name: str) -> np.ndarray:
        """unsafe - safe with the change."""
        safe_pairs: list[Pair] = [one.safe for one in self.kept]
        touched = np.flatnonzero(reads_any(self.dial.ranker, change.moved, safe_pairs))
        pairs = [one.unsafe for one in self.kept] + [safe_pairs[i] for i in touched]
        shards = self.stages.shards(f"injected {name}")
        with applied(self.dial.ranker, change), self.step(f"injected, {name}", len(pairs)) as advance:
            scores = score_in_shards(self.dial.ranker, pairs, shards, advance).values
        safe = self.safe.copy()
        safe[touched] = scores[len(self.kept) :]
        return scores[: len(self.kept)] - safe

    def _deleted(self, scale: float) -> _Scored:
        """The unedited ranker on texts without any listed word."""
        ranker, shards = self.dial.ranker, self.stages.shards("deleted")
        unsafe = [(query, self.listed.without(text)) for query, text in (one.unsafe for one in self.kept)]
        touched = [i for i, (_, text) in enumerate(self.unedited.pairs) if not self.listed.holds_none(text)]
        cut = [(query, self.listed.without(text)) for query, text in (self.unedited.pairs[i] for i in touched)]
        with self.step("listed words deleted", len(unsafe) + len(cut)) as advance:
            scores = score_in_shards(ranker, [*unsafe, *cut], shards, advance).values
        ranking = self.unedited.scores
        ranking[touched] = scores[len(unsafe) :]
        return _Scored(scale, scores[: len(unsafe)] - self.safe, ranking)


def knee(scales: Sequence[float], values: Sequence[float]) -> Knee | None:
    """The knee of values over growing scales; None for a curve that never rises above its chord. A scale of 0,
    which changes nothing, has no logarithm and is passed over."""
    scales, values = zip(*(one for one in zip(scales, values, strict=True) if one[0] > 0), strict=True)
    x = [math.log(scale) for scale in scales]
    low, spread = min(values), max(values) - min(values)
    if len(x) < 3 or spread == 0 or x[-1] == x[0]:
        return None
    points = [
        ((one - x[0]) / (x[-1] - x[0]), (value - low) / spread) for one, value in zip(x, values, strict=True)
    ]
    first, last = points[0][1], points[-1][1]
    heights = [y - (first + (last - first) * place) for place, y in points]
    best = max(range(len(heights)), key=lambda i: heights[i])
    return Knee(scales[best], values[best], heights[best]) if heights[best] > 1e-12 else None
