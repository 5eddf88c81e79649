"""The two-token experiment: is U_0 what a ranker takes for IDF?

A query with two content words tok1 and tok2; doc1 is tok1 three times, doc2 is tok2 three times. U_0 of tok1 is
turned up and down over a range of scales. If it is an IDF, doc1 rises and falls with it and doc2 stays. Scores are
from the unscaled doc1 on, so that it is 0 in every query, which makes the mean what the paper draws and the
intervals paired. Either word of a query is tok1 once. With a head, the result says what its [CLS] row reads of
tok1 in the query.

Beside the edit stand edits of the same size along U_1, U_2, many random directions and the row itself
(controls.py). Whether U_0 is a dial is decided by one number per direction, the slope of doc1 over the scales: per
unit of scale x,

    slope = sum_s x_s y_s / sum_s x_s^2        y_s: doc1 - the unedited doc1;  x = s, but s - 1 by the rule `paper`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from whyrank.axioms.terms import QUESTION_WORDS
from whyrank.circuits.counting import term_rows
from whyrank.circuits.reading import Reading, cross_encoder
from whyrank.core.errors import UserError
from whyrank.core.progress import OpenProgress, no_progress
from whyrank.core.stages import Stages
from whyrank.edits.against_random import AgainstRandom
from whyrank.edits.controls import DRAWN, RANDOM, Control, controls
from whyrank.edits.dial import Dial
from whyrank.edits.edit import DIRECTIONS, RULES, Edit, TermEdit, known_rule, least_scale
from whyrank.edits.experiment import EDIT, DialSlope, ExperimentPoint, TwoTokenExperiment
from whyrank.edits.rows import RowChange, applied, rows_are_local, sequences_read
from whyrank.edits.term_pieces import pieces_of
from whyrank.encoders.site import Site
from whyrank.evaluation.estimate import Estimate
from whyrank.rankers.ranker import Pair
from whyrank.text.words import ENGLISH_STOPWORDS, words

SCALES = (0.5, 1.0, 2.0, 4.0)
#: How often a document repeats its word.
TIMES = 3
#: For each scale and item: the scores of doc1 and doc2, and the head's attention, if one is asked for.
Values = list[list[list[float | None]]]


def experiment(
    dial: Dial,
    queries: Mapping[str, str],
    *,
    collection: str = "",
    scales: Sequence[float] = SCALES,
    head: str | None = None,
    rule: str = RULES[0],
    randoms: int = DRAWN,
    seed: int = 0,
    shards: Path | None = None,
    step: OpenProgress | None = None,
) -> TwoTokenExperiment:
    """The curves of the edit and of its controls. With `shards`, stopped work goes on."""
    items = two_token_queries(dial.ranker.pieces.tokenizer, queries)
    if not items:
        raise UserError("no query has two content words that the ranker knows", todo="give another collection")
    site = _head(dial, head)
    work = Measurement(dial, items, tuple(scales), known_rule(rule))
    named = controls(dial, seed, randoms)
    values = _values(work, named, site, Stages(shards), step or no_progress)
    points = [point for name in named for way in DIRECTIONS for point in work.curve(name, way, values, seed)]
    return TwoTokenExperiment(
        dial.ranker.name, str(dial.ranker.source), collection, dial.summary(), len(items),
        len({item.qid for item in items}), TIMES, work.rule, None if site is None else f"{site.layer}.{site.head}",
        tuple(scales), seed, tuple(points), tuple(work.slope(way, values, seed) for way in DIRECTIONS),
    )  # fmt: skip


def _values(
    work: Measurement, named: dict[str, Control], head: Site | None, stages: Stages, step: OpenProgress
) -> dict[tuple[str, str], Values]:
    """Of the edit, which comes first, and of its controls, in both directions."""
    found: dict[tuple[str, str], Values] = {}
    with step("two-token documents", len(named) * len(DIRECTIONS) * len(work.scales)) as advance:
        for name, control in named.items():
            for direction in DIRECTIONS:
                measure = partial(work.measure, control, direction, head if name == EDIT else None)
                found[name, direction] = stages.get(f"{name}-{direction}", measure)
                advance(len(work.scales))
    return found


@dataclass(frozen=True)
class WordPair:
    """One query, the word that is edited, and the other."""

    qid: str
    query: str
    tok1: str
    tok2: str

    @property
    def pairs(self) -> tuple[Pair, Pair]:
        """The query with doc1 and with doc2."""
        return (self.query, " ".join([self.tok1] * TIMES)), (self.query, " ".join([self.tok2] * TIMES))


def two_token_queries(tokenizer: Tokenizer, queries: Mapping[str, str]) -> list[WordPair]:
    """Each query's first two content words that have pieces and share none, in both orders."""
    found = []
    for qid, query in queries.items():
        first = _two_words(tokenizer, query)
        if first:
            found += [WordPair(qid, query, *first), WordPair(qid, query, *reversed(first))]
    return found


def _two_words(tokenizer: Tokenizer, query: str) -> tuple[str, str] | None:
    chosen: list[tuple[str, set[int]]] = []
    for word in dict.fromkeys(words(query)):
        if word in ENGLISH_STOPWORDS or word in QUESTION_WORDS or len(word) < 2:
            continue
        try:
            pieces = set(pieces_of(tokenizer, word))
        except UserError:
            continue
        if not any(pieces & others for _, others in chosen):
            chosen.append((word, pieces))
        if len(chosen) == 2:
            return chosen[0][0], chosen[1][0]
    return None


class Measurement:
    """The scores; items that do not read each other's edited tokens are edited and scored together."""

    def __init__(self, dial: Dial, items: list[WordPair], scales: tuple[float, ...], rule: str) -> None:
        self.dial, self.ranker, self.items, self.scales, self.rule = dial, dial.ranker, items, scales, rule
        self.edited = [set(pieces_of(self.ranker.pieces.tokenizer, item.tok1)) for item in items]
        self.groups = self._groups()

    def measure(self, control: Control, direction: str, head: Site | None) -> Values:
        found: Values = []
        for scale in self.scales:
            rows: list[list[float | None]] = [[] for _ in self.items]
            for group in self.groups:
                with applied(self.ranker, self._change(control, group, direction, scale)):
                    scores = self.ranker.score([pair for j in group for pair in self.items[j].pairs])
                    for j, (doc1, doc2) in zip(group, scores.reshape(-1, 2).tolist(), strict=True):
                        rows[j] = [doc1, doc2, None if head is None else self._attention(j, head)]
            found.append(rows)
        return found

    def curve(
        self, control: str, direction: str, values: dict[tuple[str, str], Values], seed: int
    ) -> list[ExperimentPoint]:
        """One point per scale: means with intervals over queries; of a control also by how much the edit's doc1 is
        above its own, item by item; of the edit how it stands against the random directions."""
        points = []
        edit, mine = (self._doc1(values[name, direction]) for name in (EDIT, control))
        randoms = self._randoms(values, direction)
        for i, (scale, at_scale) in enumerate(zip(self.scales, values[control, direction], strict=True)):
            doc1, doc2, looks = np.array(at_scale, dtype=float).T
            looked = self._known(looks, seed)
            is_edit = control == EDIT
            points.append(
                ExperimentPoint(
                    control, direction, scale, self._mean(mine[i], seed), self._mean(doc2 - self.unscaled, seed),
                    self._mean(doc1 > doc2, seed, share=True), attention=looked if looked.pairs else None,
                    edit_less=None if is_edit else self._mean(edit[i] - mine[i], seed),
                    randoms=self._against(edit[i], randoms[i], direction, seed) if is_edit else None,
                )
            )  # fmt: skip
        return points

    def slope(self, direction: str, values: dict[tuple[str, str], Values], seed: int) -> DialSlope:
        """All scales of one direction as one number for each item."""
        least = least_scale(self.rule) if self.rule != "authors" else 0.0
        x = np.array(self.scales) - least
        weights = x / (x**2).sum() if x.any() else x
        edit = weights @ self._doc1(values[EDIT, direction])
        randoms = np.einsum("s,sir->ir", weights, self._randoms(values, direction))
        others = {
            name: self._mean(edit - weights @ self._doc1(found), seed)
            for (name, way), found in values.items()
            if way == direction and name != EDIT and not name.startswith(RANDOM)
        }
        return DialSlope.judged(
            direction, self._mean(edit, seed), self._against(edit, randoms, direction, seed), others
        )

    def _doc1(self, values: Values) -> np.ndarray:
        """doc1 from the unedited doc1 on: [scales, items]."""
        return np.array(values, dtype=float)[:, :, 0] - self.unscaled

    def _randoms(self, values: dict[tuple[str, str], Values], direction: str) -> np.ndarray:
        """The same of all random directions: [scales, items, R]."""
        some = [one for (name, way), one in values.items() if way == direction and name.startswith(RANDOM)]
        return np.stack([self._doc1(one) for one in some], axis=2)

    def _against(self, edit: np.ndarray, randoms: np.ndarray, direction: str, seed: int) -> AgainstRandom:
        sign = 1 if direction == "up" else -1
        return AgainstRandom.of(edit, randoms, [item.qid for item in self.items], sign, seed)

    def _mean(self, column: np.ndarray, seed: int, *, share: bool = False) -> Estimate:
        return Estimate.mean(column, [item.qid for item in self.items], seed, share=share)

    def _known(self, looks: np.ndarray, seed: int) -> Estimate:
        """The mean of the attention where there is any to speak of."""
        places = np.flatnonzero(np.isfinite(looks))
        return Estimate.mean(looks[places], [self.items[i].qid for i in places], seed)

    @cached_property
    def unscaled(self) -> np.ndarray:
        """The score of each doc1 before any edit."""
        return self.ranker.score([item.pairs[0] for item in self.items])

    def _groups(self) -> list[list[int]]:
        """Items of which none reads a token that another one edits."""
        if not rows_are_local(self.ranker):
            return [[i] for i in range(len(self.items))]
        read = [
            {
                token
                for sequences in sequences_read(self.ranker, item.pairs)
                for one in sequences
                for token in one.ids
            }
            for item in self.items
        ]
        groups: list[list[int]] = []
        for i, mine in enumerate(self.edited):
            fits = (g for g in groups if all(mine.isdisjoint(read[j] | self.edited[j]) for j in g))
            apart = (g for g in fits if all(self.edited[j].isdisjoint(read[i]) for j in g))
            group = next(apart, None)
            groups.append([i]) if group is None else group.append(i)
        return groups

    def _change(self, control: Control, group: list[int], direction: str, scale: float) -> RowChange:
        edit = Edit(tuple(TermEdit(self.items[j].tok1, direction, scale, self.rule) for j in group))
        return control(self.dial.turns(edit))

    def _attention(self, j: int, head: Site) -> float | None:
        """What [CLS] reads of tok1 in the query, with doc1 as the document; None where the query spells it in
        other pieces than those that are edited."""
        assert head.layer is not None and head.head is not None
        ranker = cross_encoder(self.ranker)
        reading = Reading.of(ranker, *self.items[j].pairs[0], layers=head.layer + 1)
        places = term_rows(ranker, reading, self.items[j].tok1)
        return float(reading.attention[head.layer, head.head, 0, places].sum()) if places else None


def _head(dial: Dial, head: str | None) -> Site | None:
    if head is None:
        return None
    ranker, site = cross_encoder(dial.ranker), Site.parse(head)
    if site.head is None:
        raise UserError(f"'{head}' is not a head", todo="write a layer and a head: 10.1")
    site.check(ranker.encoder.layers, ranker.encoder.heads)
    return site
