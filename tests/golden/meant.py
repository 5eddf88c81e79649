"""Every difference from the frozen results that is meant, and why."""

from typing import NamedTuple


class Meant(NamedTuple):
    """Cases and differences by `fnmatch` patterns of their names and lines."""

    case: str
    what: str
    why: str


MEANT: list[Meant] = []
