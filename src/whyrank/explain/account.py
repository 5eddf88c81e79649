"""How a ranker itself comes to a score: the types of the accounts that `mechanism.py` and `heads.py` make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MechanismPart:
    """One step of the ranker's own computation: a word or piece of the query, what it meets in the document
    (text[start:end]), how rare the ranker takes it to be, how well the two match, and what that adds."""

    query: str
    document: str | None
    start: int | None
    end: int | None
    weight: float | None
    match: float | None
    contribution: float


@dataclass(frozen=True)
class WordMatrix:
    """What a query word (row) and a document word (column) do together; None was not scored."""

    query: tuple[str, ...]
    document: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Covered:
    """How far an account follows the score: r squared over variants of both texts, each without a word; of a
    fitted SemanticBM also what it predicts, and its Pearson correlation on its own test queries."""

    r_squared: float | None
    variants: int
    model: str
    predicted: float | None = None
    held_out: float | None = None


@dataclass(frozen=True)
class Mechanism:
    """The score as the ranker's family computes it. `exact`: the contributions and `rest` sum to the score;
    otherwise `rest` is what they leave open. `weight` and `match` say what these columns are."""

    family: str
    exact: bool
    parts: tuple[MechanismPart, ...]
    rest: float
    weight: str | None
    match: str | None
    note: str
    matrix: WordMatrix | None = None
    covered: Covered | None = None


@dataclass(frozen=True)
class HeadEffect:
    """A head: the share of the word's effect that its output restores (None: not patched), and the share that it
    writes straight to the score (None: the family has no such path)."""

    head: str
    share: float | None
    to_score: float | None


@dataclass(frozen=True)
class HeadGroup:
    """Heads patched at once, and the share of the word's effect that they restore together."""

    name: str
    heads: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Heads:
    """Which heads carry a word's effect: the document against the same with fillers for the word, which scores
    `without`. Of `total` heads `patched` were patched exactly, those that a gradient estimate puts first."""

    word: str
    score: float
    without: float
    total: int
    patched: int
    heads: tuple[HeadEffect, ...]
    groups: tuple[HeadGroup, ...]
