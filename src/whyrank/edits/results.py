"""What the verbs that edit return: `EditPreview` and `Alignment`, and the parts they share with the others."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from whyrank.collections.formats import read_run
from whyrank.collections.records import Run
from whyrank.collections.trec import write_run
from whyrank.core.atomic import write_text
from whyrank.core.errors import UserError
from whyrank.core.lines import read_lines
from whyrank.core.results import Result
from whyrank.edits.edit import Edit, TermEdit
from whyrank.edits.holder_moves import HolderMoves, RankingCost
from whyrank.edits.intent import NewTokens, Proposal, SharerMoves
from whyrank.edits.units import Units
from whyrank.evaluation.estimate import Estimate
from whyrank.pages.numbers import counted

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from whyrank.core.runs import Manifest
    from whyrank.edits.saving import EditedRanker
    from whyrank.pages.page import Figures

#: The rankings beside the JSON file, by field.
RUNS = ("before", "after")
#: The ids of the documents that a bi-encoder has to encode again, one per line.
ENCODE_AGAIN = "encode_again.txt"
NOT_IN_JSON = {"table": True}
#: Terms whose sentences the verdict holds.
MOST_SENTENCES = 3


@dataclass(frozen=True)
class DialSummary:
    """Where the sign of U_0 comes from: `r` is its correlation with an IDF over `r.pairs` whole words. `fallback`
    says why the IDF is the built-in collection's, where that is not what was asked for. `units`: in what an edit
    is counted."""

    idf: str
    fallback: str | None
    s0: float
    r: Estimate
    units: Units

    def __str__(self) -> str:
        why = f" ({self.fallback}, so this is the built-in one)" if self.fallback else ""
        return (
            f"U0 is the first left singular vector of the embedding matrix (singular value {self.s0:.4g}), with "
            f"the sign that goes against the IDF of {self.idf}{why}: r = {self.r.text()} over {self.r.pairs} "
            f"whole words. {self.units}"
        )


@dataclass(frozen=True)
class Turn:
    """One piece turned: its U_0 before and after, and the terms that it is a piece of."""

    token: int
    piece: str
    terms: tuple[str, ...]
    before: float
    after: float

    def outside(self, units: Units) -> str:
        """That it is turned to where hardly any word is."""
        end = units.low if self.after < units.low else units.high
        return (
            f"{', '.join(self.terms)}: its piece '{self.piece}' is turned to a U0 of {self.after:.3g}, beyond the "
            f"natural range ({end:.3g}), where 1% of whole words are; the ranker has hardly seen such a word"
        )


@dataclass(frozen=True)
class SharedPiece:
    """A piece of an edited term that other words have, too: an edit of the term moves them all.

    `words` other words of the counted texts are made with it, standing in `documents` of them; `examples` are the
    most frequent. `word` is what the piece means by itself, if it is a whole word other than the term.
    """

    term: str
    piece: str
    token: int
    word: str | None
    words: int
    documents: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        """Who else uses it."""
        users = [f"is the word '{self.word}'"] if self.word else []
        if self.words:
            some = ", ".join(self.examples)
            users.append(f"stands in {counted(self.words, 'other word')} ({some}) of "
                         f"{counted(self.documents, 'document')}")  # fmt: skip
        return f"{self.term}: its piece '{self.piece}' {' and '.join(users)}"


@dataclass(frozen=True)
class DocumentMove:
    """One document's title, its rank and score before and after, and its grade if it is judged."""

    docno: str
    title: str
    before: int
    after: int
    score_before: float
    score_after: float
    grade: int | None


@dataclass(frozen=True)
class QueryMoves:
    """One query whose order changes: how many documents move, and those whose move is seen most."""

    qid: str
    query: str
    agreement: float
    ndcg_before: float | None
    ndcg_after: float | None
    moved: int
    documents: tuple[DocumentMove, ...]


@dataclass(frozen=True)
class RankingChange:
    """A collection's ranking with an edit against the one without: `rescored` of the pairs read a changed token,
    the others cannot change; `changes`: the queries that change most."""

    pairs: int
    rescored: int
    cost: RankingCost
    changes: tuple[QueryMoves, ...]


@dataclass(frozen=True)
class AlignmentFit:
    """U_0 set to an IDF: how many tokens move, by how much on average, and r of U_0 with the IDF over whole words,
    before; after, along the same direction; and as a new SVD of the edited matrix finds it."""

    formula: str
    tokens: int
    mean_move: float
    r_before: float | None
    r_after: float | None
    r_by_new_svd: float | None
    words: int

    def __str__(self) -> str:
        before, after, anew = (
            "–" if r is None else f"{r:.4f}" for r in (self.r_before, self.r_after, self.r_by_new_svd)
        )
        return (
            f"r of U0 with IDF over {self.words} words: {before} before, {after} after ({anew} by a new SVD); "
            f"{self.tokens} tokens moved"
        )


@dataclass(frozen=True, repr=False, kw_only=True)
class Edited(Result):
    """What results of editing share: which ranker, by which dial, and the edited ranker itself."""

    ranker: str
    source: str
    collection: str | None
    depth: int
    seed: int
    dial: DialSummary
    #: The `EditedRanker`, of a result that was made in this process.
    edited: Any = field(default=None, repr=False, compare=False, metadata=NOT_IN_JSON)

    def apply(self) -> EditedRanker:
        """The edited ranker: `with result.apply() as ranker:`, or `result.apply().save(folder)`."""
        if self.edited is None:
            raise UserError("this result has no edited ranker", todo="make the edit again, or load a saved one")
        found: EditedRanker = self.edited
        return found


@dataclass(frozen=True, repr=False, kw_only=True)
class RankingEdit(Edited):
    """An edit, and what it does to a collection's ranking if that was asked for."""

    FILE: ClassVar[str] = "edit.json"
    COMMAND: ClassVar[str] = "edit"
    FORMAT: ClassVar[int] = 3

    holders: tuple[HolderMoves, ...] = ()
    ranking: RankingChange | None = None
    #: The rankings, in TREC files beside the JSON file.
    before: Run = field(default_factory=dict, repr=False, compare=False, metadata=NOT_IN_JSON)
    after: Run = field(default_factory=dict, repr=False, compare=False, metadata=NOT_IN_JSON)

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        found = super().read(folder)
        if found.ranking is None:
            return found
        before, after = (read_run(Path(folder, f"{name}.trec")) for name in RUNS)
        return replace(found, before=before, after=after)

    def to_pandas(self) -> pd.DataFrame:
        """One row per query and document: its rank and score before and after."""
        import pandas as pd

        rows = []
        for qid, found in self.before.items():
            after = {row.docno: row for row in self.after[qid]}
            rows += [(qid, b.docno, b.rank, after[b.docno].rank, b.score, after[b.docno].score) for b in found]
        columns = ["qid", "docno", "rank_before", "rank_after", "score_before", "score_after"]
        return pd.DataFrame(rows, columns=columns)

    def write_tables(self, folder: Path) -> list[Path]:
        if self.ranking is None:
            return []
        for name in RUNS:
            write_run(folder / f"{name}.trec", getattr(self, name))
        return [folder / f"{name}.trec" for name in RUNS]

    def figures(self) -> dict[str, str]:
        return {name: svg for name, (svg, _, _) in self.described_figures().items()}

    @abstractmethod
    def described_figures(self) -> Figures:
        """The figures with their captions and data, by name."""


@dataclass(frozen=True, repr=False, kw_only=True)
class EditPreview(RankingEdit):
    """What an edit does before anything is saved: the pieces it turns, who shares them, what moves, what it costs.

    `spellings`: by term, spellings that are other tokens, which the edit leaves alone.
    """

    what: Literal["preview"] = "preview"
    edits: tuple[TermEdit, ...]
    turns: tuple[Turn, ...]
    shared: tuple[SharedPiece, ...]
    spellings: dict[str, tuple[str, ...]]
    sharers: tuple[SharerMoves, ...] = ()
    proposal: Proposal | None = None
    new_tokens: NewTokens | None = None
    #: Of a bi-encoder, the documents that it has to encode again, in a file of their own; else None.
    encode_again: tuple[str, ...] | None = field(default=None, repr=False, metadata=NOT_IN_JSON)

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        found, path = super().read(folder), Path(folder, ENCODE_AGAIN)
        if not path.exists():
            return found
        return replace(found, encode_again=tuple(line.text for line in read_lines(path)))

    def write_tables(self, folder: Path) -> list[Path]:
        """The rankings, and the ids of the documents to encode again, one per line."""
        written = super().write_tables(folder)
        if self.encode_again is None:
            return written
        write_text(folder / ENCODE_AGAIN, "".join(f"{docno}\n" for docno in self.encode_again))
        return [*written, folder / ENCODE_AGAIN]

    @property
    def edit(self) -> Edit:
        return Edit(self.edits)

    def verdict(self) -> list[str]:
        if self.ranking is None:
            untried = f"{self.edit} turns {counted(len(self.turns), 'piece')}; it was not tried on a ranking."
            return [untried, *([str(self.new_tokens)] if self.new_tokens else []), *self.warnings()]
        shown = [_sentence(one.sentence) for one in self.holders[:MOST_SENTENCES]]
        more = len(self.holders) - len(shown)
        shown += [f"{counted(more, 'more term')}: see below."] if more else []
        shown += [_sentence(str(one)) for one in self.sharers[:MOST_SENTENCES] if one.pairs]
        more_said = [str(one) for one in (self.new_tokens, self.proposal) if one]
        return [*shown, str(self.ranking.cost), *more_said, *self.warnings()]

    def warnings(self) -> list[str]:
        """Pieces that are turned out of the natural range."""
        units = self.dial.units
        found = [turn for turn in self.turns if units.leaves(turn.before, turn.after)]
        more = [f"{counted(len(found) - 1, 'more piece')} too."] if len(found) > 1 else []
        return [f"Warning: {found[0].outside(units)}.", *more] if found else []

    def plot(self, axes: Axes | None = None) -> Axes:
        """For each term, by how much each query's holders moved against the other documents; or the pieces."""
        from whyrank.edits.figures import plot_holders, plot_turns
        from whyrank.plots.style import new_axes

        if any(one.by_query for one in self.holders):
            axes = axes if axes is not None else new_axes(7.2, 1.0 + 0.5 * len(self.holders))
            return plot_holders(axes, self.holders)
        axes = axes if axes is not None else new_axes(7.2, 1.0 + 0.26 * len(self.turns))
        return plot_turns(axes, self.turns, self.dial.units)

    def described_figures(self) -> Figures:
        from whyrank.edits.report import preview_figures

        return preview_figures(self)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.report import preview_page

        return preview_page(self).write(path, manifest)


@dataclass(frozen=True, repr=False, kw_only=True)
class Alignment(RankingEdit):
    """A ranker whose dial is set to a collection's own IDF, for all its tokens at once."""

    COMMAND: ClassVar[str] = "align"

    what: Literal["alignment"] = "alignment"
    alignment: AlignmentFit

    def verdict(self) -> list[str]:
        cost = [] if self.ranking is None else [str(self.ranking.cost)]
        return [f"U0 set to the IDF of {self.dial.idf}: {self.alignment}.", *cost]

    def plot(self, axes: Axes | None = None) -> Axes:
        """r of U_0 with the IDF: before, after, and by a new SVD."""
        from whyrank.edits.figures import plot_alignment
        from whyrank.plots.style import new_axes

        return plot_alignment(axes if axes is not None else new_axes(7.2, 1.6), self.alignment)

    def described_figures(self) -> Figures:
        from whyrank.edits.report import alignment_figures

        return alignment_figures(self)

    def write_report(self, path: Path, manifest: Manifest) -> Path:
        from whyrank.edits.report import alignment_page

        return alignment_page(self).write(path, manifest)


def _sentence(text: str) -> str:
    """A line as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."
