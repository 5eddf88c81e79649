"""A above B, and why not on top: every change that is named was scored, and is as small as the search says."""

from itertools import combinations

import numpy as np
import pytest

from whyrank.collections.collection import Collection
from whyrank.collections.records import Retrieved
from whyrank.edits.dial import Dial
from whyrank.edits.edit import Edit, TermEdit
from whyrank.edits.rows import apply
from whyrank.explain.api import explain
from whyrank.explain.explanation import Explanation
from whyrank.explain.scored import ScoredTexts
from whyrank.explain.versus import fewest_words
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker, Scores, Source
from whyrank.text.words import words


class Sum(Ranker):
    """Adds up what its words are worth."""

    kind, name, source = "test", "sum", Source("a test", "exact")

    def __init__(self, **worth):
        self.worth = worth

    def fingerprint(self):
        return str(self.worth)

    def scores(self, pairs, progress=None):
        return Scores(
            np.array([sum(self.worth.get(word, 0.0) for word in words(text)) for _, text in pairs]), cut=0
        )


RANKER = Sum(cat=3.0, red=2.0, old=1.0, dog=2.5, bad=-2.0)
A, B = "A red old cat here.", "One bad dog there."


@pytest.mark.parametrize("order", [(A, B), (B, A)])
def test_the_higher_one_is_explained_and_the_swap_is_real(order):
    found = explain(RANKER, "a pet", order[0], versus=order[1], remove="delete")
    assert (found.document, found.score, found.versus.score) == (A, 6.0, 0.5)
    differences = {one.word: one.difference for one in found.versus.words}
    assert differences["cat"] == 3 and differences["bad"] == 2 and differences["dog"] == -2.5
    swap = found.versus.swap
    assert set(swap.words) == {"cat", "red", "old"} and swap.side == "above" and swap.above < swap.below == 0.5
    assert "They change places without" in " ".join(found.verdict())


def test_one_word_of_the_lower_document_may_be_the_smaller_change():
    found = explain(Sum(cat=1.0, red=1.0, dog=2.5, bad=-2.0), "a pet", "A red cat.", versus=B, remove="delete")
    assert found.versus.swap.words == ("bad",) and found.versus.swap.side == "below"


def test_no_swap_is_said():
    found = explain(Sum(cat=3.0), "a pet", "A cat of cats.", versus="A house.", remove="delete")
    assert found.versus.swap is None
    assert "change places were not found" in " ".join(found.verdict())


@pytest.mark.parametrize("seed", range(8))
def test_the_fewest_words_are_as_few_as_brute_force_finds(seed):
    """With effects that add up the search finds a smallest set; every set that it returns reaches the goal."""
    draw = np.random.default_rng(seed)
    worth = {f"w{i}": float(value) for i, value in enumerate(sorted(draw.uniform(0.1, 3, 7), reverse=True))}
    ranker, goal = Sum(**worth), float(draw.uniform(0.5, sum(worth.values())))

    def without(taken):
        return "q", " ".join(["x", *(word for word in worth if word not in taken)])

    found = fewest_words(ScoredTexts(ranker, 400), list(worth), without, lambda score: score < goal)
    fewest = next(
        size for size in range(len(worth) + 1)
        if any(sum(v for w, v in worth.items() if w not in some) < goal for some in combinations(worth, size))
    )  # fmt: skip
    assert len(found) == max(1, fewest)
    assert ranker.score([without(found)])[0] < goal


def test_why_not_on_top():
    hits = [
        {"id": "a", "text": "A cat of mine."},
        {"id": "b", "text": "A red bad house."},
        {"id": "c", "text": "Old."},
    ]
    found = explain(Sum(cat=3.0, red=2.5, old=1.0, bad=-2.0), "cat", "b", hits=hits, top=1, remove="delete")
    why = found.why_not
    assert (why.rank, why.of, why.needed, why.missing, why.listed_at) == (3, 3, 3.0, ("cat",), 2)
    assert [(one.way, one.words, one.rank) for one in why.lifts] == [("added", ("cat",), 1)]
    assert why.lifts[0].score == pytest.approx(3.5)
    second = explain(Sum(cat=3.0, red=2.5, old=1.0, bad=-2.0), "cat", "b", hits=hits, top=2, remove="delete")
    assert [(one.way, one.words) for one in second.why_not.lifts] == [("removed", ("bad",)), ("added", ("cat",))]
    assert "It lacks 'cat' of the query." in " ".join(found.verdict())
    first = explain(Sum(cat=3.0), "cat", "a", hits=hits, top=1)
    assert first.why_not.lifts == () and "the first already" in first.verdict()[0]


def test_a_document_that_an_earlier_stage_lost_is_said_to_be_lost():
    collection = Collection.from_records("t", {"a": "cat", "b": "dog", "c": "cat cat"}, {"1": "cat"})
    ranker = load("bm25", collection=collection)
    run = {"1": _rows("a", "c")}
    found = explain(ranker, "1", "b", collection=collection, run=run, top=1)
    assert not found.why_not.among_candidates and found.why_not.of == 3
    assert "the stage before lost it" in " ".join(found.verdict())


def test_a_lost_document_that_this_ranker_would_put_first_is_said_to_be_lost():
    collection = Collection.from_records("t", {"a": "cat", "b": "dog", "c": "cat cat"}, {"1": "cat"})
    found = explain(Sum(dog=1.0), "1", "b", collection=collection, run={"1": _rows("a", "c")}, top=1)
    said = found.verdict()
    assert "b is not among the candidates: BM25 does not find it" in said[0]
    assert said[1] == "If it did, the document would be at rank 1 of 3 with 1.00: the first."


def test_equal_scores_rank_as_they_are_listed():
    hits = [{"id": "a", "text": "A cat."}, {"id": "b", "text": "A cat."}, {"id": "c", "text": "A cat here."}]
    ranks = [explain(Sum(cat=1.0), "cat", one, hits=hits, top=1).why_not.rank for one in "abc"]
    assert ranks == [1, 2, 3]


def test_the_text_of_a_candidate_is_that_candidate():
    texts = ["A cat.", "A dog here."]
    found = explain(Sum(dog=1.0), "cat", "A cat.", hits=texts, top=1)
    assert (found.docid, found.why_not.rank, found.why_not.of, found.why_not.among_candidates) == ("0", 2, 2, True)


def test_candidates_are_scored_once():
    scored = []

    class Counted(Sum):
        def scores(self, pairs, progress=None):
            scored.extend(pairs)
            return super().scores(pairs, progress)

    hits = [f"A cat number {i} here." for i in range(9)]
    explain(Counted(cat=1.0, number=-1.0), "cat", "3", hits=hits, top=1)
    assert max(scored.count(("cat", text)) for i, text in enumerate(hits) if i not in (0, 3)) == 1


def test_a_real_cross_encoder_changes_places_as_it_is_said(real, tmp_path):
    ranker, query = real("ce-minilm-l12"), "why are houseplant leaves turning yellow"
    first = "Too much water is the main reason for yellow leaves on a houseplant."
    second = "Houseplant leaves turn yellow when roots sit in wet soil."
    found = explain(ranker, query, second, versus=first, out=tmp_path / "run")
    assert found.score > found.versus.score
    swap, turn = found.versus.swap, found.versus.turn
    assert swap.above < swap.below
    other = load("ce-minilm-l12")
    apply(other, Dial.of(other).change(Edit((TermEdit(turn.term, turn.direction, turn.scale),))))
    above, below = other.score([(query, found.document), (query, found.versus.document)])
    assert above < below and above == pytest.approx(turn.above, abs=1e-4)
    assert ranker.score([(query, found.document)])[0] == pytest.approx(found.score, abs=1e-4), "it is itself again"
    assert Explanation.read(tmp_path / "run") == found


def _rows(*names):
    return [Retrieved("1", name, rank, 1.0 / rank, "t") for rank, name in enumerate(names, start=1)]
