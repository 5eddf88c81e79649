"""Options that belong together as one parameter of a command: a frozen dataclass, one field per option.

    @app.command("pairs")
    @grouped
    def pairs(axiom: options.Axioms, choices: options.PairChoices) -> None: ...

typer sees an option per field, where the parameter stands; the command is passed the dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of its dataclasses in place of them."""
    asked = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in asked if is_dataclass(one.annotation)}

    @wraps(command)
    def with_groups(**options: Any) -> None:
        made = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**options, **made)

    del with_groups.__wrapped__  # typer would take its signature
    parameters = [new for one in asked for new in _parameters(one, groups)]
    with_groups.__signature__ = signature(command).replace(parameters=parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_groups


def _parameters(one: Parameter, groups: dict[str, Any]) -> Iterator[Parameter]:
    """The parameter, or those of its group."""
    if one.name not in groups:
        yield one.replace(kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(groups[one.name], include_extras=True)
    for field in fields(groups[one.name]):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
