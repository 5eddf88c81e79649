"""Listed words put into safe documents: the pairs on which a suppression is tried."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np

from whyrank.core.errors import UserError
from whyrank.edits.block_list import BlockList
from whyrank.edits.rows import sequences_read
from whyrank.edits.unedited import Unedited
from whyrank.rankers.ranker import Pair


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


def inject(listed: BlockList, unedited: Unedited, n: int, seed: int = 0) -> list[Injected]:
    """For each word, `n` pairs drawn from those whose document holds no listed word and has room for one more."""
    safe = [i for i, (_, text) in enumerate(unedited.pairs) if listed.holds_none(text)]
    if not safe:
        raise UserError("every document holds a listed word", todo="give another collection, or a greater -k")
    found = [one for word in listed.words for one in _drawn(word, safe, unedited, n, seed)]
    if not found:
        raise UserError(
            "no safe document has room for one more word", todo="give a collection of shorter documents"
        )
    return found


def _drawn(word: str, safe: list[int], unedited: Unedited, n: int, seed: int) -> list[Injected]:
    found: list[Injected] = []
    for place in random.Random(f"{seed} {word}").sample(safe, len(safe)):
        one = Injected(word, place, unedited.rows[place].qid, unedited.pairs[place])
        (read,) = sequences_read(unedited.ranker, [one.unsafe])
        if not any(sequence.cut for sequence in read):
            found.append(one)
        if len(found) == n:
            break
    return found


def rising(injected: list[Injected], rise: np.ndarray, threshold: float) -> np.ndarray:
    """The places of the pairs whose score rises by more than the threshold."""
    places = np.flatnonzero(rise > threshold)
    if not len(places):
        raise UserError(
            f"no listed word raises a score by more than {threshold:g} ({len(injected)} documents tried): nothing "
            "to suppress",
            todo="lower --threshold, or draw more documents a word with -n",
        )
    return places


def by_word(injected: list[Injected], kept: np.ndarray, success: np.ndarray) -> list[dict[str, object]]:
    """For each word: documents drawn, kept because the score rises, and of these the share that is put below."""
    drawn = Counter(one.word for one in injected)
    found = []
    for word in drawn:
        mine = [bool(success[i]) for i, place in enumerate(kept) if injected[place].word == word]
        share = sum(mine) / len(mine) if mine else None
        found.append({"word": word, "drawn": drawn[word], "kept": len(mine), "success": share})
    return found
