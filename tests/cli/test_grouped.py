"""A dataclass as a parameter of a command: typer sees its fields."""

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from whyrank.cli.grouped import grouped


@dataclass(frozen=True)
class Sizes:
    documents: Annotated[int, typer.Option(min=1, help="How many.")] = 5
    depth: Annotated[int | None, typer.Option("--depth")] = None


def test_the_fields_of_a_dataclass_are_options_and_the_command_is_passed_the_dataclass():
    passed, app = [], typer.Typer()

    @app.command()
    @grouped
    def work(*, name: Annotated[str, typer.Argument()], sizes: Sizes, seed: int = 0) -> None:
        """What it does."""
        passed.append((name, sizes, seed))

    run = CliRunner().invoke
    assert run(app, ["a"]).exit_code == 0 and run(app, ["b", "--depth", "3", "--seed", "1"]).exit_code == 0
    assert passed == [("a", Sizes(), 0), ("b", Sizes(5, 3), 1)]
    assert run(app, ["a", "--documents", "0"]).exit_code == 2, "the bounds of its options hold"
    command = typer.main.get_command(app)
    assert [one.name for one in command.params][:4] == ["name", "documents", "depth", "seed"]
    assert command.help == "What it does."
