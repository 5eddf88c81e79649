"""The backward search on a tiny cross-encoder, against plain sweeps and arithmetic."""

import numpy as np
import pandas as pd
import pytest

from tests.checkpoints import save
from whyrank.axioms.pair import MinimalPair
from whyrank.circuits.head import Head, all_heads, parse_heads
from whyrank.circuits.results import EMBED
from whyrank.circuits.search import Search, backward_search
from whyrank.circuits.shares import Shares
from whyrank.circuits.threshold import BORDERLINE, KEPT, LEFT, Threshold
from whyrank.core.errors import UserError
from whyrank.core.progress import no_progress
from whyrank.evaluation.bootstrap import Resampled
from whyrank.interventions.api import patch
from whyrank.rankers.load import load

WORDS = ["cat", "dog", "tree", "house", "mat", "people"]


def pairs(axiom, count=6):
    """A word of the query (or of another meaning) against a filler."""
    found = []
    for i in range(count):
        query, word = WORDS[i % 6], WORDS[i % 6] if axiom == "TFC1" else WORDS[(i + 1) % 6]
        found.append(
            MinimalPair(
                f"{axiom}{i}", f"red {query}", "the blue sat on a", f"the blue sat on {word}", axiom=axiom,
                term=query, qid=f"q{i % 3}",
            )
        )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def ranker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ce")
    return load(str(save(folder, head="AutoModelForSequenceClassification")), kind="cross-encoder")


def shares_of(ranker, sets, to):
    """Sum of effects over sum of gaps, from `patch` itself."""
    frames = [patch(ranker, some, method="path", to=to).frame for some in sets.values()]
    rows = pd.concat(frames)
    sums = rows.groupby("site", sort=False)["effect"].sum()
    return (sums / (rows["perturbed"] - rows["base"]).groupby(rows["site"], sort=False).sum()).to_dict()


def test_each_step_is_what_path_patching_gives(ranker):
    sets = {"TFC1": pairs("TFC1"), "STMC1": pairs("STMC1")}
    how = Search(Threshold.parse("relative=0.5", "point"), 100, 100, most_steps=2, race=100)
    circuit = backward_search(ranker, sets, how)
    first = circuit.steps[0]
    expected = shares_of(ranker, sets, "logits")
    assert first.shares == pytest.approx({name.removesuffix(".z"): v for name, v in expected.items()}, abs=1e-5)
    largest = max(map(abs, expected.values()))
    strong = {n.removesuffix(".z") for n, v in expected.items() if abs(v) >= 0.5 * largest}
    assert {edge.sender for edge in circuit.edges if edge.step == 0} == strong
    for step in circuit.steps[1:4]:
        assert set(step.receivers) == strong
        to = ",".join(f"{name}.{step.part}" for name in step.receivers)
        expected = shares_of(ranker, sets, to)
        heads = {name: v for name, v in step.shares.items() if name != EMBED}
        assert heads == pytest.approx({n.removesuffix(".z"): v for n, v in expected.items()}, abs=1e-5)
    assert [step.part for step in circuit.steps[1:4]] == ["v", "q", "k"]


def test_senders_that_are_followed_keep_their_rows_of_all_pairs(ranker):
    sets = {"TFC1": pairs("TFC1", 12)}
    threshold = Threshold.parse("relative=0.3", "point")
    whole = backward_search(ranker, sets, Search(threshold, 12, 12, most_steps=1, race=100))
    raced = backward_search(
        ranker, sets, Search(threshold, 12, 12, most_steps=1, race=4, followed=3, cheap_layers=0)
    )
    for one, other in zip(whole.steps[1:], raced.steps[1:], strict=True):
        assert other.followed < one.followed and other.chosen_on == 4 and sum(other.pairs.values()) == 12
        for edge in (edge for edge in raced.edges if (edge.step, edge.part) == (other.number, other.part)):
            # the scores' float32 rounding differs with the batch, and with the number of threads
            assert edge.share.value == pytest.approx(one.shares[edge.sender], abs=1e-5)


def test_a_search_that_is_stopped_goes_on(ranker, tmp_path):
    sets = {"TFC1": pairs("TFC1")}
    how = Search(Threshold.parse("relative=0.5", "point"), most_steps=1)
    whole = backward_search(ranker, sets, how)
    calls = []

    class Stopped(Exception):
        pass

    def progress(name, count):
        calls.append(name)
        if len(calls) == 2:
            raise Stopped
        return no_progress(name, count)

    with pytest.raises(Stopped):
        backward_search(ranker, sets, how, shards=tmp_path, progress=progress)
    again = backward_search(ranker, sets, how, shards=tmp_path)
    assert again == whole


def test_pairs_of_one_id_in_two_files_are_refused(ranker):
    with pytest.raises(UserError, match="same id"):
        backward_search(ranker, {"a": pairs("TFC1"), "b": pairs("TFC1")})


def rows(values, base=0.0, gap=1.0):
    """Rows of one site a key: values by query."""
    return pd.DataFrame(
        [
            {"pair": f"{qid}{i}", "qid": qid, "site": site, "base": base,
             "perturbed": base + gap, "patched": base + v, "effect": v, "direction": "denoise", "method": "path"}
            for site, queries in values.items() for qid, several in queries.items() for i, v in enumerate(several)
        ]
    )  # fmt: skip


def test_shares_over_sets_are_ratios_of_sums():
    terms = rows({"x": {"q1": [0.5, 0.7], "q2": [0.1]}, "y": {"q1": [0.0, 0.0], "q2": [0.3]}}, gap=2.0)
    synonyms = rows({"x": {"q3": [0.2]}, "y": {"q3": [-0.2]}}, gap=0.5)
    found = Shares.of({"terms": terms, "synonyms": synonyms}, draws=50)
    assert found.together == pytest.approx([1.5 / 6.5, 0.1 / 6.5])
    assert found.by_set["synonyms"] == pytest.approx([0.4, -0.4])
    assert found.queries == 3 and found.pairs == {"terms": 3, "synonyms": 1}
    assert [one.reason for one in found.resampled.intervals()] == ["too few queries"] * 2
    more = rows({"x": {f"q{i}": [0.1 * i] for i in range(8)}, "y": {f"q{i}": [0.2] for i in range(8)}})
    again = Shares.of({"terms": more}, draws=50).resampled
    assert again.drawn.shape == (50, 2) and again.left_out.shape == (8, 2)


def test_with_fewer_than_six_queries_the_cut_off_alone_decides():
    """A circuit on two pairs is not sure: no interval, no support, and nothing is called borderline."""
    two = {"x": {"q1": [0.5], "q2": [0.5]}, "y": {"q1": [0.1], "q2": [0.1]}}
    found = Shares.of({"terms": rows(two)}).resampled
    assert [one.reason for one in found.intervals()] == ["too few queries"] * 2
    words, support, _ = Threshold(relative=0.3).decisions(found, np.ones(2, dtype=bool))
    assert words == [KEPT, LEFT] and np.isnan(support).all()


def test_of_few_queries_the_corrected_interval_decides():
    """Six queries of which one is against the others: the draws alone would exclude 0."""
    values = [0.2, 0.25, 0.3, 0.2, 0.6, -0.15]
    found = Shares.of({"terms": rows({"x": {f"q{i}": [v] for i, v in enumerate(values)}})}).resampled
    assert (found.drawn > 0).mean() > 0.975 and not found.interval().leaves_out_zero
    assert Threshold(relative=0.3).decisions(found, np.ones(1, dtype=bool))[0] == [BORDERLINE]


def drawn_of(shares, drawn):
    """Shares over 20 queries, with these draws."""
    return Resampled(shares, drawn, np.empty((0, len(shares))), np.full(len(shares), 20))


def test_maps_of_heads_are_compared_without_the_embeddings(ranker):
    sets = {"TFC1": pairs("TFC1"), "STMC1": pairs("STMC1")}
    circuit = backward_search(
        ranker, sets, Search(Threshold.parse("relative=0.5", "point"), 100, 100, most_steps=1)
    )
    step = next(step for step in circuit.steps if step.part == "v")
    maps = []
    for some in sets.values():
        frame = patch(ranker, some, method="path", to=",".join(f"{name}.v" for name in step.receivers)).frame
        maps.append(frame.groupby("site", sort=False)["effect"].sum().to_numpy())
    assert step.between_sets.pearson.value == pytest.approx(np.corrcoef(*maps)[0, 1], abs=1e-4)
    assert step.between_sets.pearson.pairs == 12 and step.between_sets.sites == len(maps[0])


def test_the_interval_decides():
    shares = np.array([1.0, 0.4, 0.35, 0.1, 0.9])
    heads = np.array([True] * 4 + [False])
    drawn = np.stack([shares, shares, shares, np.array([1.0, 0.4, -0.1, 0.1, 0.9])] * 10)
    words, support, cutoff = Threshold(relative=0.3, share=None).decisions(drawn_of(shares, drawn), heads)
    assert words == [KEPT, KEPT, BORDERLINE, LEFT, KEPT] and cutoff == pytest.approx(0.3)
    assert support == pytest.approx([1, 1, 0.75, 0, 1])
    assert Threshold(relative=0.3, decide="point").decisions(drawn_of(shares, drawn), heads)[0][2] == KEPT
    shaky = drawn.copy()
    shaky[:4, 1] = 0.2  # still positive, but below the cut-off in a tenth of the draws
    assert Threshold(relative=0.3, decide="sure").decisions(drawn_of(shares, shaky), heads)[0][1] == BORDERLINE
    assert Threshold(relative=0.3).decisions(drawn_of(shares, shaky), heads)[0][1] == KEPT


def test_the_embeddings_do_not_raise_the_cut_off():
    shares, heads = np.array([0.1, 0.05, 0.9]), np.array([True, True, False])
    found = drawn_of(shares, np.stack([shares] * 4))
    words, _, cutoff = Threshold(relative=0.3, share=None).decisions(found, heads)
    assert cutoff == pytest.approx(0.03) and words == [KEPT] * 3


def test_the_highest_of_several_cut_offs_holds():
    shares = np.array([0.5, 0.2, 0.1, 0.0])
    assert Threshold.parse("relative=0.3,share=0.3").cutoff(shares) == pytest.approx(0.3)
    assert Threshold.parse("quantile=0.5").cutoff(shares) == pytest.approx(0.15)
    assert str(Threshold.parse("quantile=0.5")) == "quantile=0.5"


@pytest.mark.parametrize("text", ["relative", "size=0.3", "relative=2", "relative=x"])
def test_a_threshold_that_is_none(text):
    with pytest.raises(UserError):
        Threshold.parse(text)


def test_heads_print_as_they_parse(ranker):
    assert str(Head.parse("10.1")) == "L10.H1" and Head.parse("L10.H1").short == "10.1"
    assert parse_heads("0.1, L2.H3", ranker.encoder) == [Head(0, 1), Head(2, 3)]
    assert len(all_heads(ranker.encoder)) == 12
    with pytest.raises(UserError, match="no layer 7"):
        parse_heads("7.1", ranker.encoder)
    with pytest.raises(UserError, match="not a head"):
        Head.parse("L10")
