"""Pairs whose texts were not scored as they were given: their table, and what a report says of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.axioms.scored_pair import TextCounts
from whyrank.core.atomic import whole_file
from whyrank.core.json_file import typed
from whyrank.pages.page import Cell, Report

if TYPE_CHECKING:
    import pandas as pd

#: The table of a run folder with one row per pair: the texts that were scored, those given, and their scores.
FILE = "pairs.parquet"
#: Changed pairs shown, and characters of each of their texts; all are whole in the table.
SHOWN, LETTERS = 20, 2000


@dataclass(frozen=True)
class ChangedPair:
    """A pair whose texts were padded or cut: both texts as scored and as given, with their scores."""

    pair: str
    query: str
    baseline_text: str
    perturbed_text: str
    base: float
    perturbed: float
    padded: bool
    cut: bool
    given_baseline_text: str
    given_perturbed_text: str
    given_base: float
    given_perturbed: float

    def sides(self) -> list[list[Cell]]:
        """One row per text that changed."""
        sides = (
            ("baseline", self.given_baseline_text, self.given_base, self.baseline_text, self.base),
            ("perturbed", self.given_perturbed_text, self.given_perturbed, self.perturbed_text, self.perturbed),
        )
        return [[self.pair, *cells] for cells in sides if cells[1] != cells[3]]


@dataclass(frozen=True)
class TextChanges(TextCounts):
    """The counts, the first changed pairs, and in how many of all the other side scores higher than as given."""

    other_sign: int
    changed: tuple[ChangedPair, ...]

    @classmethod
    def read(cls, counts: TextCounts, table: pd.DataFrame) -> TextChanges:
        """From the table of pairs."""
        rows = table[table["padded"] | table["cut"]].head(SHOWN).to_dict("records")
        changed: tuple[ChangedPair, ...] = typed(
            [{str(key): _shortened(value) for key, value in row.items()} for row in rows], tuple[ChangedPair, ...]
        )
        gaps = (table["perturbed"] - table["base"]) * (table["given_perturbed"] - table["given_base"])
        return cls(**vars(counts), other_sign=int((gaps < 0).sum()), changed=changed)

    def other_sign_sentences(self) -> list[str]:
        """What has to be said where the change of texts changed which side scores higher."""
        if not self.other_sign:
            return []
        return [
            f"in {self.other_sign} of the changed pairs the other side scores higher than with the texts as given"
        ]

    def add_to(self, report: Report, sentences: list[str]) -> None:
        """A section about the texts, where there are `sentences` about some that were not scored as given."""
        if not sentences:
            return
        report.heading("Texts that were not scored as given")
        for sentence in [*sentences, *self.other_sign_sentences()]:
            report.paragraph(f"{sentence[0].upper()}{sentence[1:]}.")
        count = self.pairs - self.as_given
        report.table(
            ["pair", "side", "as given", "its score", "as scored", "its score, as scored"],
            [row for one in self.changed for row in one.sides()],
            f"{min(SHOWN, count)} of {count} pairs; all are in {FILE}. Effects start from the texts as scored.",
        )


def write_pair_table(table: pd.DataFrame, folder: Path) -> Path:
    """pairs.parquet."""
    with whole_file(folder / FILE) as partial:
        table.to_parquet(partial, index=False)
    return folder / FILE


def _shortened(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > LETTERS
    return f"{value[:LETTERS]}… ({len(value)} characters)" if long else value
