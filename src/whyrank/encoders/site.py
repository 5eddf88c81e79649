"""Sites: places in an encoder, as immutable values that print as they parse.

`embed`, `L4.resid` (the block's input), `L4.attn`, `L4.mlp`, `L4.H9.q|k|v|z|pattern`, `logits`, each with
an optional position or token category: `L4.H9.z@17`, `L4.resid@cls`. `4.9` is short for `L4.H9.z`.
Sites joined by `+` are one set, replaced together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from whyrank.core.errors import UserError
from whyrank.text.categories import CATEGORIES

#: Parts of a whole block; `attn` and `mlp` are what the sublayer adds, before the sum and any LayerNorm.
BLOCK_PARTS = ("resid", "attn", "mlp")
#: Parts of one head; `z` is the head's output before the output projection.
HEAD_PARTS = ("q", "k", "v", "z", "pattern")

_SITE = re.compile(
    rf"""(?:(?P<whole>embed|logits)
        |L(?P<block_layer>\d+)\.(?P<block>{"|".join(BLOCK_PARTS)})
        |L(?P<head_layer>\d+)\.H(?P<head>\d+)\.(?P<part>{"|".join(HEAD_PARTS)})
        |(?P<short_layer>\d+)\.(?P<short_head>\d+))
        (?:@(?P<at>\d+|{"|".join(map(re.escape, CATEGORIES))}))?""",
    re.VERBOSE,
)
_HOW = "write embed, L4.resid, L4.attn, L4.mlp, L4.H9.q|k|v|z|pattern, 4.9 or logits, then @17 or @inj if wanted"


@dataclass(frozen=True)
class Site:
    """One place: the part, its layer and head where it has them, and the position or category it is cut to."""

    part: str
    layer: int | None = None
    head: int | None = None
    at: int | str | None = None

    @classmethod
    def parse(cls, text: str) -> Site:
        """The site that `text` names."""
        match = _SITE.fullmatch(text.strip())
        if not match:
            raise UserError(f"'{text}' is not a site", todo=_HOW)
        return cls._from(match)

    @classmethod
    def _from(cls, match: re.Match[str]) -> Site:
        part = match["whole"] or match["block"] or match["part"] or "z"
        layer = match["block_layer"] or match["head_layer"] or match["short_layer"]
        head = match["head"] or match["short_head"]
        at = int(match["at"]) if match["at"] and match["at"].isdigit() else match["at"]
        return cls(part, _int(layer), _int(head), at)

    def __str__(self) -> str:
        layer = "" if self.layer is None else f"L{self.layer}."
        head = "" if self.head is None else f"H{self.head}."
        return f"{layer}{head}{self.part}" + ("" if self.at is None else f"@{self.at}")

    def check(self, layers: int, heads: int) -> None:
        """Raises when an encoder of this size has no such place."""
        if self.layer is not None and self.layer >= layers:
            raise UserError(f"{self}: the model has no layer {self.layer}", todo=f"layers are 0 to {layers - 1}")
        if self.head is not None and self.head >= heads:
            raise UserError(f"{self}: the model has no head {self.head}", todo=f"heads are 0 to {heads - 1}")


@dataclass(frozen=True)
class SiteSet:
    """Sites that are read or replaced together, written with `+` between them."""

    sites: tuple[Site, ...]

    @classmethod
    def parse(cls, text: str) -> SiteSet:
        """The sites that `text` joins; the `+` of `@qterm+` is the category's own."""
        sites, end = [], 0
        while True:
            match = _SITE.match(text, end)
            if not match:
                raise UserError(f"'{text}' is not a set of sites (at '{text[end:]}')", todo=_HOW)
            sites.append(Site._from(match))
            end = match.end()
            if end == len(text):
                return cls(tuple(sites))
            if text[end] != "+":
                raise UserError(f"'{text}' is not a set of sites (at '{text[end:]}')", todo="join sites with +")
            end += 1

    def __str__(self) -> str:
        return "+".join(map(str, self.sites))

    def __iter__(self) -> Iterator[Site]:
        return iter(self.sites)


def short_name(name: str) -> str:
    """`10.1` for `L10.H1` or `L10.H1.z`; anything else stays as it is."""
    match = re.fullmatch(r"L(\d+)\.H(\d+)(?:\.z)?", name)
    return f"{match[1]}.{match[2]}" if match else name


def _int(digits: str | None) -> int | None:
    return None if digits is None else int(digits)
