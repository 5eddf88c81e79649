"""Which sites a sweep patches: `heads`, `blocks`, or sets of sites by name; whole, or by position or category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import BLOCK_PARTS, Site, SiteSet
from whyrank.errors import UserError
from whyrank.text.categories import CATEGORIES

CUTS = ("position", "category")


@dataclass(frozen=True)
class SitePlan:
    """Sets of sites, and how each is cut down for a pair (`by`: None, position or category)."""

    sets: tuple[SiteSet, ...]
    by: str | None = None

    @classmethod
    def parse(cls, text: str, encoder: Encoder, by: str | None = None) -> SitePlan:
        """`heads` (every head's output), `blocks` (residual stream, attention and MLP output of every layer), or
        sets of sites with commas between them."""
        if by not in (None, *CUTS):
            raise UserError(f"cannot cut by '{by}'", todo=f"choose {' or '.join(CUTS)}")
        named = {"heads": _heads(encoder), "blocks": _blocks(encoder)}
        sets = named.get(text.strip()) or tuple(SiteSet.parse(part.strip()) for part in text.split(","))
        for site in (site for one in sets for site in one):
            site.check(encoder.layers, encoder.heads)
            if by and site.at is not None:
                raise UserError(f"{site} names a position already", todo=f"leave --by {by} out")
        return cls(sets, by)

    def patches(self, categories: Sequence[str]) -> list[SiteSet]:
        """The sets for a pair whose tokens have these categories; a category that it lacks is left out."""
        if self.by is None:
            present = {*categories}
            return [one for one in self.sets if all(_is_there(site, present) for site in one)]
        places: Sequence[int | str] = range(len(categories))
        if self.by == "category":
            places = [name for name in CATEGORIES if name in set(categories)]
        return [SiteSet(tuple(replace(site, at=at) for site in one)) for one in self.sets for at in places]


def _is_there(site: Site, present: set[str]) -> bool:
    return not isinstance(site.at, str) or site.at in present


def _heads(encoder: Encoder) -> tuple[SiteSet, ...]:
    return tuple(
        SiteSet((Site("z", layer, head),)) for layer in range(encoder.layers) for head in range(encoder.heads)
    )


def _blocks(encoder: Encoder) -> tuple[SiteSet, ...]:
    return tuple(SiteSet((Site(part, layer),)) for layer in range(encoder.layers) for part in BLOCK_PARTS)
