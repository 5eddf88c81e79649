"""Which rows of a sweep count, and apart by what: one method's, kept pairs, positions by category, splits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whyrank.axioms.same_score import noise
from whyrank.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

KEEPS = ("all", "adherent")
EXACT, APPROXIMATE = "activation", "attribution"
#: Ranks in the baseline ranking; the papers' 'top 10%' and 'bottom 10%' of 100 are the first and the third.
RANK_BANDS = ((1, 10), (11, 90), (91, 100))


def check_keep(keep: str) -> None:
    if keep not in KEEPS:
        raise UserError(f"keep cannot be '{keep}'", todo=f"choose {' or '.join(KEEPS)}")


def kept_rows(rows: pd.DataFrame, keep: str) -> pd.DataFrame:
    """All rows, or those of pairs whose perturbed side scores higher."""
    kept = rows if keep == "all" else rows[rows["perturbed"] > rows["base"]]
    if kept.empty:
        raise UserError("no pair's perturbed side scores higher", todo="keep all pairs")
    return kept


def main_rows(frame: pd.DataFrame, screened: bool | None = None) -> pd.DataFrame:
    """The rows of one method: of attribution and exact patching, the exact ones if attribution only chose the
    sites (then there are fewer), the attributions if exact patching only checked them."""
    exact, approximate = frame[frame["method"] == EXACT], frame[frame["method"] == APPROXIMATE]
    if exact.empty or approximate.empty:
        return frame
    if screened is None:
        screened = exact["site"].nunique() < approximate["site"].nunique()
    return exact if screened else approximate


def without_noise(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the same score for both sides of a pair where they differ by noise only."""
    least = noise([frame["base"].abs().max(), frame["perturbed"].abs().max()])
    same = (frame["perturbed"] - frame["base"]).abs() <= least
    return frame.assign(perturbed=frame["perturbed"].where(~same, frame["base"])) if same.any() else frame


def by_category(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of positions as one row per pair, site and category: the mean over the positions."""
    values, keys = ["patched", "effect"], ["pair", "method", "site"]
    first = {column: "first" for column in frame.columns if column not in (*values, *keys, "position")}
    grouped = frame.assign(site=_sites_by_category(frame)).groupby(keys, sort=False, as_index=False)
    return grouped.agg({**first, **dict.fromkeys(values, "mean")}).assign(position=None)


def _sites_by_category(frame: pd.DataFrame) -> pd.api.extensions.ExtensionArray:
    """Each row's site with the category in place of the position, renamed once per site and category."""
    import numpy as np
    import pandas as pd

    categories = frame["category"].where(frame["position"].notna())
    (site, sites), (category, names) = pd.factorize(frame["site"]), pd.factorize(categories)
    known, place = np.unique(site * (len(names) + 1) + category + 1, return_inverse=True)
    renamed = [
        re.sub(r"@\d+", f"@{names[code % (len(names) + 1) - 1]}", name) if code % (len(names) + 1) else name
        for code, name in ((code, sites[code // (len(names) + 1)]) for code in known)
    ]
    return pd.array(renamed, dtype="string").take(place)


def splits(frame: pd.DataFrame) -> dict[str, dict[str, pd.DataFrame]]:
    """The rows apart by rank band, term present, axiom, variant and k, where there is more than one of each."""
    found: dict[str, dict[str, pd.DataFrame]] = {}
    for name, groups in _groups(frame):
        some = {value: rows for value, rows in groups.items() if len(rows)}
        if len(some) > 1:
            found[name] = some
    return found


def _groups(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, pd.DataFrame]]]:
    bands = {f"{low}-{high}": frame[frame["rank"].between(low, high)] for low, high in RANK_BANDS}
    yield "rank", {**bands, "101 and below": frame[frame["rank"] > RANK_BANDS[-1][1]]}
    for name in ("term_present", "axiom", "k"):
        values = frame[name].dropna().unique()
        yield name, {_name(value): frame[frame[name] == value] for value in sorted(values)}
    named = frame["axiom"] + ":" + frame["variant"]
    yield "variant", {str(value): frame[named == value] for value in sorted(named.dropna().unique())}


def _name(value: Any) -> str:
    return {"True": "yes", "False": "no"}.get(str(value), str(value))
