"""The tables of the study of DGRe, computed by hand and by scipy."""

from statistics import fmean
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from whyrank.papers.disentangled.tables import found_by, length_groups, length_table, only, pooled, table
from whyrank.papers.disentangled.variants import comparisons, rows_of

M = ["P@20", "nDCG@20"]


def run(fold, seed, **values):
    halves = {q: v / 2 for q, v in values.items()}
    return SimpleNamespace(fold=fold, seed=seed, test={"P@20": values, "nDCG@20": halves})


def training(seeds, generator, shift=0.0):
    """Two folds of six queries each."""
    runs = [
        run(fold, seed, **{f"q{fold}{i}": float(generator.random() + shift) for i in range(6)})
        for fold in (1, 2)
        for seed in range(seeds)
    ]
    return SimpleNamespace(models=runs)


def holm_by_hand(p_values):
    """Step by step from the smallest."""
    order, adjusted, highest = np.argsort(p_values), [0.0] * len(p_values), 0.0
    for step, i in enumerate(order):
        highest = max(highest, min(1.0, p_values[i] * (len(p_values) - step)))
        adjusted[i] = highest
    return adjusted


def test_folds_are_pooled_within_each_seed():
    trained = SimpleNamespace(models=[run(2, 1, b=0.5), run(1, 0, a=0.2), run(1, 1, a=0.4), run(2, 0, b=0.8)])
    first, second = pooled(trained)
    assert first["P@20"] == {"a": 0.2, "b": 0.8} and second["P@20"] == {"b": 0.5, "a": 0.4}
    assert first["nDCG@20"] == {"a": 0.1, "b": 0.4}
    with pytest.raises(AssertionError, match="one fold only"):
        pooled(SimpleNamespace(models=[run(1, 0, a=0.2), run(2, 0, a=0.2)]))


def test_seeds_are_averaged_before_queries():
    trained = SimpleNamespace(models=[run(1, 0, a=0.2, b=0.9, c=0.1), run(1, 1, a=0.4, b=0.7, c=0.3)])
    first = {"P@20": {"c": 0.1, "a": 0.1, "b": 0.5}, "nDCG@20": {"a": 0.0, "b": 0.1, "c": 0.2}}
    found = table(
        "table", [("BM25", "bm25"), ("X", "x")], [("X", "BM25")], found_by({"x": trained}, first), ["P@20"]
    )
    rows = {row.name: row for row in found.rows}
    assert rows["X"].mean.value == pytest.approx((0.3 + 0.8 + 0.2) / 3) and rows["X"].seeds == 2
    assert rows["X"].by_seed == pytest.approx([(0.2 + 0.9 + 0.1) / 3, (0.4 + 0.7 + 0.3) / 3])
    assert rows["BM25"].mean.value == pytest.approx(0.7 / 3) and rows["BM25"].queries == 3
    (difference,) = found.differences
    assert difference.comparison.difference.value == pytest.approx(((0.3 - 0.1) + (0.8 - 0.5) + (0.2 - 0.1)) / 3)
    assert difference.comparison.p is None and difference.comparison.p_holm is None, "three queries are too few"
    assert rows["X"].mean.no_interval == difference.comparison.difference.no_interval == "too few queries"


def test_every_test_of_table_2_is_scipys_and_holm_takes_in_the_whole_table():
    generator = np.random.default_rng(3)
    models = ("bm25", "drmm", "bert", "dgre")
    seeds = {"drmm": 1, "bert": 3, "dgre": 2}
    trained = {name: training(count, generator, 0.2 * (name == "dgre")) for name, count in seeds.items()}
    first = pooled(training(1, generator))[0]
    found = found_by(trained, first)
    compared = table("table2", rows_of("table2", models), comparisons("table2", models), found, M)

    means = {"BM25": first}
    for name, title in (("drmm", "DRMM"), ("bert", "BERT"), ("dgre", "DGRe")):
        by_query = {}
        for one in trained[name].models:
            for measure, values in one.test.items():
                for qid, value in values.items():
                    by_query.setdefault(measure, {}).setdefault(qid, []).append(value)
        means[title] = {m: {q: fmean(v) for q, v in values.items()} for m, values in by_query.items()}
    asked = [
        ("BM25", "BERT"), ("DRMM", "BERT"), ("DGRe", "BERT"), ("DGRe", "BM25"), ("DGRe", "DRMM"), ("DRMM", "BM25"),
    ]  # fmt: skip
    expected = []
    for a, b in asked:
        for measure in M:
            qids = sorted(means[a][measure])
            columns = [[means[one][measure][qid] for qid in qids] for one in (a, b)]
            expected.append(stats.ttest_rel(*columns).pvalue)
    assert [(row.of, row.against, row.measure) for row in compared.differences] == [
        (a, b, m) for a, b in asked for m in M
    ]
    assert [row.comparison.p for row in compared.differences] == pytest.approx(expected)
    assert [row.comparison.p_holm for row in compared.differences] == pytest.approx(holm_by_hand(expected))
    assert all(row.queries == 12 for row in compared.rows)


def test_what_is_compared():
    pairs = comparisons("table2")
    assert len({frozenset(pair) for pair in pairs}) == len(pairs) == 8 + 7 + 6, "each pair once"
    assert comparisons("table2", ("bm25", "lgre")) == [("LGRe", "BM25")]
    assert comparisons("table2", ("drmm", "lgre")) == []
    assert comparisons("table2", ("bm25", "dgre")) == [("DGRe", "BM25")]
    assert comparisons("table4") == [("point", "none"), ("pair", "none"), ("triangle", "none")]
    assert comparisons("table3")[-1] == ("adaptive", "heuristic")


def queries_of(lengths):
    return {f"q{i}": " ".join(["word"] * length) for i, length in enumerate(lengths)}


def test_queries_are_parted_at_three_words_where_both_groups_have_forty():
    groups = length_groups(queries_of([2] * 20 + [3] * 20 + [4] * 39 + [9]))
    assert groups.cut == 3 and len(groups.short) == 40 == len(groups.long) and "as in the paper" in groups.rule
    fewer = length_groups(queries_of([2] * 20 + [3] * 20 + [4] * 39))
    assert fewer.cut == 3 and fewer.rule == "the median, and 3 words, as in the paper"
    assert len(fewer.short) == 40 and len(fewer.long) == 39
    longer = length_groups(queries_of([5, 6, 7, 8, 9]))
    assert longer.cut == 7 and longer.short == ("q0", "q1", "q2") and longer.long == ("q3", "q4")
    assert "0 and 5 queries" in longer.rule


def test_a_median_that_no_query_exceeds_parts_below_it():
    groups = length_groups(queries_of([2, 5, 5, 5]))
    assert groups.cut == 2 and groups.short == ("q0",) and "below the median" in groups.rule
    assert length_groups(queries_of([4, 4, 4])) is None
    assert length_table(queries_of([4, 4]), {}, M) is None


def test_table_6_has_each_group_on_its_own_queries():
    generator = np.random.default_rng(0)
    queries = queries_of([5, 5, 6, 5, 5, 6, 7, 8, 9, 7, 8, 9])
    values = {
        name: [{"P@20": {qid: float(generator.random()) for qid in queries}} for _ in range(count)]
        for name, count in (("bm25", 1), ("bert", 2), ("dgre", 2))
    }
    found = length_table(queries, values, ["P@20"])
    assert found.cut == 6
    short = next(row for row in found.rows if row.name == "BERT" and row.group == "at most 6 words")
    mine = [[one["P@20"][qid] for qid in list(queries)[:6]] for one in values["bert"]]
    assert short.mean.value == pytest.approx(np.mean(mine)) and short.queries == 6
    gap = next(row for row in found.differences if row.of == "DGRe, more than 6 words" and "BERT" in row.against)
    columns = [
        np.mean([[one["P@20"][q] for q in list(queries)[6:]] for one in values[n]], 0) for n in ("dgre", "bert")
    ]
    assert gap.comparison.p == pytest.approx(stats.ttest_rel(*columns).pvalue)
    p_values = [row.comparison.p for row in found.differences]
    assert len(p_values) == 6 and [row.comparison.p_holm for row in found.differences] == pytest.approx(
        holm_by_hand(p_values)
    ), "both groups are one family"


def test_only_keeps_the_queries_asked_for():
    assert only({"x": [{"P@20": {"a": 1.0, "b": 0.0}}]}, ["b"]) == {"x": [{"P@20": {"b": 0.0}}]}
