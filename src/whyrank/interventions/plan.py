"""Which sites a sweep patches: `heads`, `blocks`, or sets of sites by name; whole, or by position or category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from whyrank.core.errors import UserError
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import BLOCK_PARTS, Site, SiteSet
from whyrank.text.categories import CATEGORIES

CUTS = ("position", "category")


@dataclass(frozen=True)
class SitePlan:
    """Sets of sites, and how each is cut down for a pair (`by`: None, position or category)."""

    sets: tuple[SiteSet, ...]
    by: str | None = None

    @classmethod
    def parse(
        cls, text: str, encoder: Encoder, by: str | None = None, keep: Callable[[SiteSet], bool] | None = None
    ) -> SitePlan:
        """`heads` (every head's output), `blocks` (residual stream, attention and MLP output of every layer), or
        sets of sites with commas between them. Of `heads` and `blocks`, those that `keep` accepts."""
        if by not in (None, *CUTS):
            raise UserError(f"cannot cut by '{by}'", todo=f"choose {' or '.join(CUTS)}")
        named = {"heads": _heads, "blocks": _blocks}.get(text.strip())
        if named:
            sets = tuple(one for one in named(encoder) if keep is None or keep(one))
        else:
            sets = tuple(dict.fromkeys(SiteSet.parse(part.strip()) for part in text.split(",")))
        for site in (site for one in sets for site in one):
            site.check(encoder.layers, encoder.heads)
            if by and site.at is not None:
                raise UserError(f"{site} names a position already", todo=f"drop by='{by}'")
        return cls(sets, by)

    def patches(self, categories: Sequence[str]) -> list[SiteSet]:
        """The sets for a pair whose tokens have these categories; what it lacks is dropped."""
        if self.by is None:
            present = {*categories}
            return [one for one in self.sets if all(_is_there(site, present, len(categories)) for site in one)]
        places: Sequence[int | str] = range(len(categories))
        if self.by == "category":
            places = [name for name in CATEGORIES if name in set(categories)]
        return [SiteSet(tuple(replace(site, at=at) for site in one)) for one in self.sets for at in places]


def _is_there(site: Site, present: set[str], length: int) -> bool:
    return site.at is None or (site.at < length if isinstance(site.at, int) else site.at in present)


def _heads(encoder: Encoder) -> list[SiteSet]:
    return [SiteSet((Site("z", layer, head),)) for layer in range(encoder.layers) for head in range(encoder.heads)]


def _blocks(encoder: Encoder) -> list[SiteSet]:
    return [SiteSet((Site(part, layer),)) for layer in range(encoder.layers) for part in BLOCK_PARTS]
