"""The mutators do damage, say which, and do the same again from the same seed."""

import json
from random import Random

import pytest

from tests.mutate import VALUES, at, mutated_bytes, mutated_json, random_place, replaced, spelled, written

ORIGINAL = {"kind": "bi-encoder", "settings": {"lengths": [1, {"a": 2}]}, "more": [None, "x"]}
TEXT = json.dumps(ORIGINAL).encode()


@pytest.mark.parametrize("mutated", [mutated_json, mutated_bytes])
def test_the_same_seed_makes_the_same_damage_and_nearly_all_is_damage(mutated):
    some, again = ([mutated(TEXT, random) for _ in range(300)] for random in (Random(3), Random(3)))
    assert some == again
    assert sum(one.content != TEXT for one in some) > 295
    assert len({one.name for one in some}) > 10 and all(one.name for one in some)
    assert json.loads(TEXT) == ORIGINAL


def test_every_value_can_stand_at_every_place():
    for seed, (name, value) in enumerate(VALUES.items()):
        place = random_place(ORIGINAL, Random(seed))
        content = written(replaced(ORIGINAL, place, value))
        assert content != TEXT, name
        if name not in ("nesting", "nested objects", "a number of 5,000 digits"):
            json.loads(content)


def test_places_are_named_and_found():
    place = ("settings", "lengths", 1, "a")
    assert spelled(place) == "settings.lengths[1].a" and spelled(()) == "$"
    assert at(ORIGINAL, place) == 2
    assert at(replaced(ORIGINAL, place, 5), place) == 5 and at(ORIGINAL, place) == 2
    assert {len(random_place(ORIGINAL, Random(seed))) for seed in range(50)} == {1, 2, 3, 4}
