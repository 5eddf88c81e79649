"""Which candidates are chosen and confirmed: the formula by loops, and how often it errs, on rows made by hand."""

import numpy as np
import pytest
from scipy import stats

from whyrank.circuits.criterion import BORDERLINE, KEPT, UNCONFIRMED, UNTESTED, Criterion, one_sided
from whyrank.circuits.query_sums import QuerySums, together
from whyrank.core.errors import UserError

HEADS = 144


def sums(draw, queries, planted=0.0, gap=1.0, noise=1.0, heads=HEADS, tail="normal"):
    """Pairs of queries whose effects have `planted` means and heavy or light tails, by query and by pair."""
    count = draw.integers(1, 4, queries)
    base = draw.standard_t(3, (queries, heads)) if tail == "heavy" else draw.normal(size=(queries, heads))
    gaps = gap * count + 0.3 * draw.normal(size=queries)
    if tail == "scaled":  # a skewed gap, and noise as large as the gap is
        gaps = gap * count * draw.exponential(1.0, queries)
        base *= np.abs(gaps / count)[:, None]
    effect = count[:, None] * (noise * base + planted)
    effect += noise * 0.5 * np.sqrt(count)[:, None] * draw.normal(size=(queries, heads))
    names = tuple(f"q{i}" for i in range(queries))
    return QuerySums(names, effect, gaps, gaps, np.full(queries, 10.0), count.astype(float))


def judged(first, second, criterion=None):
    """By candidate, the status of those chosen."""
    usual = np.ones(next(iter(first.values())).effect.shape[1], dtype=bool)
    choice = (criterion or Criterion()).choose(first, usual)
    if not len(choice.chosen):
        return {}
    found = choice.confirmed({name: one.only(choice.chosen) for name, one in second.items()})
    return {one.number: one.status for one in found}


@pytest.mark.parametrize("tail", ["normal", "heavy", "scaled"])
@pytest.mark.parametrize(("queries", "sets"), [(6, 1), (10, 1), (30, 1), (10, 2)])
def test_of_noise_some_head_is_confirmed_in_at_most_6_percent(queries, sets, tail):
    draw, runs, wrong = np.random.default_rng(queries), 120, 0
    for _ in range(runs):
        halves = [{str(i): sums(draw, queries, tail=tail) for i in range(sets)} for _ in range(2)]
        wrong += bool({KEPT, BORDERLINE} & set(judged(*halves).values()))
    assert wrong / runs <= 0.06


def test_planted_heads_are_kept_and_others_are_not():
    draw, planted, kept, wrong = np.random.default_rng(0), np.zeros(HEADS), 0, 0
    planted[:8], planted[8:12] = 1.0, -1.0
    for _ in range(20):
        halves = [{name: sums(draw, 25, planted, noise=0.4) for name in "ab"} for _ in range(2)]
        found = judged(*halves)
        kept += sum(found.get(i) == KEPT for i in range(12))
        wrong += any(status in (KEPT, BORDERLINE) for i, status in found.items() if i >= 12)
    assert kept >= 0.95 * 12 * 20 and wrong <= 1


def test_a_set_however_large_does_not_push_in_a_head_that_the_other_does_not_support():
    draw, strong = np.random.default_rng(1), np.zeros(HEADS)
    strong[:3], strong[3:6] = 50.0, 50.0
    both = strong * np.array([1.0] * 3 + [0.0] * (HEADS - 3)) / 50
    wrong = kept = 0
    for _ in range(40):
        halves = [
            {"large": sums(draw, 60, strong, gap=100.0), "small": sums(draw, 20, both, noise=0.3)}
            for _ in range(2)
        ]
        found = judged(*halves)
        wrong += any(found.get(i) in (KEPT, BORDERLINE) for i in (3, 4, 5))
        kept += sum(found.get(i) == KEPT for i in range(3))
    assert wrong <= 2 and kept >= 110


def test_a_head_that_goes_the_other_way_in_the_other_set_is_not_chosen():
    draw, up = np.random.default_rng(2), np.zeros(HEADS)
    up[:2] = 3.0
    down = up * np.array([-1.0] + [1.0] * (HEADS - 1))
    halves = [{"a": sums(draw, 30, up), "b": sums(draw, 30, down)} for _ in range(2)]
    found = judged(*halves)
    assert 0 not in found and found[1] == KEPT


def test_a_gap_that_falls_turns_the_effects_round():
    draw, planted = np.random.default_rng(3), np.zeros(HEADS)
    planted[0] = 3.0
    halves = [{"a": sums(draw, 30, planted), "b": sums(draw, 30, -planted, gap=-1.0)} for _ in range(2)]
    assert judged(*halves)[0] == KEPT


def test_a_set_whose_gap_may_be_0_decides_nothing():
    draw, planted = np.random.default_rng(14), np.zeros(HEADS)
    planted[0] = 3.0
    first = {"a": sums(draw, 30, planted), "flat": sums(draw, 30, 0.0, gap=0.0)}
    choice = Criterion().choose(first, np.ones(HEADS, dtype=bool))
    assert choice.deciding == ("a",) and choice.refused == {"a": None, "flat": "its gap may be 0"}
    assert choice.chosen[0] == 0
    few = {"a": sums(draw, 30, planted), "few": sums(draw, 5, planted)}
    assert Criterion().choose(few, np.ones(HEADS, dtype=bool)).refused["few"] == "too few queries"


def test_without_queries_enough_heads_are_chosen_and_never_confirmed():
    draw, planted = np.random.default_rng(5), np.zeros(HEADS)
    planted[0] = 9.0
    choice = Criterion().choose({"a": sums(draw, 5, planted)}, np.ones(HEADS, dtype=bool), tested=False)
    found = choice.untested()
    assert found[0].number == 0 and found[0].status == UNTESTED and found[0].p_holm is None


def test_the_cut_off_by_loops():
    draw, planted = np.random.default_rng(6), np.zeros(HEADS)
    planted[:6] = 2.0
    first = {name: sums(draw, 20, planted) for name in "ab"}
    choice = Criterion().choose(first, np.ones(HEADS, dtype=bool))
    c = stats.norm.ppf(1 - 1 / (2 * HEADS))
    assert c == pytest.approx(2.70, abs=0.005)
    expected, heights = [], {}
    for head in range(HEADS):
        passes, height = [], []
        for one in first.values():
            means = [one.effect[:, i].sum() / one.pairs.sum() for i in range(HEADS)]
            usual = 1.4826 * np.median(np.abs(means))
            passes.append(means[head] >= max(c * usual, 0.01 * one.gap.sum() / one.pairs.sum()))
            height.append(means[head] / usual)
        expected += [head] if all(passes) else []
        heights[head] = min(height)
    assert sorted(choice.chosen) == expected
    found = [choice.standing[i] for i in choice.chosen]
    assert found == pytest.approx(sorted((heights[i] for i in expected), reverse=True))


def test_borderline_is_confirmed_but_small_there():
    draw, large, small = np.random.default_rng(7), np.zeros(HEADS), np.zeros(HEADS)
    large[0], small[0] = 1.0, 0.12
    found = judged({"a": sums(draw, 60, large, noise=0.1)}, {"a": sums(draw, 60, small, noise=0.1)},
                   Criterion(share=0.5))  # fmt: skip
    assert found == {0: BORDERLINE}
    none = judged({"a": sums(draw, 60, large, noise=0.1)}, {"a": sums(draw, 60, 0.0, noise=0.1)})
    assert none[0] == UNCONFIRMED


def test_p_by_loops():
    draw = np.random.default_rng(8)
    whole, effect = draw.normal(2.0, size=9), draw.normal(0.3, size=(9, 5))
    for column, found in enumerate(one_sided(effect, whole)):
        shares = [np.delete(effect[:, column], q).sum() / np.delete(whole, q).sum() for q in range(9)]
        share = effect[:, column].sum() / whole.sum()
        error = np.sqrt(8 / 9 * sum((one - share) ** 2 for one in shares))
        assert found == pytest.approx(stats.t.sf(share / error, df=2 / 3 * 8))
    falling = one_sided(effect, -whole)
    assert falling == pytest.approx(one_sided(effect, whole)), "the effect's sign counts, not the whole's"
    assert one_sided(np.array([[1.0, -1.0]] * 6), np.ones(6)) == pytest.approx([2.0**-6, 1.0])


def test_a_steady_share_is_sure_though_the_gap_is_not_steady():
    draw = np.random.default_rng(10)
    gap = draw.exponential(1.0, 20) * np.where(draw.random(20) < 0.3, -0.5, 1.0)
    effect = (0.2 * gap + 0.02 * draw.normal(size=20))[:, None]
    assert stats.ttest_1samp(effect[:, 0], 0, alternative="greater").pvalue > 0.005
    assert one_sided(effect, gap)[0] < 0.0005


def test_a_query_of_two_sets_is_one_query():
    draw = np.random.default_rng(9)
    one, other = sums(draw, 4, heads=3), sums(draw, 2, heads=3)
    found = together([one, other])
    assert found.queries == 4 and found.pairs.sum() == one.pairs.sum() + other.pairs.sum()
    assert found.effect[:2] == pytest.approx(one.effect[:2] + other.effect)


def test_thresholds_print_as_they_parse():
    assert str(Criterion.parse("share=0.02")) == "share=0.02,edge=0.05"
    assert Criterion.parse(str(Criterion(2.5, 0.1, 0.2))) == Criterion(2.5, 0.1, 0.2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("relative=0.3", "no threshold is called 'relative'"), ("share", "'share' is not a threshold"),
        ("share=2", "a threshold share=2"), ("edge=-1", "edge=-1"), ("deviations=-1", "deviations=-1"),
        ("deviations=nan", "deviations=nan"),
    ],
)  # fmt: skip
def test_a_threshold_that_is_none(text, said):
    with pytest.raises(UserError, match=said):
        Criterion.parse(text)
