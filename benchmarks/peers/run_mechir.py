"""Times MechIR's sweep over all heads of a cross-encoder; runs in MechIR's own environment.

    python run_mechir.py MODEL_FOLDER BATCH_FILE THREADS

BATCH_FILE has a batch of pairs, tightly padded: the tokens of both sides. Prints seconds as its last line.
"""

import sys
import time

import torch
from mechir.modelling.cat import Cat


def main() -> None:
    folder, path, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    model, batch = Cat(folder, num_labels=1), torch.load(path)
    model.score(batch["baseline"])
    start = time.perf_counter()
    model.patch(batch["baseline"], batch["perturbed"], patch_type="head_all")
    print(time.perf_counter() - start)


if __name__ == "__main__":
    main()
