"""What all studies share: stages that are done are not done again, one result, which holds the findings.

    @dataclass(frozen=True)
    class MyStudy(Study):                       # what was asked, opened and checked
        NAME = "my-paper"
        def inputs(self): ...                   # all that the result depends on
        def results(self, run):                 # runs in the claimed folder
            stages = run_stages(run, [Stage("pairs", "TFC1 pairs", pairs, run.path / "tfc1.jsonl", {...}), ...])
            yield MyResult(findings=..., ...)   # written at once; a study may yield again when it knows more

A stage calls a verb of whyrank, which leaves a run folder, or a file, inside the study's folder. A study that was
killed goes on at its first stage that is not done; the verb itself goes on inside the stage.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from whyrank.core.caller import SILENT, Caller
from whyrank.core.results import Result
from whyrank.core.runs import Run, is_finished

#: The arguments of a verb by name; a function is called for its value when the stage begins.
Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Stage:
    """One verb of whyrank with its arguments; done when `out` is a finished run folder, or a file.

    The verb is also passed `out` and `caller`. An argument that is a function is called when the stage begins: it
    may depend on stages before.
    """

    name: str
    title: str
    verb: Callable[..., object]
    out: Path
    arguments: Arguments = field(default_factory=dict)
    #: The command, where it has another name than the verb.
    called: str | None = None
    #: Called when the stage begins: why it cannot be run after what came before; then it is passed over.
    unless: Callable[[], str | None] | None = None

    def obstacle(self) -> str | None:
        """Why it cannot be run, if it cannot."""
        reason = self.unless() if self.unless else None
        return None if reason is None else f"{self.title}: not run, {reason}"

    def resolved(self) -> Stage:
        """The same with all arguments known."""
        known = {name: value() if callable(value) else value for name, value in self.arguments.items()}
        return replace(self, arguments=known)

    @property
    def is_done(self) -> bool:
        return is_finished(self.out) if self.out.is_dir() else self.out.is_file()

    def run(self, caller: Caller) -> None:
        """Calls the verb, on behalf of the command that does the same."""
        self.verb(**self.arguments, out=self.out, caller=replace(caller, asked=self.command))

    @property
    def command(self) -> str:
        """The command line that does the same."""
        words = ["whyrank", *(self.called or self.verb.__name__.replace("_", "-")).split()]
        for name, value in (*self.arguments.items(), ("out", self.out)):
            flag = "-o" if name == "out" else "--" + name.replace("_", "-")
            if value is None or value is False:
                continue
            for one in value if isinstance(value, list | tuple) else [value]:
                words += [flag] if one is True else [flag, str(one)]
        return shlex.join(words)


def run_stages(run: Run, stages: Sequence[Stage]) -> list[Stage]:
    """Runs those that are not done yet, in their order; returns all that could be run, with all arguments
    known."""
    found = []
    for number, stage in enumerate(stages, start=1):
        obstacle = stage.obstacle()
        if obstacle is not None:
            run.say(f"\n[{number}/{len(stages)}] {obstacle}")
            continue
        known = stage.resolved()
        done = known.is_done
        run.say(f"\n[{number}/{len(stages)}] {known.title}" + (": done before" if done else f"\n{known.command}"))
        if not done:
            known.run(run.caller)
        found.append(known)
    return found


class Study(ABC):
    """A paper end to end. A subclass is a frozen dataclass of what was asked, opened and checked."""

    #: As in `whyrank study NAME`.
    NAME: ClassVar[str]

    @abstractmethod
    def inputs(self) -> Mapping[str, Any]:
        """All that the result depends on; the folder of other inputs is refused."""

    @abstractmethod
    def results(self, run: Run) -> Iterator[Result]:
        """The result, as often as there is more of it; the last is whole. Stages keep what is done."""

    def facts(self) -> Mapping[str, Any]:
        """What the manifest says beside the inputs, once the result is there."""
        return {}


def run_study(study: Study, out: Path | str, caller: Caller = SILENT) -> Result:
    """Claims the folder, writes each result as it comes, then the manifest. When a stage is refused, the stages
    before it are kept."""
    with Run.open(out, f"study {study.NAME}", study.inputs(), caller) as run:
        run.keep_work()
        run.begin()
        for result in study.results(run):
            facts = study.facts()
            paths = run.write(result, **facts)
        run.finish(**facts)
        caller.say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    return result
