"""The learning rates of transformers' own schedule, which begins with a step at 0 that ours leaves out."""

from __future__ import annotations

import math
import warnings

import transformers


def begun(optimiser, warm_up, steps):
    """Its schedule of one warm-up step more and one step more in all, after its first."""
    rising = math.ceil(warm_up * steps)
    schedule = transformers.get_linear_schedule_with_warmup(optimiser, rising + 1, steps + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no step was taken, and none is meant
        schedule.step()
    return schedule
