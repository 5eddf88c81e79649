"""Trainings side by side: several at a time, one thread each, against one after another with all threads.

    python benchmarks/training.py [--model bert] [--backbone bi-minilm-l3] [--seeds 4] [--workers 2] [--epochs 3]

The model is trained on the demo collection, once a seed; starting the workers counts. Both ways must come to the
same validation values within 0.02: one thread adds up in another order than several.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from whyrank.collections.bm25 import first_stage
from whyrank.collections.demo import open_demo
from whyrank.learning.history import History
from whyrank.learning.judgements import Judged
from whyrank.learning.plan import plan_training
from whyrank.learning.side_by_side import fit_side_by_side, tasks_of
from whyrank.learning.trainer import Trainer


def training(folder: Path, options: argparse.Namespace) -> Trainer:
    """One split of the demo's queries, as many trainings as seeds."""
    demo = open_demo()
    settings = {"epochs": options.epochs, "max_length": 128, "chunks": 1, "batch": 8}
    plan = plan_training(
        options.model, options.backbone, Judged(demo), first_stage(demo, 50), settings, folds=1,
        seeds=range(options.seeds), k=50,
    )  # fmt: skip
    return Trainer(plan, folder, folder / ".work", keep="none")


def last_value(history: History) -> float:
    return history.epochs[-1].validation


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="bert")
    parser.add_argument("--backbone", default="bi-minilm-l3")
    for name, value in (("--seeds", 4), ("--workers", 2), ("--epochs", 3)):
        parser.add_argument(name, type=int, default=value)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        alone, beside = (training(Path(place) / name, options) for name in ("alone", "beside"))
        tasks = tasks_of(options.model, beside)
        start = time.perf_counter()
        over = list(fit_side_by_side(options.workers, lambda name: beside, tasks, lambda task, moment: None))
        together = time.perf_counter() - start
        assert not any(why for _, why in over) and not beside.unfinished
        start = time.perf_counter()
        fitted = alone.run()
        one_by_one = time.perf_counter() - start
        for one, other in zip(fitted, beside.run(), strict=True):
            apart = abs(last_value(one.history) - last_value(other.history))
            assert apart < 0.02, f"{one.job}: validation differs by {apart:.4f}"
    print(f"{len(tasks)} trainings of {options.model} on {options.backbone}, {options.epochs} epochs each")
    print(f"one after another {one_by_one:.1f} s, {options.workers} at a time {together:.1f} s")
    print(f"ratio {one_by_one / together:.2f}")


if __name__ == "__main__":
    main()
