"""Where shards run: workers give the rows of one process, whatever happens to them."""

import os
import pickle
import signal
import threading
import time

import pytest

from whyrank.axioms.api import make_pairs
from whyrank.axioms.make import Choices
from whyrank.core.errors import UserError
from whyrank.engines import dask as dask_engine
from whyrank.engines.engine import open_engine
from whyrank.interventions import sweep as sweeping
from whyrank.interventions.ablation import Ablation
from whyrank.interventions.plan import SitePlan
from whyrank.interventions.sweep import sweep


@pytest.fixture
def ranker(real):
    return real("bi-minilm-l3")


@pytest.fixture
def pairs(ranker, monkeypatch):
    monkeypatch.setattr(sweeping, "PAIRS_PER_SHARD", 2)
    return make_pairs("TFC1:append", "demo", [ranker], Choices(documents=8)).pairs


@pytest.fixture
def plan(ranker):
    return SitePlan.parse("heads", ranker.encoder, by="category")


def same_rows(ours, theirs):
    numbers = ["base", "perturbed", "patched", "effect"]
    assert ours.drop(columns=numbers).equals(theirs.drop(columns=numbers))
    assert (ours[numbers] - theirs[numbers]).abs().max().max() < 1e-5


@pytest.mark.slow
def test_two_workers_give_the_rows_of_one(ranker, pairs, plan, tmp_path):
    alone, advances = sweep(ranker, pairs, plan).frame, []
    with open_engine(workers=2) as engine:
        together = sweep(ranker, pairs, plan, engine=engine, shards=tmp_path, progress=advances.append).frame
        mean = Ablation("mean").with_reference(pairs)
        some = SitePlan.parse("0.1+1.2,L1.mlp", ranker.encoder)
        same_rows(sweep(ranker, pairs, some, mean, engine=engine).frame, sweep(ranker, pairs, some, mean).frame)
    same_rows(together, alone)
    assert sum(advances) == len(pairs)
    assert sweep(ranker, pairs, plan, shards=tmp_path).frame.equals(together), "shards of workers are taken up"


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_worker_killed_during_the_work_costs_nothing_but_time(ranker, pairs, plan, workers):
    alone = sweep(ranker, pairs, plan).frame
    with open_engine(workers=workers) as engine:
        killed = threading.Event()

        def kill_one(done):
            if done and not killed.is_set():
                killed.set()
                os.kill(next(iter(engine.cluster.workers.values())).pid, signal.SIGKILL)

        together = sweep(ranker, pairs, plan, engine=engine, progress=kill_one).frame
    assert killed.is_set()
    same_rows(together, alone)


def test_an_existing_cluster_by_its_address(ranker, pairs, plan):
    with open_engine(workers=1) as own:
        address = own.cluster.scheduler_address.removeprefix("tcp://")
        with open_engine(f"dask://{address}") as engine:
            same_rows(sweep(ranker, pairs[:4], plan, engine=engine).frame, sweep(ranker, pairs[:4], plan).frame)


def test_a_worker_with_other_weights_is_refused(ranker, pairs, plan):
    """Weights that were changed in memory are not what a worker loads by name."""
    weight = ranker.encoder.word_embeddings
    kept = weight.data[1000, 0].clone()
    try:
        weight.data[1000, 0] += 1
        with open_engine(workers=1) as engine, pytest.raises(UserError, match="other weights"):
            sweep(ranker, pairs[:2], plan, engine=engine)
    finally:
        weight.data[1000, 0] = kept


def die(shared, item):
    os._exit(1)


def test_an_item_that_kills_its_workers_is_named():
    with open_engine(workers=1) as engine, pytest.raises(UserError, match="4 workers died of the third shard"):
        list(engine.each(die, None, ["the third shard"]))


def wait_long(shared, item):
    time.sleep(600)


def test_nobody_waits_for_workers_that_are_gone(monkeypatch):
    monkeypatch.setattr(dask_engine, "ABANDONED", 1.0)
    monkeypatch.setattr(dask_engine, "LOOK", 0.2)
    with open_engine(workers=1) as own:
        address = own.cluster.scheduler_address.removeprefix("tcp://")
        with open_engine(f"dask://{address}") as engine, pytest.raises(UserError, match="no worker for"):
            threading.Timer(1.0, own.cluster.scale, [0]).start()
            list(engine.each(wait_long, None, ["a shard"]))


def test_an_error_is_the_same_in_another_process():
    error = pickle.loads(pickle.dumps(UserError("no query", where="file:3", todo="give one")))
    assert type(error) is UserError and str(error) == "file:3: no query; give one"
    assert (error.what, error.where, error.todo) == ("no query", "file:3", "give one")


@pytest.mark.slow
def test_bad_engines_are_named():
    with pytest.raises(UserError, match="unknown engine"):
        open_engine("spark://x")
    with pytest.raises(UserError, match="1 or more"):
        open_engine(workers=0)
    with pytest.raises(UserError, match="its own workers"):
        open_engine("dask://localhost:1", workers=2)
    with pytest.raises(UserError, match="no Dask scheduler answers"), open_engine("dask://127.0.0.1:9"):
        pass
