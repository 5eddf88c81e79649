"""What a report and a manifest say of pairs whose texts were not scored as they were given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.core.atomic import whole_file
from whyrank.pages.page import Cell, Report

if TYPE_CHECKING:
    import pandas as pd

    from whyrank.axioms.scored_pair import TextCounts

#: The table of a run folder with one row per pair: the texts that were scored, those given, and their scores.
FILE = "pairs.parquet"
#: Changed pairs shown, and letters of each of their texts; all are whole in the table.
SHOWN, LETTERS = 20, 2000


def write_pair_table(table: pd.DataFrame, folder: Path) -> Path:
    """pairs.parquet."""
    with whole_file(folder / FILE) as partial:
        table.to_parquet(partial, index=False)
    return folder / FILE


def texts_json(counts: TextCounts, table: pd.DataFrame) -> dict[str, Any]:
    """For the manifest: the counts, and the first pairs whose texts are not those given, with both scores."""
    shown = [{key: _short(value) for key, value in row.items()} for row in _changed(table)[:SHOWN]]
    return {**counts.to_json(), "other_sign": len(_turned(table)), "changed": shown}


def turned_sentence(texts: dict[str, Any]) -> list[str]:
    """What has to be said where the change of texts turned which side scores higher."""
    count = texts["other_sign"]
    if not count:
        return []
    return [f"in {count} of the changed pairs the other side scores higher than with the texts as given"]


def add_texts(report: Report, texts: dict[str, Any], sentences: list[str]) -> None:
    """A section about the texts, where some were not scored as given."""
    if not sentences:
        return
    report.heading("Texts that were not scored as given")
    for told in [*sentences, *turned_sentence(texts)]:
        report.paragraph(f"{told[0].upper()}{told[1:]}.")
    rows: list[list[Cell]] = [
        [one["pair"], side, one[f"given_{side}_text"], one[f"given_{score}"], one[f"{side}_text"], one[score]]
        for one in texts["changed"]
        for side, score in (("baseline", "base"), ("perturbed", "perturbed"))
        if one[f"given_{side}_text"] != one[f"{side}_text"]
    ]
    columns = ["pair", "side", "as given", "its score", "as scored", "its score, as scored"]
    changed = texts["pairs"] - texts["as_given"]
    told = f"{min(SHOWN, changed)} of {changed} pairs; all are in {FILE}. Effects start from the texts as scored."
    report.table(columns, rows, told)


def _turned(table: pd.DataFrame) -> list[int]:
    """The rows whose gap has the other sign with the texts as given."""
    gaps = (table["perturbed"] - table["base"]) * (table["given_perturbed"] - table["given_base"])
    return list(table.index[gaps < 0])


def _short(value: Any) -> Any:
    long = isinstance(value, str) and len(value) > LETTERS
    return f"{value[:LETTERS]}… ({len(value)} letters)" if long else value


def _changed(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table[table["padded"] | table["cut"]]
    return [{str(key): value for key, value in row.items()} for row in rows.to_dict("records")]
