"""`whyrank patch`: why this score?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyrank.cli import options
from whyrank.cli.caller import terminal
from whyrank.cli.commands import app
from whyrank.cli.console import command, console, print_json, say, suggest
from whyrank.cli.grouped import grouped

if TYPE_CHECKING:
    from whyrank.interventions.results import Effects

#: Sites shown on the screen, and in the next command.
SHOWN, NEXT = 12, 4


@dataclass(frozen=True)
class WhatToPatch:
    """What is patched, where, and how: `interventions.options.PatchArguments`."""

    method: Annotated[str, typer.Option(help="activation, path, attribution or ablation.")] = "activation"
    sites: Annotated[str, typer.Option(help="heads, blocks, or L10.H1.z@inj,0.9+1.6,L4.mlp, ...")] = "heads"
    by: Annotated[str | None, typer.Option(help="Cut each site by position or category.")] = None
    to: Annotated[str, typer.Option(help="path: logits, or L10.H1.v,L10.H4.v (received together).")] = "logits"
    direction: Annotated[
        str, typer.Option(help="denoise: perturbed values into the baseline run; noise: the reverse.")
    ] = "denoise"
    freeze_mlp: Annotated[bool, typer.Option("--freeze-mlp", help="path: hold MLPs, too.")] = False
    ablate: Annotated[str | None, typer.Option(help="ablation: zero (default), mean or resample.")] = None
    reference: Annotated[
        Path | None, typer.Option(help="ablation: pairs whose baselines are the reference; default: these pairs.")
    ] = None
    steps: Annotated[
        int, typer.Option(min=0, help="attribution: steps over which the gradient is integrated; 0: plain.")
    ] = 0
    screen: Annotated[
        int | None, typer.Option(min=1, help="Attribution first, then exact patching of this many sites.")
    ] = None
    check: Annotated[int, typer.Option(min=1, help="attribution: pairs to compare with exact patching.")] = 16
    side: Annotated[str, typer.Option(help="Which encoder reads the texts that differ: document or query.")] = (
        "document"
    )
    seed: options.Seed = 0


@app.command("patch")
@grouped
def patch(
    *,
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    pairs: Annotated[Path, typer.Option(help="A pairs file: whyrank pairs makes one.")],
    out: options.RunFolderPath,
    what: WhatToPatch,
    keep: Annotated[str, typer.Option(help="Pairs to sum up: all, or adherent (perturbed > baseline).")] = "all",
    min_gap: Annotated[
        float | None, typer.Option(min=0, help="Least |gap| for a mean of ratios; default: 10% of the median.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Another run of patch: correlate its map with this.")
    ] = None,
    first: Annotated[int | None, typer.Option(min=1, help="Only the first N pairs.")] = None,
    max_length: options.MaxLength = None,
    skip: Annotated[bool, typer.Option("--skip", help="Drop pairs that this ranker cannot align.")] = False,
    pad: options.Pad = False,
    hide_insignificant: Annotated[
        bool, typer.Option("--hide-insignificant", help="Maps are blank where nothing is significant.")
    ] = False,
    engine: Annotated[str, typer.Option(help="local, or dask://HOST:PORT.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Processes of this machine to run in.")] = None,
    device: options.Device = "cpu",
    json: options.AsJson = False,
) -> None:
    """Exact activation and path patching, attribution, ablation: what each part of a ranker does to its score."""
    say(f"patching {ranker} on {pairs}: {what.method}, {what.sites}{f' by {what.by}' if what.by else ''}")
    from whyrank.interventions.api import patch as run_patch

    effects = run_patch(
        ranker, pairs, keep=keep, min_gap=min_gap, compare=compare, first=first, max_length=max_length, skip=skip,
        pad=pad, hide_insignificant=hide_insignificant, engine=engine, workers=workers, device=device, out=out,
        caller=terminal(), **vars(what),
    )  # fmt: skip
    print_json(effects) if json else show(effects)
    _notes(effects)
    suggest(f"open {out / 'report.html'} in a browser", *_next(effects, ranker, pairs, *["--pad"] * pad))


def show(effects: Effects) -> None:
    """The sites with the largest effects, on stdout."""
    from rich.table import Table

    measure = effects.measure
    title = f"{measure.title}; * significant at 0.05 (Holm over {len(effects.sites)} sites)"
    table = Table(title=title, title_justify="left")
    for name in ("site", "pairs", f"{measure.title} [95% interval]"):
        table.add_column(name, justify="left" if name == "site" else "right")
    for site in effects.leading[:SHOWN]:
        star = "*" if site.is_significant else " "
        table.add_row(site.site, str(site.n), f"{measure.of(site).text('+.3f')}{star}")
    console().print(table)


def _notes(effects: Effects) -> None:
    """What the table does not show: pairs that were kept or dropped, texts, and other maps."""
    from whyrank.axioms.same_score import no_gap
    from whyrank.pages.numbers import counted

    keep, changed = effects.keep, effects.changed_texts
    if keep.correlation_with_all is not None:
        say(f"{keep.adherent} of {keep.pairs} pairs adhere; their map correlates with that of all at "
            f"{keep.correlation_with_all:.3f}")  # fmt: skip
    if effects.agreement:
        say(f"attribution against exact patching: Pearson {effects.agreement.correlation.text()}")
    if effects.compared:
        say(f"against {effects.compared.run}: Pearson {effects.compared.correlation.text()}")
    for sentence in no_gap(effects.gap.same, effects.pairs):
        say(sentence)
    for sentence in changed.other_sign_sentences():
        say(f"{sentence} (pairs.parquet)")
    for reason, count in effects.dropped.items():
        say(f"dropped {counted(count, 'pair')} ({reason})")


def _next(effects: Effects, ranker: str, pairs: Path, *more: str) -> list[str]:
    """What makes sense after this: the leading heads by token category."""
    if effects.by or effects.method == "ablation":
        return []
    heads = [
        site for site in effects.leading if site.is_head and site.part == "z" and site.share.value is not None
    ]
    names = ",".join(f"{site.layer}.{site.head}" for site in heads[:NEXT])
    cut = ("--sites", names, "--by", "category", "-o", "RUN")
    return [command("patch", "--ranker", ranker, "--pairs", pairs, *more, *cut)] if heads else []
