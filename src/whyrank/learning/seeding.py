"""Random numbers that depend on seed and epoch alone, so that training goes on after a kill as it would have.

No generator's state needs keeping: each epoch seeds the generators anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def seeded(*numbers: int) -> Iterator[None]:
    """Python's, numpy's and torch's own generators seeded by these numbers; as they were when the block ends."""
    before = random.getstate(), np.random.get_state()
    seed = random.Random("/".join(map(str, numbers))).getrandbits(32)
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if torch.cuda.is_available() else []):
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(before[0])
            np.random.set_state(before[1])
