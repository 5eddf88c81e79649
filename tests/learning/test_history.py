"""Which epoch is the best, when it is over, and which checkpoints stay."""

import torch

from whyrank.core.json_file import typed
from whyrank.core.results import plain
from whyrank.learning.checkpoints import OPTIMISER, Checkpoints, run_epochs
from whyrank.learning.history import Epoch, History
from whyrank.learning.optimisation import Learner


def history(*validations):
    return History(tuple(Epoch(i, None if i == 0 else 0.1, value) for i, value in enumerate(validations)))


def test_the_best_epoch_is_the_earliest_of_equals_and_may_be_the_one_before_training():
    assert history(0.5, 0.7, 0.7, 0.6).best == 1
    assert history(0.5, 0.4).best == 0


def test_it_is_over_after_the_last_epoch_or_when_patience_ends():
    assert not history(0.5, 0.4, 0.3).is_over(3)
    assert history(0.5, 0.4, 0.3, 0.2).is_over(3)
    assert history(0.5, 0.4, 0.3).is_over(9, patience=2)
    assert not history(0.5, 0.4, 0.6, 0.5).is_over(9, patience=2)


def test_a_history_comes_back_from_json():
    assert typed(plain(history(0.5, 0.7)), History) == history(0.5, 0.7)


def learner():
    module = torch.nn.Linear(3, 2)
    return Learner.of(module, module.parameters(), 0.1, 10)


def test_only_the_last_and_the_best_epoch_stay_and_the_best_needs_no_optimiser(tmp_path):
    values = iter([0.1, 0.9, 0.2, 0.3])
    seen = []

    def train(epoch):
        seen.append(sorted(path.name for path in tmp_path.glob("epoch-*")))
        return 0.5

    run_epochs(learner(), Checkpoints(tmp_path), train, lambda epoch: next(values), epochs=3)
    assert seen == [["epoch-0000"], ["epoch-0001"], ["epoch-0001", "epoch-0002"]]
    assert sorted(path.name for path in tmp_path.glob("epoch-*")) == ["epoch-0001", "epoch-0003"]
    assert not (tmp_path / "epoch-0001" / OPTIMISER).exists()
    assert (tmp_path / "epoch-0003" / OPTIMISER).exists()


def test_patience_ends_a_training_early(tmp_path):
    values = iter([0.5, 0.6, 0.4, 0.5, 0.9])
    done = run_epochs(
        learner(), Checkpoints(tmp_path), lambda epoch: 0.5, lambda epoch: next(values), 9, patience=2
    )
    assert [epoch.validation for epoch in done.epochs] == [0.5, 0.6, 0.4, 0.5]
    assert done.best == 1
