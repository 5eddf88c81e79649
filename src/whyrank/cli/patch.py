"""`whyrank patch`: why this score?"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from whyrank.cli import options
from whyrank.cli.caller import asked
from whyrank.cli.console import command, console, progress_bar, say, suggest

if TYPE_CHECKING:
    from whyrank.core.progress import Progress

#: Sites shown on the screen.
SHOWN = 12


def patch(
    ranker: Annotated[str, typer.Option(help="A folder, hub id or short name.")],
    pairs: Annotated[Path, typer.Option(help="A pairs file: whyrank pairs makes one.")],
    out: options.RunFolderPath,
    method: Annotated[str, typer.Option(help="activation, path, attribution or ablation.")] = "activation",
    sites: Annotated[str, typer.Option(help="heads, blocks, or L10.H1.z@inj,0.9+1.6,L4.mlp, ...")] = "heads",
    by: Annotated[str | None, typer.Option(help="Cut each site by position or category.")] = None,
    to: Annotated[str, typer.Option(help="path: logits, or L10.H1.v,L10.H4.v (received together).")] = "logits",
    direction: Annotated[
        str, typer.Option(help="denoise: perturbed values into the baseline run; noise: the reverse.")
    ] = "denoise",
    freeze_mlp: Annotated[bool, typer.Option("--freeze-mlp", help="path: hold MLPs, too.")] = False,
    ablate: Annotated[str | None, typer.Option(help="ablation: zero (default), mean or resample.")] = None,
    reference: Annotated[
        Path | None, typer.Option(help="ablation: pairs whose baselines are the reference; default: these pairs.")
    ] = None,
    steps: Annotated[
        int, typer.Option(min=0, help="attribution: integrate the gradient over so many steps; 0: plain.")
    ] = 0,
    screen: Annotated[
        int | None, typer.Option(min=1, help="Attribution first, then exact patching of so many sites.")
    ] = None,
    check: Annotated[int, typer.Option(min=1, help="attribution: pairs to compare with exact patching.")] = 16,
    side: Annotated[
        str, typer.Option(help="Which encoder reads the texts that differ: document or query.")
    ] = "document",
    keep: Annotated[str, typer.Option(help="Pairs to sum up: all, or adherent (perturbed > baseline).")] = "all",
    threshold: Annotated[
        float | None, typer.Option(min=0, help="Least |gap| for a mean of ratios; default: 10% of the median.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(help="Another run of patch: correlate its map with this.")
    ] = None,
    n: Annotated[int | None, typer.Option("-n", min=1, help="Only the first n pairs.")] = None,
    max_length: Annotated[
        int | None, typer.Option(min=8, help="Read at most so many tokens: shorter texts, faster.")
    ] = None,
    skip: Annotated[bool, typer.Option("--skip", help="Leave out pairs that this ranker cannot align.")] = False,
    pad: options.Pad = False,
    hide: Annotated[
        bool, typer.Option("--hide-insignificant", help="Maps are blank where nothing is significant.")
    ] = False,
    engine: Annotated[str, typer.Option(help="local, or dask://HOST:PORT.")] = "local",
    workers: Annotated[int | None, typer.Option(help="Run in so many processes of this machine.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Exact activation and path patching, attribution, ablation: what each part of a ranker does to its score."""
    say(f"patching {ranker} on {pairs}: {method}, {sites}{f' by {by}' if by else ''}")
    from whyrank.axioms.same_score import no_gap
    from whyrank.core.errors import UserError
    from whyrank.core.packages import sha256
    from whyrank.core.runs import RunFolder
    from whyrank.interventions.aligned import aligned_pairs
    from whyrank.interventions.api import Request, neural
    from whyrank.interventions.api import patch as run
    from whyrank.interventions.pair_texts import texts_json, turned_sentence, write_pair_table
    from whyrank.interventions.report import write_patch
    from whyrank.interventions.summary import KEEPS

    request = Request(
        method=method, sites=sites, by=by, to=to, direction=direction, freeze_mlp=freeze_mlp, ablate=ablate,
        reference=str(reference) if reference else None, steps=steps, screen=screen, check=check, side=side,
        seed=seed,
    )  # fmt: skip
    if keep not in KEEPS:
        raise UserError(f"cannot keep '{keep}'", todo=f"choose {' or '.join(KEEPS)}")
    if not pairs.is_file():
        raise UserError("no such file", where=pairs, todo="make one: whyrank pairs --axiom TFC1 ...")
    other = _other_run(compare) if compare else None
    opened = neural(ranker, max_length)
    say(f"{opened.name}: {opened.source}; {opened.encoder}")
    ready = aligned_pairs(opened, pairs, side, first=n, skip=skip, pad=pad)
    texts = ready.counts().sentences(opened.name)
    for told in texts:
        say(f"{told}; both texts and their scores are in pairs.parquet")
    inputs: dict[str, Any] = {
        "ranker": [opened.name, opened.fingerprint()],
        "pairs": sha256(pairs),
        "request": vars(request),
        "keep": keep,
        "threshold": threshold,
        "skip": skip,
        "pad": pad,
        "first": n,
        "hide": hide,
        "compare": sha256(compare / "effects.parquet") if compare else None,
        "reference": sha256(reference) if reference else None,
    }
    folder = RunFolder.claim(out, "patch", inputs, asked=asked())
    shards = folder.work("shards")

    def step(name: str, count: int) -> AbstractContextManager[Progress]:
        folder.begin()  # all is well so far: from here on the folder is this work's
        return progress_bar(name, count, "pairs")

    effects = run(
        opened, ready, request, skip=skip, pad=pad, engine=engine, workers=workers, shards=shards, step=step
    )
    summary = {
        "ranker": opened.name, "side": side, "ablate": (ablate or "zero") if method == "ablation" else None,
        "freeze_mlp": freeze_mlp, "steps": steps, "dropped": effects.dropped, "texts": ready.counts().to_json(),
        **effects.summary(keep=keep, threshold=threshold, seed=seed),
        "compared": _compared(effects, other, compare, keep, seed) if other and compare else None,
    }  # fmt: skip
    assert effects.pairs is not None
    shown = texts_json(ready.counts(), effects.pairs)
    manifest = folder.record(pairs=summary["pairs"], rows=len(effects), texts=shown)
    effects.write(out / "effects.parquet")
    paths = [out / "effects.parquet", write_pair_table(effects.pairs, out)]
    paths += write_patch(summary, out, manifest, hide=hide, sentences=texts)
    folder.save(manifest)
    show(summary)
    for told in no_gap(summary["gap"]["same"], summary["pairs"]):
        say(told)
    for told in turned_sentence(shown):
        say(f"{told} (pairs.parquet)")
    for reason, count in effects.dropped.items():
        say(f"left out: {count} pairs ({reason})")
    say(f"wrote {', '.join(path.name for path in paths)} to {out}")
    suggest(f"open {out / 'report.html'} in a browser", *_next(summary, ranker, pairs, *["--pad"] * pad))


def show(summary: dict[str, Any]) -> None:
    """The sites with the largest effects, on stdout."""
    from rich.table import Table

    from whyrank.evaluation.estimate import is_significant
    from whyrank.evaluation.interval import Interval
    from whyrank.interventions.figures import interval_of, measure_of

    value, told = measure_of(summary)
    interval = interval_of(value)
    leading = sorted(summary["sites"], key=lambda site: -abs(site[value] or 0.0))[:SHOWN]
    table = Table(
        title=f"{told}; * significant at 0.05 (Holm over {len(summary['sites'])} sites)", title_justify="left"
    )
    for name in ("site", "pairs", told, "95% interval"):
        table.add_column(name, justify="left" if name == "site" else "right")
    for site in leading:
        ends = Interval.from_json(site[interval])
        star = "*" if is_significant(site["p_holm"]) else " "
        around = f"{ends.low:+.3f} to {ends.high:+.3f}" if ends else ends.reason
        shown = "–" if site[value] is None else f"{site[value]:+.3f}{star}"
        table.add_row(site["site"], str(site["n"]), shown, around)
    console().print(table)
    keep = summary["keep"]
    if keep["correlation_with_all"] is not None:
        say(f"{keep['adherent']} of {keep['pairs']} pairs adhere; their map correlates with that of all at "
            f"{keep['correlation_with_all']:.3f}")  # fmt: skip
    if summary["agreement"]:
        told = summary["agreement"]["map"]
        say(f"attribution against exact patching: Pearson {_short(told)} over {told['sites']} sites")
    if summary["compared"]:
        told = summary["compared"]
        say(f"against {told['with']}: Pearson {_short(told)} over {told['sites']} sites")


def _short(correlation: dict[str, Any]) -> str:
    return "–" if correlation["pearson"] is None else f"{correlation['pearson']:.3f}"


@dataclass(frozen=True)
class Cut:
    """What is read of another run's summary.json: how its sites were cut."""

    by: Literal["position", "category"] | None


def _other_run(folder: Path) -> Any:
    """The rows of another run of this command."""
    from whyrank.core.errors import UserError
    from whyrank.core.json_file import read_json
    from whyrank.interventions.effects import Effects

    path = folder / "effects.parquet"
    if not (path.is_file() and (folder / "summary.json").is_file()):
        raise UserError(
            "no effects.parquet here", where=folder, todo="give the run folder of another whyrank patch"
        )
    told: Cut = read_json(folder / "summary.json", Cut, todo="give the run folder of another whyrank patch")
    return replace(Effects.read(path), by=told.by)


def _compared(effects: Any, other: Any, folder: Path, keep: str, seed: int) -> dict[str, Any]:
    """How this map and that of another run go together."""
    from whyrank.core.errors import UserError
    from whyrank.interventions.statistics import finite

    correlation, points = effects.compared(other, keep=keep, seed=seed)
    if not points:
        raise UserError("the two runs have no site in common", where=folder, todo="compare runs of the same sites")
    return {
        "with": str(folder), **correlation.to_json(),
        "points": [{"site": site, "here": finite(a), "there": finite(b)} for site, a, b in points],
    }  # fmt: skip


def _next(summary: dict[str, Any], ranker: str, pairs: Path, *more: str) -> list[str]:
    """What makes sense after this: the leading heads by token category."""
    if summary["by"] or summary["method"] == "ablation":
        return []
    heads = [
        site
        for site in summary["sites"]
        if site["head"] is not None and site["site"].endswith(".z") and site["share"] is not None
    ]
    leading = sorted(heads, key=lambda site: -abs(site["share"]))[:4]
    if not leading:
        return []
    names = ",".join(f"{site['layer']}.{site['head']}" for site in leading)
    return [
        command(
            "patch", "--ranker", ranker, "--pairs", pairs, *more, "--sites", names, "--by", "category", "-o", "RUN"
        )
    ]
