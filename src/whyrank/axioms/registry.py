"""Axioms by name: those of this package, those that other packages bring, and classes of your own.

parse_axiom("TFC1:prepend")              of this package
parse_axiom("SHOUT")                     of a package with an entry point in the group `whyrank.axioms`
parse_axiom("my_module:Shouting")        a class in a module that can be imported
parse_axiom("./my_axioms.py:Shouting")   a class in a file
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from whyrank.axioms.axiom import Axiom, range_of
from whyrank.core.errors import UserError, nearest

#: How names of axioms begin, in the order in which reports show them.
FAMILIES = ("TFC", "M-TDC", "TDC", "STMC", "LNC", "TP")
#: How a file of this package says that it holds an axiom.
_DEFINES = re.compile(r"^class \w+\(Axiom\)", re.MULTILINE)
#: The entry points with which other packages bring axioms: NAME = "module:Class".
GROUP = "whyrank.axioms"
#: Classes that were named by module or file, under their own name, so that what is printed can be read again.
_named: dict[str, type[Axiom]] = {}


@cache
def own_axioms() -> dict[str, type[Axiom]]:
    """The axioms of this package, by name: each file that holds one is found by itself."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    names = [file.stem for file in files if _DEFINES.search(file.read_text(encoding="utf-8"))]
    modules = [import_module(f"whyrank.axioms.{name}") for name in names]
    found = [cls for module in modules for cls in vars(module).values() if _defined_in(module, cls)]
    return {cls.name: cls for cls in sorted(found, key=lambda cls: (_family(cls.name), cls.name))}


def _defined_in(module: ModuleType, value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Axiom) and value.__module__ == module.__name__


def _family(name: str) -> int:
    """The place of a name's family; of others, the last."""
    return next((i for i, family in enumerate(FAMILIES) if name.startswith(family)), len(FAMILIES))


def axiom_class(name: str) -> type[Axiom]:
    """The class registered under a name, however it is capitalised."""
    wanted = name.strip().lower()
    for known, cls in (own_axioms() | _named).items():
        if known.lower() == wanted:
            return cls
    for point in installed():
        if point.name.lower() == wanted:
            return _checked(point.load(), point.value)
    raise UserError(f"unknown axiom '{name.strip()}'", todo=nearest(name.strip().upper(), known_axioms()))


def installed() -> list[EntryPoint]:
    """What other packages bring."""
    return list(entry_points(group=GROUP))


def known_axioms() -> list[str]:
    """All names, those of this package first."""
    return list(dict.fromkeys([*own_axioms(), *(point.name for point in installed())]))


def meanings() -> dict[str, str]:
    """What each axiom asks, by name: those of this package, of other packages, and those named so far."""
    classes = own_axioms() | _named
    for point in installed():
        with suppress(Exception):  # a package that cannot be loaded is no reason to have no report
            classes[point.name] = _checked(point.load(), point.value)
    return {name: cls.meaning for name, cls in classes.items() if cls.meaning}


def parse_axiom(text: str) -> Axiom:
    """`TFC1` (its first variant), `TFC1:prepend` or `TFC2:marginal:most=5`."""
    cls, rest = _class_and_rest(text)
    variants = [part for part in rest if "=" not in part]
    given = [part.split("=", 1) for part in rest if "=" in part]
    if len(variants) > 1 or len(dict(given)) < len(given):
        raise UserError(f"'{text.strip()}' says something twice", todo="write NAME:VARIANT:PARAMETER=VALUE")
    return cls("".join(variants), **{key.strip(): _value(cls, key.strip(), value) for key, value in given})


def parse_axioms(text: str) -> list[Axiom]:
    """Axioms with commas between them; `TFC1:*` is all variants of one, `all` all of all."""
    every = text.strip().lower() == "all"
    found: list[Axiom] = []
    for part in [f"{name}:*" for name in known_axioms()] if every else text.split(","):
        cls, rest = _class_and_rest(part)
        several = cls.variants if rest[:1] == ["*"] else ()
        found += [parse_axiom(":".join([_name_in(part, rest), one, *rest[1:]])) for one in several]
        found += [] if several else [parse_axiom(part)]
    return list(dict.fromkeys(found))


def _class_and_rest(text: str) -> tuple[type[Axiom], list[str]]:
    """The class that a text names, and what follows: its variant and parameters."""
    name, *rest = (part.strip() for part in text.split(":"))
    try:
        return axiom_class(name), rest
    except UserError as error:
        if not (rest and rest[0].isidentifier()):
            raise
        module = _module(name)
        if module is None and rest[0][0].isupper():  # a class, no variant
            raise UserError(f"{error.what}, and no module '{name}'", todo=error.todo) from error
        if module is None:
            raise
    cls = _checked(getattr(module, rest[0], None), f"{name}:{rest[0]}")
    _named[cls.name] = cls
    return cls, rest[1:]


def _name_in(text: str, rest: list[str]) -> str:
    """What stands before `rest`."""
    return ":".join(text.split(":")[: text.count(":") + 1 - len(rest)]).strip()


def _module(name: str) -> ModuleType | None:
    """The module of a name or a file; None where there is none of that name."""
    if name.endswith(".py"):
        path = Path(name).expanduser()
        spec = spec_from_file_location(path.stem, path)
        if not path.is_file() or spec is None or spec.loader is None:
            raise UserError("no such file", where=name, todo="give FILE.py:CLASS, the file of your axiom")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise
    except (TypeError, ValueError):  # no name of a module
        return None


def _checked(cls: Any, where: str) -> type[Axiom]:
    """A class that can be used as an axiom."""
    if not (isinstance(cls, type) and issubclass(cls, Axiom)):
        raise UserError("this is not an axiom", where=where, todo="give a subclass of whyrank.Axiom")
    name = getattr(cls, "name", None)
    if not (isinstance(name, str) and name.strip() and ":" not in name and "," not in name):
        raise UserError("this axiom has no name", where=where, todo="give the class a text `name` without : or ,")
    return cls


def _value(cls: type[Axiom], name: str, text: str) -> Any:
    """A parameter's value from its text."""
    known = {one.name: one for one in cls.parameters()}
    if name not in known:
        todo = nearest(name, known) if known else "it has none"
        raise UserError(f"{cls.name} has no parameter '{name}'", todo=todo)
    kind = known[name].metadata["kind"]
    try:
        if "_" in text or not text.isascii():
            raise ValueError(text)
        return kind(text)
    except ValueError as error:
        raise UserError(f"{cls.name}: {name}={text}", todo=f"it must be {range_of(known[name])}") from error
