"""Trainings side by side: the same as one after another, and the progress that they report."""

import pytest

from tests.learning.tiny_training import assert_equal, still_backbone, training, weights
from whyrank.core.errors import UserError
from whyrank.learning.progress import ignore_progress
from whyrank.learning.side_by_side import fit_side_by_side, tasks_of
from whyrank.learning.trainer import Trainer

pytestmark = pytest.mark.slow

HOW = {"model": "bert", "seeds": (0, 1), "epochs": 2, "max_length": 24}


def test_two_at_a_time_come_to_the_same_as_one_after_another(tmp_path, monkeypatch):
    still_backbone(tmp_path)
    calm, beside = (training(tmp_path, name, **HOW) for name in ("calm", "beside"))
    expected = calm.run()
    seen = []

    tasks = tasks_of("mine", beside)
    assert dict(fit_side_by_side(2, lambda name: beside, tasks, seen.append)) == dict.fromkeys(tasks)
    assert not beside.unfinished
    assert_equal(weights(tmp_path, "beside"), weights(tmp_path, "calm"))
    monkeypatch.setattr(Trainer, "_train", lambda *_: pytest.fail("trained twice"))
    assert beside.run() == expected
    other = tasks_of("mine", training(tmp_path, "other", **HOW))
    ended = {(now.job, now.epoch) for now in seen if now.over}
    assert ended == {(task, epoch) for task in other for epoch in range(3)}
    assert max(now.done for now in seen) == beside.steps, "steps of all jobs together"
    assert all(set(now.losses) == {"rank"} for now in seen if now.over and now.epoch)


def test_a_nan_loss_is_reported_as_soon_as_it_is_known(tmp_path):
    still_backbone(tmp_path)
    made = training(tmp_path, **HOW, margin=1e39)
    lost = dict(fit_side_by_side(2, lambda name: made, tasks_of("mine", made), ignore_progress))
    assert set(lost) == set(tasks_of("mine", made)) and len(lost) == 6
    for task, why in lost.items():
        assert f"the rank loss is inf in epoch 1, step 1 of {task.job}" in str(why)
        assert (made.work / str(task.job) / "epoch-0000").is_dir(), "the last good epoch is kept"


def test_another_error_is_the_workers_own(tmp_path):
    still_backbone(tmp_path)
    made = training(tmp_path, **HOW)

    def refuse(name):
        raise UserError(f"no training is called {name}")

    with pytest.raises(UserError, match="called mine"):
        list(fit_side_by_side(2, refuse, tasks_of("mine", made), ignore_progress))
