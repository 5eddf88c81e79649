"""Random circuits have as many heads of each layer as the circuit they are compared with."""

from collections import Counter

from whyrank.circuits.head import Head
from whyrank.circuits.random_heads import layer_matched

EVERY = [Head(layer, head) for layer in range(12) for head in range(12)]


def test_as_many_of_each_layer():
    heads = [Head(0, 8), Head(8, 0), Head(8, 1), Head(10, 1), Head(10, 4), Head(10, 7), Head(10, 10)]
    drawn = layer_matched(EVERY, heads, 20, "0")
    assert len(drawn) == 20 and len({tuple(one) for one in drawn}) > 15
    for one in drawn:
        assert Counter(head.layer for head in one) == {0: 1, 8: 2, 10: 4} and len(set(one)) == 7
    assert layer_matched(EVERY, heads, 20, "0") == drawn != layer_matched(EVERY, heads, 20, "1")


def test_a_whole_layer_is_all_there_is():
    assert layer_matched(EVERY, EVERY[:12], 2, "0") == [EVERY[:12]] * 2 and layer_matched(EVERY, [], 2, "0") == [
        [],
        [],
    ]
