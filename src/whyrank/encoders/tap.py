"""Reading and replacing values while a forward pass runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from whyrank.core.errors import UserError
from whyrank.encoders.site import Site

#: What may stand in for a site's value: a tensor that broadcasts to the site's shape, or a number.
Value = Tensor | float


class Tap:
    """The sites to read and the values to put in, looked up by (part, layer) as the pass comes by.

    A replacement has (or broadcasts to) the shape of its site over all positions; where the site names a
    position or a category, only those rows are taken from it. Reads see what replacements left.
    """

    def __init__(
        self,
        read: Iterable[Site] = (),
        replace: Mapping[Site, Value] | None = None,
        categories: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.values: dict[Site, Tensor] = {}
        self._categories = categories or {}
        self._read: defaultdict[tuple[str, int | None], list[Site]] = defaultdict(list)
        self._replace: defaultdict[tuple[str, int | None], list[tuple[Site, Value]]] = defaultdict(list)
        for site in read:
            self._read[site.part, site.layer].append(site)
        for site, value in (replace or {}).items():
            self._replace[site.part, site.layer].append((site, value))

    @property
    def sites(self) -> Iterable[Site]:
        yield from (site for sites in self._read.values() for site in sites)
        yield from (site for pairs in self._replace.values() for site, _ in pairs)

    def touches(self, layer: int, *parts: str) -> bool:
        """Whether any site (of these parts, if named) of this layer is read or replaced."""
        return any(site.layer == layer and (not parts or site.part in parts) for site in self.sites)

    def __call__(self, part: str, layer: int | None, x: Tensor) -> Tensor:
        for site, value in self._replace.get((part, layer), ()):
            x = self._put(x, site, value)
        for site in self._read.get((part, layer), ()):
            self.values[site] = self._take(x, site)
        return x

    def _take(self, x: Tensor, site: Site) -> Tensor:
        """All rows [B, S, .]; one row [B, .] at a position; the chosen rows [n, .] of a category."""
        x = x if site.head is None else x[:, site.head]
        rows = self._rows(site)
        return x if rows is None else x[:, rows] if isinstance(rows, int) else x[rows]

    def _put(self, x: Tensor, site: Site, value: Value) -> Tensor:
        x = x.clone()
        target = x if site.head is None else x[:, site.head]
        value = torch.as_tensor(value, dtype=x.dtype, device=x.device).expand_as(target)
        rows = self._rows(site)
        if rows is None:
            target.copy_(value)
        elif isinstance(rows, int):
            target[:, rows] = value[:, rows]
        else:
            target.copy_(torch.where(rows[..., None], value, target))
        return x

    def _rows(self, site: Site) -> int | Tensor | None:
        """Which rows the site is cut to: all, one, or those of a category [B, S]."""
        if site.at is None or isinstance(site.at, int):
            return site.at
        if site.at in self._categories:
            return self._categories[site.at]
        if site.at == "cls":
            return 0
        raise UserError(f"{site}: which tokens are '{site.at}' is not known here", todo="pass categories")
