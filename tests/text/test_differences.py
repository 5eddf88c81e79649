"""Where two texts differ, by words: right for all texts, and in time that does not grow with the square."""

import time
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.text.differences import stretches, word_differences

WORDS = [f"w{number}" for number in range(2_000)]


def outside(text, spans):
    """The text between the spans."""
    ends = [0, *(end for _, end in spans)]
    return [text[a:b] for a, b in zip(ends, [*(start for start, _ in spans), len(text)], strict=True)]


@given(st.text("ab \n.é", max_size=60), st.text("ab \n.é", max_size=60))
def test_what_is_outside_the_differences_is_the_same(baseline, perturbed):
    spans = word_differences(baseline, perturbed)
    assert outside(baseline, spans["baseline"]) == outside(perturbed, spans["perturbed"])
    assert (baseline == perturbed) == (spans == {"baseline": [], "perturbed": []})


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=30), st.data())
def test_one_word_changed_is_one_difference(words, data):
    place = data.draw(st.integers(0, len(words) - 1))
    assert stretches(words, [*words[:place], "x", *words[place + 1 :]]) == [(place, place + 1, place, place + 1)]


def megabyte(random):
    """About a megabyte of words that come again and again."""
    words, size = [], 0
    while size < 1_000_000:
        words.append(random.choice(WORDS))
        size += len(words[-1]) + 1
    return words


def changed(words, random, count):
    found = list(words)
    for place in random.sample(range(len(found)), count):
        found[place] = "other"
    return found


@pytest.mark.parametrize(
    "how", ["one word", "every hundredth word", "all words", "in another order", "one word only"]
)
def test_texts_of_a_megabyte_take_seconds(how):
    random = Random(16)
    ours = ["a"] * 500_000 if how == "one word only" else megabyte(random)
    theirs = {
        "one word": lambda: changed(ours, random, 1),
        "every hundredth word": lambda: changed(ours, random, len(ours) // 100),
        "all words": lambda: megabyte(random),
        "in another order": lambda: random.sample(ours, len(ours)),
        "one word only": lambda: ["b", *ours[::2], "b"],
    }[how]()
    baseline, perturbed = " ".join(ours), " ".join(theirs)
    start = time.process_time()
    spans = word_differences(baseline, perturbed)
    assert time.process_time() - start < 20, "of this machine's time; the square would take an hour"
    assert outside(baseline, spans["baseline"]) == outside(perturbed, spans["perturbed"])
    if how == "one word":
        assert len(spans["baseline"]) == 1
