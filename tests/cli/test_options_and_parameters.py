"""The command line and the Python door offer the same options, under the same names and with the same defaults."""

import inspect
from dataclasses import fields

import pytest
import typer

import whyrank
from whyrank.axioms.api import PairArguments, PairSettings
from whyrank.cli.app import app
from whyrank.interventions.options import PatchArguments, PatchOptions
from whyrank.papers.api import study_of
from whyrank.papers.disentangled.sizes import Sizes

#: Python's names of commands that are called otherwise.
VERBS = {"eval": "evaluate", "semantic-bm": "semantic_bm"}
#: What `**options` hold.
MORE = {
    "Unpack[PairArguments]": set(PairArguments.__annotations__),
    "Unpack[PatchArguments]": set(PatchArguments.__annotations__),
    "int | float | None": {one.name for one in fields(Sizes)},
}
#: Options that print, or end the process: a Python caller has the result instead.
PRINTING = {"json", "per_query", "tree", "fail_if", "junit"}
#: How a collection's files are read: `whyrank.collection(..., fields=..., language=...)` in Python.
READING = {"id_field", "title_field", "text_field", "strip_html", "language"}
#: Options that have another name in Python: `with` is a word of its own, `set` are keywords, `doc` is short.
RENAMED = {"set": "settings", "doc": "document", "with": "extras"}
#: Parts of a command that are verbs of their own (`calibrate`, `two_tokens`), and torchrun's business.
OTHER_VERBS = {
    "eval": {"calibrate", "want_precision", "min_grade", "assume_not_relevant"},
    "edit": {"experiment", "head", "scales", "randoms"},
    "train": {"processes"},
}
#: Values that a command line cannot hold: functions, mappings, objects.
ONLY_PYTHON = {"caller", "metric", "fields", "settings", "sizes"}
#: edit's preview is on in Python where there is a collection; a command line names the format that it exports to.
OTHER_DEFAULTS = {("edit", "preview"), ("export", "onnx")}
OF_ONE_VERB = {"edit": {"edit"}, "diff": {"rankers"}}


def commands(group, above=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*above, name))
        else:
            yield (*above, name), command


COMMANDS = [
    pytest.param(path, command, id=" ".join(path))
    for path, command in commands(typer.main.get_command(app))
    if path[0] not in ("get", "demo")  # these show what there is
]


def flag(option):
    """Its long name in Python's spelling; an argument's own name."""
    long = [one for one in option.opts if one.startswith("--")]
    return (long or option.opts)[0].removeprefix("--").replace("-", "_")


def parameters(path):
    """The parameters of the verb, and those of its `**options`."""
    verb = study_of(path[1]) if path[0] == "study" else getattr(whyrank, VERBS.get(path[0], path[0]))
    found = {}
    for name, one in inspect.signature(verb).parameters.items():
        found |= (
            dict.fromkeys(MORE.get(one.annotation, {name}), one) if one.kind is one.VAR_KEYWORD else {name: one}
        )
    return found


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_option_is_a_parameter_of_the_verb(path, command):
    asked = (
        {RENAMED.get(flag(one), flag(one)) for one in command.params} - PRINTING - OTHER_VERBS.get(path[0], set())
    )
    if path[0] == "diff":
        asked = {"rankers" if name == "ranker" else name for name in asked}
    missing = asked - set(parameters(path))
    assert missing <= READING, f"{' '.join(path)}: not in Python: {missing - READING}"


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_every_parameter_of_the_verb_is_an_option(path, command):
    asked = {RENAMED.get(flag(one), flag(one)) for one in command.params}
    missing = set(parameters(path)) - asked - ONLY_PYTHON - OF_ONE_VERB.get(path[0], set())
    assert not missing, f"{' '.join(path)}: not on the command line: {missing}"


@pytest.mark.parametrize(("path", "command"), COMMANDS)
def test_an_option_and_its_parameter_have_one_default(path, command):
    """An option without a default is not passed on, or passed on as None: the verb's default holds."""
    known, of_pairs = parameters(path), PairSettings.of({})
    more = (
        {one.name: one.default for one in fields(PatchOptions)} | vars(of_pairs.choices) | vars(of_pairs.options)
    )
    for option in command.params:
        parameter = known.get(RENAMED.get(flag(option), flag(option)))
        if parameter is None or option.default is None or (path[0], option.name) in OTHER_DEFAULTS:
            continue
        here = more[option.name] if parameter.kind is parameter.VAR_KEYWORD else parameter.default
        assert plain(option.default) == plain(here), f"{' '.join(path)}: {flag(option)}"


def plain(default):
    """A list as the command line writes it; an empty one is none."""
    if isinstance(default, list | tuple):
        return ",".join(f"{one:g}" if isinstance(one, float) else str(one) for one in default) or None
    return default
