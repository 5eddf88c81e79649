"""An attention head as a value: `L10.H1`, or `10.1` for short."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from whyrank.core.errors import UserError, quoted
from whyrank.encoders.encoder import Encoder
from whyrank.encoders.site import Site, SiteSet

_HEAD = re.compile(r"L?([0-9]{1,4})\.H?([0-9]{1,4})(?:\.z)?")


class Head(NamedTuple):
    """One head; heads sort by layer."""

    layer: int
    head: int

    @classmethod
    def parse(cls, text: str) -> Head:
        match = _HEAD.fullmatch(text.strip())
        if not match:
            raise UserError(f"{quoted(text)} is not a head", todo="write 10.1 or L10.H1")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"L{self.layer}.H{self.head}"

    @property
    def short(self) -> str:
        return f"{self.layer}.{self.head}"

    def site(self, part: str = "z") -> Site:
        return Site(part, self.layer, self.head)


def parse_heads(text: str, encoder: Encoder) -> list[Head]:
    """Heads with commas between them, each of which the encoder must have."""
    heads = list(dict.fromkeys(Head.parse(part) for part in text.split(",") if part.strip()))
    for head in heads:
        head.site().check(encoder.layers, encoder.heads)
    return heads


def all_heads(encoder: Encoder) -> list[Head]:
    return [Head(layer, head) for layer in range(encoder.layers) for head in range(encoder.heads)]


def together(heads: Iterable[Head], part: str = "z") -> SiteSet:
    """One set of sites: that part of all these heads."""
    return SiteSet(tuple(head.site(part) for head in heads))
