"""What is asked of every baseline: batch-mates do not matter, a saved state scores the same, all of it learns."""

from __future__ import annotations

import math
import random
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.checkpoints import save, tokenizer
from tests.learning.small import COLLECTION
from tests.tiny import LONGEST, tiny_model
from whyrank.learning.models.catalogue import model_class
from whyrank.learning.models.network import Ingredients, Network
from whyrank.rankers.checkpoint import Checkpoint
from whyrank.rankers.ranker import Source

#: One chunk and several, words that match and none, a query that is longer than its room.
PAIRS = [
    ("how many people live in berlin", "many people live in berlin"),
    ("cat", " ".join(["the cat sat on the mat", "a dog runs fast in the red house"] * 5)),
    ("red blue", "tree"),
    ("the red cat", "the cat sat on the red mat and the dog sat on the blue cat " * 2),
    ("slow " * 12, "fast dog slow cat"),
]
#: Texts of one sign that is no word, of none, and words that no vocabulary has.
ODD = [("cat", "!"), ("?", "the cat"), ("?", "!"), ("zyx wvu", "the zyx sat"), ("cat", "qqq rrr")]
ODD += [("cat", " "), ("", "the cat"), ("", "")]


def ingredients(folder: Path, architecture: str = "bert", untrained: bool = False, collection=COLLECTION):
    """A tiny random checkpoint, made once, and the made-up collection."""
    place = folder / f"tiny-{architecture}"
    if not place.exists():
        save(place, architecture)
    return Ingredients(Checkpoint("tiny", place, Source("test", "float32")), collection, untrained)


def built(name: str, folder: Path, architecture: str = "bert", **settings) -> Network:
    """A model of tiny size with its random weights always the same, ready to score."""
    torch.manual_seed(3)
    chosen = model_class(name)
    return chosen.of(chosen.Settings(**settings), ingredients(folder, architecture)).eval()


def scores(network: Network, pairs) -> list[float]:
    with torch.no_grad():
        return network(network.read(pairs)).tolist()


def check_batch_mates(network: Network, pairs=PAIRS) -> None:
    """OneProcess, together, and together in another order, an example has the same score; and not all have one."""
    together = scores(network, pairs)
    assert all(map(math.isfinite, together))
    alone = [scores(network, [pair])[0] for pair in pairs]
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)
    order = random.Random(1).sample(range(len(pairs)), len(pairs))
    turned = scores(network, [pairs[i] for i in order])
    torch.testing.assert_close(turned, [together[i] for i in order], rtol=1e-5, atol=1e-5)
    assert len({round(score, 4) for score in together}) > 1


def check_round_trip(network: Network, folder: Path, architecture: str = "bert", pairs=PAIRS) -> None:
    """Through safetensors into a model that never saw weights or collection."""
    save_file(
        {name: part.contiguous() for name, part in network.state_dict().items()}, folder / "state.safetensors"
    )
    torch.manual_seed(99)
    given = ingredients(folder, architecture, untrained=True, collection=None)
    again = type(network).of(network.settings, given).eval()
    again.load_state_dict(load_file(folder / "state.safetensors"))
    assert scores(again, pairs) == scores(network, pairs)


def check_learning(network: Network, unread: tuple[str, ...] = ("pooler.",)) -> None:
    """Every parameter that is learned gets a gradient, and a step moves it; the others stay as they are."""
    before = {name: value.clone() for name, value in network.state_dict().items()}
    learned = [*network.slow(), *network.fast()]
    assert {id(one) for one in learned} == {id(one) for one in network.parameters()}
    assert len(learned) == len({id(one) for one in learned})
    found = network(network.read(PAIRS))
    (found * torch.linspace(-1, 2, len(found))).sum().backward()  # the bias of a score has no part in any hinge
    for name, weight in network.named_parameters():
        if not any(part in name for part in unread):
            assert weight.grad is not None, name
            assert weight.grad.abs().sum() > 0 or "key.bias" in name, name  # a softmax does not see it
    torch.optim.SGD(learned, lr=0.1).step()
    moving = {name for name, _ in network.named_parameters()}
    for name, value in network.state_dict().items():
        assert name in moving or torch.equal(value, before[name]), name


def literal_chunks(query: str, text: str, most: int, longest: int = LONGEST) -> list[tuple[list[int], int, int]]:
    """(ids, query pieces, document pieces) of each chunk, by slicing lists of BERT's ids."""
    one = tokenizer("bert")
    asked = one(query, add_special_tokens=False)["input_ids"][: longest // 2 - 4]
    shown = one(text, add_special_tokens=False)["input_ids"]
    room = longest - len(asked) - 3
    parts = [shown[start : start + room] for start in range(0, max(1, len(shown)), room)][:most]
    cls, sep = one.cls_token_id, one.sep_token_id
    return [([cls, *asked, sep, *part, sep], len(asked), len(part)) for part in parts]


def literal_states(ids: list[int], asked: int) -> list[list[list[float]]]:
    """Layer, token, dimension: what the original BERT makes of one unpadded sequence."""
    types = [0] * (asked + 2) + [1] * (len(ids) - asked - 2)
    with torch.no_grad():
        out = tiny_model("bert")(
            input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types]), output_hidden_states=True
        )
    return [state[0].tolist() for state in out.hidden_states]
