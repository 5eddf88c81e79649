"""The rows of a sweep, one per pair and site: every statistic starts from these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyrank.axioms.pair import MinimalPair
from whyrank.core.atomic import whole_file
from whyrank.core.errors import UserError
from whyrank.encoders.site import SiteSet

if TYPE_CHECKING:
    import pandas as pd

FILE = "effects.parquet"
#: The columns of effects.parquet with their types; what does not apply is null.
COLUMNS = {
    "pair": "string", "qid": "string", "docid": "string", "axiom": "string", "variant": "string", "k": "Int64",
    "rank": "Int64", "term_present": "boolean", "method": "string", "direction": "string", "receiver": "string",
    "layer": "Int64", "head": "Int64", "site": "string", "position": "Int64", "category": "string",
    "base": "Float64", "perturbed": "Float64", "patched": "Float64", "effect": "Float64",
}  # fmt: skip


@dataclass(frozen=True)
class EffectTable:
    """A data frame with the columns of COLUMNS; millions of rows are never Python objects."""

    frame: pd.DataFrame

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]]) -> EffectTable:
        """The table of a few rows."""
        import pandas as pd

        frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
        return cls(frame.astype(COLUMNS))

    @classmethod
    def read(cls, table: Path | BytesIO) -> EffectTable:
        """The rows of an effects.parquet."""
        import pandas as pd

        try:
            return cls(pd.read_parquet(table, columns=list(COLUMNS)).astype(COLUMNS))
        except (OSError, ValueError, KeyError, TypeError) as error:
            where = table if isinstance(table, Path) else None
            raise UserError("not a table of effects, or a damaged one", where=where) from error

    @classmethod
    def joined(cls, several: Iterable[EffectTable]) -> EffectTable:
        import pandas as pd

        return cls(pd.concat([one.frame for one in several], ignore_index=True))

    def write(self, path: Path) -> None:
        with whole_file(path) as partial:
            self.frame.to_parquet(partial, index=False)

    def to_pandas(self) -> pd.DataFrame:
        return self.frame

    def scores_of_pairs(self) -> dict[str, tuple[float, float]]:
        """By pair, the scores of its baseline and its perturbed text."""
        rows = self.frame.drop_duplicates("pair")
        return dict(zip(rows["pair"], zip(rows["base"], rows["perturbed"], strict=True), strict=True))

    def __len__(self) -> int:
        return len(self.frame)


def effect_rows(
    pair: MinimalPair,
    outcomes: Sequence[tuple[SiteSet, str | None]],
    base: float,
    perturbed: float,
    patched: Sequence[float],
    *,
    names: Sequence[str],
    method: str,
    direction: str,
) -> Iterable[dict[str, Any]]:
    """The rows of one pair, whose tokens have the categories `names`, one per (patch, receiver); effect =
    patched - base, in score units."""
    shared = {
        "pair": pair.id, "qid": pair.qid, "docid": pair.docid, "axiom": pair.axiom, "variant": pair.variant,
        "k": pair.k, "rank": pair.rank, "term_present": None if pair.tf is None else pair.tf > 0,
        "method": method, "direction": direction, "base": base, "perturbed": perturbed,
    }  # fmt: skip
    for (patch, receiver), value in zip(outcomes, patched, strict=True):
        yield {**shared, **_place(patch, names), "receiver": receiver, "patched": value, "effect": value - base}


def _place(patch: SiteSet, names: Sequence[str]) -> dict[str, Any]:
    """A single site's layer, head and cut (at a position, the category of its token); a set has only its name, and
    its cut where all its sites share it."""
    only = patch.sites[0] if len(patch.sites) == 1 else None
    cuts = {site.at for site in patch}
    at = cuts.pop() if len(cuts) == 1 else None
    return {
        "site": str(patch),
        "layer": only.layer if only else None,
        "head": only.head if only else None,
        "position": at if isinstance(at, int) else None,
        "category": names[at] if isinstance(at, int) else at,
    }
