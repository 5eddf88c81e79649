"""`study`: a paper end to end, by its name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError, nearest
from whyrank.core.results import Result

#: The module of each; its function `study` has the options of `whyrank study NAME`.
STUDIES = {
    "term-frequency": "whyrank.papers.term_frequency.study",
    "semantic-circuit": "whyrank.papers.semantic_circuit.study",
    "disentangled": "whyrank.papers.disentangled.study",
}


def study(name: str, *, out: Path | str, caller: Caller = SILENT, **options: Any) -> Result:
    """A paper end to end: its findings beside what is measured here.

        whyrank.study("semantic-circuit", ranker="ce-minilm-l12", collection="demo", quick=True, out="runs/study")

    `options` are those of `whyrank study NAME`. What was done before in `out` is not done again.
    """
    run = study_of(name)
    parameters = signature(run).parameters
    known = set(parameters) - {"out", "caller"}
    more = any(one.kind is one.VAR_KEYWORD for one in parameters.values())  # the study checks these itself
    for option in options:
        if option not in known and not more:
            raise UserError(f"the study {name} has no option '{option}'", todo=nearest(option, known))
    found: Result = run(**options, out=Path(out), caller=caller)
    return found


def study_of(name: str) -> Callable[..., Result]:
    """The function that runs the study."""
    if name not in STUDIES:
        raise UserError(f"there is no study '{name}'", todo=nearest(name, STUDIES))
    run: Callable[..., Result] = import_module(STUDIES[name]).study
    return run
