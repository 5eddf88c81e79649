"""The queries' two halves: nothing of a query on both sides, every set on both, the same ones each time."""

from hypothesis import given, settings
from hypothesis import strategies as st

from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.halves import Halves, evenly, split


def pair(name, query, qid=None):
    return MinimalPair(name, query, "the dog", "the cat", axiom="TFC1", qid=qid)


def many(axiom, queries, each=2):
    return [pair(f"{axiom}{q}-{i}", f"query {q}", f"q{q}") for q in queries for i in range(each)]


@settings(max_examples=30, deadline=None)
@given(
    first=st.sets(st.integers(0, 30), min_size=1), second=st.sets(st.integers(0, 30), min_size=1),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_a_query_stands_on_one_side_with_all_its_pairs(first, second, seed):
    sets = {"TFC1": many("t", first), "STMC1": many("s", second, 3)}
    here, there = split(sets, seed)
    sides = [{one.qid for some in half.values() for one in some} for half in (here, there)]
    assert not sides[0] & sides[1]
    for name, pairs in sets.items():
        assert sorted(one.id for half in (here, there) for one in half[name]) == sorted(one.id for one in pairs)
    assert split(sets, seed) == [here, there]


def test_each_set_is_halved_though_one_has_few_of_the_queries():
    sets = {"TFC1": many("t", range(40)), "STMC1": many("s", range(12))}
    for half in split(sets, 3):
        assert len({one.qid for one in half["TFC1"]}) == 20
        assert len({one.qid for one in half["STMC1"]}) == 6


def test_one_text_is_one_query_though_only_one_file_names_it():
    sets = {
        "TFC1": [pair(f"t{i}", f"query {i}", f"q{i}") for i in range(20)],
        "own": [pair(f"o{i}", f"query {i}") for i in range(20)],
    }
    for half in split(sets, 0):
        assert {one.query for one in half["TFC1"]} == {one.query for one in half["own"]}


def test_pairs_are_drawn_query_by_query():
    pairs = [*many("t", range(4), 1), *many("u", [0], 30)]
    drawn = evenly(pairs, 6, seed=1)
    assert len({one.qid for one in drawn[:4]}) == 4 and {one.qid for one in drawn[4:]} == {"q0"}
    assert evenly(pairs, 100, seed=1) != pairs and len(evenly(pairs, 100, seed=1)) == len(pairs)


def test_too_few_queries_are_not_halved():
    few = Halves.drawn({"TFC1": many("t", range(11))}, 100, seed=0)
    assert not few.tested and len(few.selection["TFC1"]) == 22 and few.confirmation == {"TFC1": []}
    enough = Halves.drawn({"TFC1": many("t", range(12)), "STMC1": many("s", range(2))}, 100, seed=0)
    assert enough.tested and len({one.qid for one in enough.selection["TFC1"]}) == 6
    drawn = Halves.drawn({"TFC1": many("t", range(40))}, 20, seed=0)
    assert drawn.tested and [len(half["TFC1"]) for half in drawn[:2]] == [10, 10]
