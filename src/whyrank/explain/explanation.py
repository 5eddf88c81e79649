"""What `explain` returns: effects in the ranker's own score units, in sentences and as a figure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from whyrank.core.results import Result
from whyrank.explain.account import Heads, Mechanism
from whyrank.explain.sentences import in_full, named, verdict
from whyrank.explain.tree import Node, tree_of
from whyrank.plots.marked_text import draw_highlighted_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest

#: Pieces of text in a figure, at most; of a longer text, those around its strongest words.
MOST_DRAWN = 400
#: Pieces to either side of a strong one that are drawn with it.
AROUND = 4
BARS_LABEL = "score lost without the word"


@dataclass(frozen=True)
class WordEffect:
    """One occurrence of a word: text[start:end], and what it adds to the score."""

    word: str
    start: int
    end: int
    effect: float


@dataclass(frozen=True)
class TermEffect:
    """All occurrences of a word, of those that are read, together."""

    word: str
    times: int
    effect: float


@dataclass(frozen=True)
class SentenceEffect:
    """A sentence (or several, or a part of a long one): text[start:end], and what it adds to the score."""

    start: int
    end: int
    effect: float


@dataclass(frozen=True)
class JointEffect:
    """Words that matter more together than one by one: what they add to the score together, and the sum of what
    each adds by itself."""

    words: tuple[str, ...]
    effect: float
    single: float


@dataclass(frozen=True)
class Truncation:
    """What the ranker never saw of a document, from `start` on, and the score of its best passage (as long as the
    ranker reads), had it seen that instead."""

    words: int
    read: int
    start: int
    passages: int
    best_start: int
    best_end: int
    best_score: float


@dataclass(frozen=True)
class Coverage:
    """What an explanation is about: the document's words, those of them that the ranker reads (the first
    `characters` characters), those that were taken away by themselves, and how many texts were scored.
    `query_words` counts the query's distinct words that were not taken away, `query_unread` all its words that the
    ranker does not read, as the query is too long."""

    words: int
    read: int
    tried: int
    characters: int
    calls: int
    query_words: int = 0
    query_unread: int = 0


@dataclass(frozen=True)
class WordContrast:
    """What a word adds to the document above and to the one below; None where a text does not hold it (or it was
    not taken out)."""

    word: str
    above: float | None
    below: float | None

    @property
    def difference(self) -> float:
        """What the word does for the difference of the two scores."""
        return (self.above or 0.0) - (self.below or 0.0)


@dataclass(frozen=True)
class Swap:
    """The fewest words found without which the two documents change places, on one side (`above` or `below`), and
    both scores then."""

    side: str
    words: tuple[str, ...]
    above: float
    below: float


@dataclass(frozen=True)
class DialTurn:
    """The smallest turn found of one word's IDF dial with which the two change places, and both scores then;
    `scale` is in standard deviations of U_0 over whole words."""

    term: str
    direction: str
    scale: float
    above: float
    below: float


@dataclass(frozen=True)
class Versus:
    """The document that this one stands above: the difference word by word, and the smallest change that swaps
    them."""

    docid: str | None
    document: str
    score: float
    rank: int | None
    words: tuple[WordContrast, ...]
    swap: Swap | None
    turn: DialTurn | None


@dataclass(frozen=True)
class Lift:
    """Words `removed` from the document or `added` at its start, and its score and rank then."""

    way: str
    words: tuple[str, ...]
    score: float
    rank: int


@dataclass(frozen=True)
class StageRank:
    """Where an earlier stage puts a document among `of`; None where it does not find it at all."""

    stage: str
    rank: int | None
    of: int


@dataclass(frozen=True)
class WhyNot:
    """Why the document is not among the first `top`: its rank by this ranker, the score it would need, the query's
    words that it lacks, the rank the given list had it at, and the smallest changes found that lift it. `stage`:
    where the stage before puts a document that is not among the candidates."""

    rank: int
    of: int
    top: int
    needed: float
    missing: tuple[str, ...]
    listed_at: int | None
    among_candidates: bool
    lifts: tuple[Lift, ...]
    stage: StageRank | None = None


@dataclass(frozen=True)
class Words:
    """The score, and what each part of the texts adds to it."""

    score: float
    words: tuple[WordEffect, ...]
    terms: tuple[TermEffect, ...]
    query_terms: tuple[TermEffect, ...]
    sentences: tuple[SentenceEffect, ...]
    joint: tuple[JointEffect, ...]
    coverage: Coverage


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """A score and the words behind it; effects are in the ranker's own score units. `way`: how words were taken
    away, replaced by `filler` or deleted."""

    FILE: ClassVar[str] = "explanation.json"
    COMMAND: ClassVar[str] = "explain"

    ranker: str
    source: str
    query: str
    docid: str | None
    document: str
    way: str
    filler: str | None
    score: float
    words: tuple[WordEffect, ...]
    terms: tuple[TermEffect, ...]
    query_terms: tuple[TermEffect, ...]
    sentences: tuple[SentenceEffect, ...]
    joint: tuple[JointEffect, ...]
    coverage: Coverage
    truncation: Truncation | None = None
    mechanism: Mechanism | None = None
    #: BM25's own account of the same pair, where there is something to count words in.
    bm25: Mechanism | None = None
    heads: Heads | None = None
    versus: Versus | None = None
    why_not: WhyNot | None = None

    @property
    def name(self) -> str:
        return named(self.docid)

    def verdict(self) -> list[str]:
        """The answer in a few sentences."""
        return verdict(self)

    def in_words(self, most: int = 3) -> str:
        """The answer as one text, with `most` words each way, and what it does not cover."""
        return " ".join(in_full(self, most))

    def tree(self) -> Node:
        """Value, description, details: as search engines write their own explanations."""
        return tree_of(self)

    def to_pandas(self) -> pd.DataFrame:
        """One row per distinct word: word, times, effect."""
        import pandas as pd

        return pd.DataFrame([vars(term) for term in self.terms], columns=["word", "times", "effect"])

    def plot(self, axes: Axes | None = None) -> Axes:
        """The strongest words as bars."""
        from whyrank.plots.marked_text import draw_bars
        from whyrank.plots.style import new_axes

        bars = self._bars(8)
        axes = axes if axes is not None else new_axes(6.4, 0.9 + 0.3 * len(bars))
        draw_bars(axes, bars, BARS_LABEL)
        return axes

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.explain.report import explanation_page

        return explanation_page(self).write(path, manifest)

    def draw(self, path: Path | str, most: int = 8) -> Path:
        """The document with each word's effect behind it, and the strongest words as bars, as SVG or PNG."""
        return draw_highlighted_text(
            Path(path),
            title=f"“{self.query}”",
            subtitle=f"{self.ranker} scores this document {self.score:.2f}; green raises it, red lowers it",
            text=self._drawn(),
            bars=self._bars(most),
            bars_label=BARS_LABEL,
        )

    def _bars(self, most: int) -> list[tuple[str, float]]:
        """The strongest words, those that raise the score first."""
        strongest = sorted(self.terms, key=lambda term: -abs(term.effect))[:most]
        return [
            (term.word + (f" ×{term.times}" if term.times > 1 else ""), term.effect)
            for term in sorted(strongest, key=lambda term: -term.effect)
        ]

    def chunks(self) -> list[tuple[str, float]]:
        """What is read of the document split at white space, each chunk with the effect of the words in it."""
        words, found, number = sorted(self.words, key=lambda word: word.start), [], 0
        for match in re.finditer(r"\S+", self.document[: self.coverage.characters]):
            effect = 0.0
            while number < len(words) and words[number].start < match.end():
                effect += words[number].effect
                number += 1
            found.append((match.group(), effect))
        return found

    def _drawn(self) -> list[tuple[str, float]]:
        """The chunks of a figure: all, or those around the strongest, with dots between them."""
        chunks = self.chunks()
        if len(chunks) <= MOST_DRAWN:
            return chunks
        order = sorted(range(len(chunks)), key=lambda i: -abs(chunks[i][1]))
        strong = order[: MOST_DRAWN // (2 * AROUND + 2)]
        kept = sorted({i for one in strong for i in range(one - AROUND, one + AROUND + 1) if 0 <= i < len(chunks)})
        found: list[tuple[str, float]] = []
        for before, i in zip([-1, *kept], kept, strict=False):
            found += [("…", 0.0)] * (i > before + 1) + [chunks[i]]
        return [*found, ("…", 0.0)] if kept[-1] < len(chunks) - 1 else found
