"""What a sweep found, as summary.json tells it: sites, splits, what was kept, how methods agree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from whyrank.axioms.same_score import noise, same_scores
from whyrank.core.errors import UserError
from whyrank.evaluation.map_correlation import map_correlation
from whyrank.interventions.statistics import (
    change_of,
    clusters,
    compare_maps,
    finite,
    summarise_sites,
    text_or_none,
)

if TYPE_CHECKING:
    import pandas as pd

KEEPS = ("all", "adherent")
#: Ranks in the baseline ranking; the papers' 'top 10%' and 'bottom 10%' of 100 are the first and the third.
RANK_BANDS = ((1, 10), (11, 90), (91, 100))
#: Of the sites with the largest effects, so many are compared between two methods.
LEADING = 10
EXACT, APPROXIMATE = "activation", "attribution"


def summarise(
    frame: pd.DataFrame,
    *,
    by: str | None = None,
    keep: str = "all",
    threshold: float | None = None,
    family: int | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """The summary of all rows; where there are exact rows and attributions, of the exact ones, and how both agree.

    A sweep by position is summed up by the category of the position's token: the mean over a pair's positions of a
    category, then over pairs. A gap that is only noise is 0, of which nothing is a share. `family` is the number
    of sites that were screened.
    """
    if keep not in KEEPS:
        raise UserError(f"cannot keep '{keep}'", todo=f"choose {' or '.join(KEEPS)}")
    frame = _without_noise(by_category(frame) if by == "position" else frame)
    both = {EXACT, APPROXIMATE} <= set(frame["method"])
    screened = both and family is not None
    rows = main_rows(frame, screened)
    main = rows["method"].iloc[0]
    kept = kept_rows(rows, keep)
    sites = summarise_sites(kept, threshold=threshold, family=family if screened else None, seed=seed)
    told: dict[str, Any] = {
        "method": main,
        "direction": rows["direction"].iloc[0],
        "receiver": text_or_none(rows["receiver"].iloc[0]),
        "by": by,
        "pairs": int(kept["pair"].nunique()),
        "queries": int(clusters(kept).nunique()),
        "gap": _gap(kept),
        "keep": _effect_of_keeping(rows, keep),
        "sites": [site.to_json() for site in sites],
        "splits": {
            name: {
                value: [
                    site.to_json()
                    for site in summarise_sites(
                        some, threshold=threshold, family=family if screened else None, seed=seed
                    )
                ]
                for value, some in values.items()
            }
            for name, values in splits(kept).items()
        },
        "between_axioms": _between_axioms(kept, seed),
        "agreement": _agreement(frame[frame["method"] == APPROXIMATE], frame[frame["method"] == EXACT])
        if both
        else None,
        "screen": {"of": family, "kept": len(sites)} if screened else None,
    }
    return told


def _without_noise(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the same score for both sides of a pair where they differ by noise only."""
    least = noise([frame["base"].abs().max(), frame["perturbed"].abs().max()])
    same = (frame["perturbed"] - frame["base"]).abs() <= least
    return frame.assign(perturbed=frame["perturbed"].where(~same, frame["base"])) if same.any() else frame


def main_rows(frame: pd.DataFrame, screened: bool | None = None) -> pd.DataFrame:
    """The rows of one method: of attribution and exact patching, the exact ones if attribution only chose the
    sites (then there are fewer), the attributions if exact patching only checked them."""
    exact, approximate = frame[frame["method"] == EXACT], frame[frame["method"] == APPROXIMATE]
    if exact.empty or approximate.empty:
        return frame
    if screened is None:
        screened = exact["site"].nunique() < approximate["site"].nunique()
    return exact if screened else approximate


def by_category(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows of positions as one row a pair, site and category: the mean over the positions."""
    at = frame["position"].notna()
    names = [
        re.sub(r"@\d+", f"@{category}", site) if here else site
        for site, category, here in zip(frame["site"], frame["category"], at, strict=True)
    ]
    renamed = frame.assign(site=names)
    values = ["patched", "effect"]
    keys = ["pair", "method", "site"]
    first = {column: "first" for column in frame.columns if column not in (*values, *keys, "position")}
    grouped = renamed.groupby(keys, sort=False, as_index=False).agg({**first, **dict.fromkeys(values, "mean")})
    return grouped.assign(position=None)


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


def kept_rows(rows: pd.DataFrame, keep: str) -> pd.DataFrame:
    kept = rows if keep == "all" else rows[rows["perturbed"] > rows["base"]]
    if kept.empty:
        raise UserError("no pair's perturbed side scores higher", todo="--keep all keeps every pair")
    return kept


def _effect_of_keeping(rows: pd.DataFrame, keep: str) -> dict[str, Any]:
    """How many pairs a filter leaves, and what it does to the map of effects."""
    adherent = rows[rows["perturbed"] > rows["base"]]
    told: dict[str, Any] = {
        "rule": keep,
        "pairs": int(rows["pair"].nunique()),
        "adherent": int(adherent["pair"].nunique()),
        "correlation_with_all": None,
        "largest_change": None,
    }
    if len(adherent) and len(adherent) < len(rows):
        correlation, maps = compare_maps(rows, adherent, draws=1)
        told["correlation_with_all"] = finite(correlation.pearson)
        changes = [
            (abs(b - a), site, a, b) for site, a, b in maps if finite(a) is not None and finite(b) is not None
        ]
        if changes:
            _, site, before, after = max(changes)
            told["largest_change"] = {"site": site, "all": before, "adherent": after}
    return told


def _between_axioms(frame: pd.DataFrame, seed: int) -> list[dict[str, Any]]:
    """The correlation of the maps of each two axioms in the rows."""
    axioms, found = sorted(frame["axiom"].dropna().unique()), []
    for i, one in enumerate(axioms):
        for other in axioms[i + 1 :]:
            mine, theirs = frame[frame["axiom"] == one], frame[frame["axiom"] == other]
            correlation, _ = compare_maps(mine, theirs, seed=seed)
            found.append({"of": one, "with": other, **correlation.to_json()})
    return found


def _agreement(approximate: pd.DataFrame, exact: pd.DataFrame) -> dict[str, Any]:
    """Attribution against exact patching on the pairs and sites that have both."""
    approximate, exact = (one.assign(change=change_of(one)) for one in (approximate, exact))
    joined = approximate.merge(exact, on=["pair", "site"], suffixes=("_approximate", "_exact"))
    columns = ["change_approximate", "change_exact"]
    maps = joined.groupby("site", sort=False)[columns].mean()
    correlation, points = compare_maps(*(_same(one, joined) for one in (approximate, exact)))
    leading = [set(maps[column].abs().nlargest(LEADING).index) for column in columns]
    return {
        "pairs": int(joined["pair"].nunique()),
        "rows": len(joined),
        "pearson_rows": finite(map_correlation(*joined[columns].to_numpy(dtype=float).T)),
        "map": correlation.to_json(),
        "leading": {"of": min(LEADING, len(maps)), "shared": len(leading[0] & leading[1])},
        "points": [{"site": site, "attribution": finite(a), "exact": finite(b)} for site, a, b in points],
    }


def _same(frame: pd.DataFrame, joined: pd.DataFrame) -> pd.DataFrame:
    return frame.merge(joined[["pair", "site"]], on=["pair", "site"])


def _gap(rows: pd.DataFrame) -> dict[str, float]:
    pairs = rows.drop_duplicates("pair")
    gaps = pairs["perturbed"] - pairs["base"]
    return {
        "mean": float(gaps.mean()),
        "median": float(gaps.median()),
        "base": float(pairs["base"].mean()),
        "perturbed": float(pairs["perturbed"].mean()),
        "same": same_scores(list(zip(pairs["base"], pairs["perturbed"], strict=True))),
    }
