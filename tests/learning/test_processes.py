"""How several processes share a batch, with processes that only pretend to be several."""

import pytest
import torch

from tests.learning.tiny_networks import register
from tests.learning.tiny_training import plan
from whyrank.core.errors import UserError
from whyrank.learning.models.network import Output
from whyrank.learning.processes import OneProcess, SeveralProcesses
from whyrank.learning.trainer import Trainer


class Pretended:
    """What accelerate gives one of several processes, when what the others hold is known."""

    device = torch.device("cpu")

    def __init__(self, index, others):
        self.process_index, self.num_processes, self.others = index, len(others), others

    def gather(self, mine):
        assert not mine.requires_grad
        return torch.cat(self.others)

    def reduce(self, mine, how):
        assert how == "sum"
        return torch.stack(self.others).sum(0)


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_every_pair_is_shared_out_and_comes_back_in_its_place(count):
    pairs = list(range(7))
    shares = [SeveralProcesses(Pretended(index, [None] * count)).share(pairs) for index in range(count)]
    assert len(set(map(len, shares))) == 1, "gathering needs as many rows of each"
    assert {pair for share in shares for pair in share} == set(pairs)
    outputs = [torch.tensor([[float(p)] for p in share] + [[100.0 + p] for p in share]) for share in shares]
    for index in range(count):
        mine = outputs[index].clone().requires_grad_()
        together = SeveralProcesses(Pretended(index, outputs))
        whole = together.whole(Output(mine, {}), 7).scores
        assert whole[:, 0].tolist() == [*pairs, *(100.0 + p for p in pairs)]
        whole.sum().backward()
        own = _sizes(7, count)[index]
        rows = len(shares[index])
        expected = [1.0] * own + [0.0] * (rows - own)
        assert mine.grad[:, 0].tolist() == [*expected, *expected], "gradients to its own pairs, each once"


def _sizes(total, count):
    return [(i + 1) * total // count - i * total // count for i in range(count)]


def test_gradients_are_added_up():
    some = [
        torch.nn.Parameter(torch.zeros(2)),
        torch.nn.Parameter(torch.zeros(3)),
        torch.nn.Parameter(torch.zeros(1)),
    ]
    some[0].grad, some[1].grad = torch.ones(2), torch.ones(3)
    SeveralProcesses(Pretended(0, [torch.ones(5), torch.full((5,), 3.0)])).add_up(some)
    assert some[0].grad.tolist() == [4.0, 4.0] and some[1].grad.tolist() == [4.0] * 3 and some[2].grad is None


def test_too_few_pairs_for_the_processes_are_refused_before_anything_is_trained(tmp_path, monkeypatch):
    register(monkeypatch)
    made = plan(tmp_path, model="tiny-cls", batch=6, accumulate=2)
    assert made.smallest_part == 2
    Trainer(made, tmp_path, tmp_path / "work", processes=SeveralProcesses(Pretended(0, [None] * 2)))
    with pytest.raises(UserError, match="2 pairs read at a time cannot be shared by 3 processes"):
        Trainer(made, tmp_path, tmp_path / "work", processes=SeveralProcesses(Pretended(0, [None] * 3)))


def test_alone_there_is_nothing_to_share():
    alone, output = OneProcess(), Output(torch.ones(4), {})
    assert alone.share([1, 2]) == [1, 2] and alone.whole(output, 2) is output
    assert alone.joined([1.0]) == [1.0] and alone.from_first(lambda: 3) == 3
