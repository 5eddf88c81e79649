"""What `whyrank train` is told, by flags, by `--set key=value` and by a TOML file with the same names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from whyrank.core.errors import UserError, nearest
from whyrank.learning.models.network import Network, NetworkSettings
from whyrank.learning.settings import TrainSettings
from whyrank.learning.settings_values import names_of, settings_of


def read_toml(path: Path) -> dict[str, Any]:
    """The values in a TOML file; `-` in a name is `_`."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise UserError("no such file", where=path, todo="give a TOML file") from error
    except (ValueError, OSError) as error:  # not TOML, not UTF-8, an integer of thousands of digits
        raise UserError(f"not TOML ({error})", where=path) from error
    except RecursionError as error:
        raise UserError("not TOML that can be read (nested too deep)", where=path) from error
    for name, value in told.items():
        if isinstance(value, dict):
            raise UserError(f"'{name}' is a table", where=path, todo="all names stand at the top: name = value")
    return {name.replace("-", "_"): value for name, value in told.items()}


def read_assignments(texts: Iterable[str]) -> dict[str, str]:
    """`key=value` texts; the last of a key counts."""
    found: dict[str, str] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise UserError(f"--set {text}", todo="write it as --set key=value")
        found[name.strip().replace("-", "_")] = value.strip()
    return found


def settled(
    model: type[Network], told: Mapping[str, Any], also: Iterable[str] = (), where: str | Path | None = None
) -> tuple[NetworkSettings, TrainSettings]:
    """The model's settings and the training's, from values by name; `also` are other names, to give advice of."""
    own, training = names_of(model.Settings), names_of(TrainSettings)
    both = set(own) & set(training)
    assert not both, f"{model.__name__} and the training both have {both}"
    for name in told:
        if name not in own and name not in training:
            raise UserError(
                f"{model.name} has no setting '{name}'", where=where, todo=nearest(name, [*own, *training, *also])
            )
    return (
        settings_of(model.Settings, {name: value for name, value in told.items() if name in own}, where),
        settings_of(TrainSettings, {name: value for name, value in told.items() if name in training}, where),
    )
