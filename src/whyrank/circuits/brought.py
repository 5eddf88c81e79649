"""A circuit that a user brings: heads by role, in words, in a file, from another run, or a paper's by name.

    matching=0.8,1.7; scoring=10.1,10.4; contextualization=8.10

Heads without a role (`0.8,1.7,10.1`) get those whose tests they pass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from whyrank.circuits import known
from whyrank.circuits.head import Head
from whyrank.circuits.results import OTHER, ROLES, Circuit, read_roles
from whyrank.core.errors import UserError, located, quoted
from whyrank.rankers.cross_encoder import CrossEncoder

PAPER = "paper"
EXAMPLE = "write matching=0.8,1.7;scoring=10.1"
#: Heads alone, without roles, and not the name of a file.
_LIKE_HEADS = re.compile(r"[\d.,;\sLHz]+")


@dataclass(frozen=True)
class BroughtHeads:
    """The heads, and by role where roles were named; `name` says whose they are."""

    name: str
    heads: tuple[Head, ...]
    roles: tuple[tuple[str, tuple[Head, ...]], ...] | None = None

    @classmethod
    def of(cls, given: str | Path | Mapping[str, object] | Circuit, ranker: CrossEncoder) -> BroughtHeads:
        """Text, a file that holds such text, a run folder or a circuit.json, `paper`, a result, or heads by role;
        all of them must be heads of this ranker."""
        if isinstance(given, Circuit):
            found = cls._by_role(given.name or "a circuit", given.roles)
        elif isinstance(given, Mapping):
            found = cls._by_role("given", given)
        elif str(given).strip() == PAPER and not Path(PAPER).exists():
            _check_papers_model(ranker)
            return cls._by_role("the paper's", known.ROLES)
        else:
            found = cls._from_text_or_file(given)
        for head in found.heads:
            head.site().check(ranker.encoder.layers, ranker.encoder.heads)
        return found

    @classmethod
    def _from_text_or_file(cls, given: str | Path) -> BroughtHeads:
        text = str(given)
        if not text.strip():
            raise UserError("no heads", todo=EXAMPLE)
        path = Path(given)
        if not _exists(path):
            if "=" in text or _LIKE_HEADS.fullmatch(text):
                return cls.parse(text)
            raise UserError(f"{quoted(text)} is neither heads nor a file of them", todo=EXAMPLE)
        if path.is_dir() or path.name == Circuit.FILE:
            folder = path if path.is_dir() else path.parent
            return cls._by_role(str(folder), read_roles(folder))
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError) as error:
            raise UserError("not a file of heads", where=path, todo=EXAMPLE) from error
        with located(path):
            return cls.parse(text, path.name)

    @classmethod
    def parse(cls, text: str, name: str = "given") -> BroughtHeads:
        """Heads by role, with semicolons or line ends between roles and commas or spaces between heads; or heads
        alone. What follows a # is a comment."""
        lines = [line.partition("#")[0] for line in text.splitlines()]
        parts = [part.strip() for line in lines for part in line.split(";") if part.strip()]
        if not parts:
            raise UserError("no heads", todo=EXAMPLE)
        if not any("=" in part for part in parts):
            heads = _heads(" ".join(parts), "heads")
            return cls(name, tuple(sorted(heads)))
        by_role: dict[str, list[Head]] = {}
        for part in parts:
            role, equals, some = part.partition("=")
            role = role.strip().lower()
            if not equals:
                raise UserError(f"{quoted(part)} names no role", todo=EXAMPLE)
            if role in by_role:
                raise UserError(f"the role {role} stands twice", todo="name all of its heads at once")
            by_role[role] = _heads(some, role)
        return cls._by_role(name, by_role)

    @classmethod
    def _by_role(cls, name: str, roles: Mapping[str, object]) -> BroughtHeads:
        by_role: dict[str, tuple[Head, ...]] = {}
        for role, some in roles.items():
            if role not in ROLES:
                raise UserError(f"no role is called {quoted(role)}", todo=f"roles are {', '.join(ROLES)}")
            by_role[role] = tuple(
                Head.parse(str(one)) for one in (some if isinstance(some, list | tuple) else [some])
            )
        heads = tuple(sorted({head for some in by_role.values() for head in some}))
        if not heads:
            raise UserError("no heads", todo=EXAMPLE)
        return cls(name, heads, tuple((role, by_role.get(role, ())) for role in ROLES))

    def by_role(self) -> dict[str, list[Head]] | None:
        """The heads of each role; None where no role was named."""
        if self.roles is None:
            return None
        found = {role: sorted(set(heads)) for role, heads in self.roles}
        named = {head for role, heads in found.items() if role != OTHER for head in heads}
        found[OTHER] = [head for head in found[OTHER] if head not in named]
        return found


def _heads(text: str, what: str) -> list[Head]:
    heads = [Head.parse(part) for part in text.replace(",", " ").split()]
    if not heads:
        raise UserError(f"{what}: no heads", todo=EXAMPLE)
    twice = next((head for i, head in enumerate(heads) if head in heads[:i]), None)
    if twice:
        raise UserError(f"{what}: {twice.short} stands twice", todo="name each head once")
    return heads


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # longer than a name may be
        return False


def _check_papers_model(ranker: CrossEncoder) -> None:
    encoder = ranker.encoder
    shape = (encoder.layers, encoder.heads, encoder.width)
    todo = f"if they are its heads, name them: '{known.text()}'"
    if shape != known.SHAPE:
        what = f"{shape[0]} layers of {shape[1]} heads, width {shape[2]}"
        raise UserError(
            f"the paper's heads are of {known.PAPERS_MODEL[1]}; {ranker.name} has {what}",
            todo="name its own heads",
        )
    if not known.is_papers_model(ranker.name):
        raise UserError(f"the paper's heads are of {known.PAPERS_MODEL[1]}, not of {ranker.name}", todo=todo)
