"""What a training learned from, chose by and tested on, in a sentence or two for its report."""

from __future__ import annotations

from typing import Any

from whyrank.pages.numbers import span

#: What each part is for.
SAID = {"train": "learned from", "validation": "chosen by", "test": "tested on"}


def judgements_used(told: dict[str, Any]) -> str:
    """How the judgements were parted, and how many queries and judgements each part has (over the folds)."""
    parts = []
    for number, (part, said) in enumerate(SAID.items()):
        rows = [fold[number] for fold in told["folds"]]
        assert all(row["part"] == part for row in rows)
        sizes = f"{span([row['queries'] for row in rows])} queries, {span([row['judgements'] for row in rows])}"
        parts.append(f"{said} {rows[0]['source']}: {sizes} judgements")
    how = told["how"]
    return f"{how[:1].upper()}{how[1:]}. {'; '.join(parts)[:1].upper()}{'; '.join(parts)[1:]}."
