"""The options of `train`: arguments, else the values of a TOML file with the same names, else the defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from whyrank.collections.collection import Collection
from whyrank.collections.records import Run
from whyrank.core.errors import UserError, located, nearest, quoted
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.network import Network, NetworkSettings
from whyrank.learning.settings import TrainSettings
from whyrank.learning.settings_values import names_of, settings_of, typed

#: Options that are numbers.
_KINDS = {"folds": int, "seeds": int, "depth": int, "queries": int, "seed": int}
#: Options that must be given.
NEEDED = ("model", "backbone", "collection")


@dataclass(frozen=True)
class TrainOptions:
    """What is trained, on what, and how: see `train`.

    `settings` are the model's and the training's by name; `files` says which options and settings came from a
    file, for messages that name it.
    """

    model: str = ""
    backbone: str = ""
    collection: str | Collection = ""
    run: Run | Path | str | None = None
    folds: int | None = None
    seeds: int = 3
    test_queries: Path | str | None = None
    train_qrels: str | None = None
    depth: int = 100
    queries: int | None = None
    keep_models: str = "all"
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any], settings: Mapping[str, Any], config: Path | None) -> TrainOptions:
        """From the arguments that are `given` (None where they are not), and the config file; checked."""
        file = read_toml(config) if config else {}
        own = _own_values(file, config)
        asked = {name: value for name, value in given.items() if value is not None}
        found = cls(**{**own, **asked})
        for name in (*_KINDS, *NEEDED):
            _check(name, getattr(found, name), config, name in own and name not in asked)
        files = {name: config for name in (*own, *file) if config and name not in asked}
        with located(files.get("model")):
            settled(model_class(found.model), file, found.names, config)
        return replace(found, settings={**file, **settings}, files=files)

    @property
    def names(self) -> list[str]:
        return [one.name for one in fields(self) if one.name not in ("settings", "files")]

    def facts(self) -> dict[str, Any]:
        """What was asked, for the manifest."""
        asked = {name: getattr(self, name) for name in self.names}
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in asked.items()}
        run = "a run in memory" if isinstance(self.run, dict) else plain["run"]
        return {**plain, "collection": str(self.collection_name), "run": run, "settings": dict(self.settings)}

    @property
    def collection_name(self) -> str:
        return self.collection if isinstance(self.collection, str) else self.collection.name


def _own_values(file: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """The options in a file, taken out of it: what is left are settings."""
    for name in ("workers", "processes"):
        if name in file:
            raise UserError(f"{name} in a file", where=config, todo=f"give {name} as an option")
    names = [one.name for one in fields(TrainOptions) if one.name not in ("settings", "files")]
    return {name: typed(name, file.pop(name), _KINDS.get(name, str), config) for name in names if name in file}


def _check(name: str, value: Any, config: Path | None, by_file: bool) -> None:
    """Raises for an option that must be given and is not, and for a number that is too small."""
    if name in NEEDED and isinstance(value, str) and not value.strip():
        raise UserError(f"no {name} is given", where=config, todo=f"give {name}, or {name} = ... in a config file")
    least = 0 if name == "seed" else 1
    if name in _KINDS and value is not None and value < least:
        raise UserError(f"{name} is {value}", where=config if by_file else None, todo=f"give {least} or more")


def read_toml(path: Path) -> dict[str, Any]:
    """The values in a TOML file; `-` in a name is `_`."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError("no such file", where=path, todo="give a TOML file") from error
    except (ValueError, OSError) as error:  # not TOML, not UTF-8, an integer of thousands of digits
        raise UserError(f"not TOML ({error})", where=path) from error
    except RecursionError as error:
        raise UserError("not TOML that can be read (nested too deep)", where=path) from error
    for name, value in values.items():
        if isinstance(value, dict):
            raise UserError(f"'{name}' is a table", where=path, todo="all names stand at the top: name = value")
    return {name.replace("-", "_"): value for name, value in values.items()}


def read_assignments(texts: Iterable[str]) -> dict[str, str]:
    """`key=value` texts; the last of a key counts."""
    found: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise UserError(f"{quoted(text)} is not a setting", todo="write it as key=value")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def settled(
    model: type[Network], values: Mapping[str, Any], also: Iterable[str] = (), where: str | Path | None = None
) -> tuple[NetworkSettings, TrainSettings]:
    """The model's settings and the training's, from `values` by name; `also` are other names, for suggestions."""
    own, training = names_of(model.Settings), names_of(TrainSettings)
    both = set(own) & set(training)
    assert not both, f"{model.__name__} and the training both have {both}"
    for name in values:
        if name not in own and name not in training:
            raise UserError(
                f"{model.name} has no setting '{name}'", where=where, todo=nearest(name, [*own, *training, *also])
            )
    return (
        settings_of(model.Settings, {name: value for name, value in values.items() if name in own}, where),
        settings_of(TrainSettings, {name: value for name, value in values.items() if name in training}, where),
    )
