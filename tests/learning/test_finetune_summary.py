"""The table against numpy and scipy, and what the report makes of it."""

import numpy as np
import pytest
from scipy import stats

from whyrank.learning.finetuning.jobs import FineTuneSettings, Tuned
from whyrank.learning.finetuning.report import paper_findings
from whyrank.learning.finetuning.results import FineTuning, TunedModel, tables
from whyrank.learning.history import Epoch, History
from whyrank.learning.judgements import JudgementsUsed
from whyrank.learning.splits import Split

GENERATOR = np.random.default_rng(5)
QIDS = [f"q{i}" for i in range(25)]
HISTORY = History((Epoch(0, None, 0.5), Epoch(1, 0.2, 0.6)))
CONDITIONS = ("full", "aligned-full", "embeddings", "aligned-embeddings")


def values(shift=0.0):
    return {
        measure: {qid: float(np.clip(0.4 + shift + 0.1 * GENERATOR.standard_normal(), 0, 1)) for qid in QIDS}
        for measure in ("nDCG@1", "nDCG@10")
    }


SHIFTS = dict(zip(CONDITIONS, (0.0, 0.2, 0.0, 0.0), strict=True))
TRAINED = [Tuned(name, seed, HISTORY, values(SHIFTS[name])) for name in CONDITIONS for seed in range(3)]
UNTRAINED, FIRST = values(-0.1), values(-0.2)
MEANS, DIFFERENCES = tables(TRAINED, UNTRAINED, FIRST)


def result(trained=TRAINED, tabled=None):
    """A fine-tuning with these trainings, and the tables of them or of others."""
    means, differences = tables(trained if tabled is None else tabled, UNTRAINED, FIRST)
    names = tuple(dict.fromkeys(one.condition for one in trained))
    return FineTuning(
        "ranker", "collection", "BM25's top 100", FineTuneSettings(names), Split((), (), tuple(QIDS)),
        JudgementsUsed("given", ()), 1, 4, 0, 0, None, means, differences,
        tuple(map(TunedModel.of, trained)), {"untrained": UNTRAINED},
    )  # fmt: skip


def by_seed(name, measure):
    """[seeds, queries]"""
    return np.array([[one.test[measure][qid] for qid in QIDS] for one in TRAINED if one.condition == name])


def test_rows_are_means_over_queries_of_means_over_seeds_with_intervals():
    found = {(row.name, row.measure): row for row in MEANS}
    assert [name for name, measure in found if measure == "nDCG@1"] == ["first stage", "untrained", *CONDITIONS]
    for name in CONDITIONS:
        row, mine = found[name, "nDCG@10"], by_seed(name, "nDCG@10")
        assert row.mean.value == pytest.approx(mine.mean(axis=0).mean())
        assert list(row.by_seed) == pytest.approx(mine.mean(axis=1))
        drawn = np.random.default_rng(1).choice(mine.mean(axis=0), (20000, len(QIDS))).mean(axis=1)
        assert [row.mean.low, row.mean.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.004)
    assert found["untrained", "nDCG@1"].mean.value == pytest.approx(np.mean(list(UNTRAINED["nDCG@1"].values())))
    assert list(found["untrained", "nDCG@1"].by_seed) == pytest.approx([found["untrained", "nDCG@1"].mean.value])


def test_differences_are_paired_over_queries_and_holm_corrected_within_their_family():
    for family, count in (("conditions", 6), ("training", 8)):
        rows = [row for row in DIFFERENCES if row.family == family]
        assert len(rows) == count
        raw = []
        for row in rows:
            of = by_seed(row.of, row.measure).mean(axis=0)
            against = (
                np.array([UNTRAINED[row.measure][qid] for qid in QIDS])
                if row.against == "untrained"
                else by_seed(row.against, row.measure).mean(axis=0)
            )
            assert row.comparison.difference.value == pytest.approx((of - against).mean())
            gap = row.comparison.difference
            assert gap.low < gap.value < gap.high
            raw.append(stats.ttest_rel(of, against).pvalue)
        assert [row.comparison.p for row in rows] == pytest.approx(raw)
        order = np.argsort(raw)
        steps = np.minimum(1, np.maximum.accumulate(np.array(raw)[order] * np.arange(count, 0, -1)))
        assert [rows[i].comparison.p_holm for i in order] == pytest.approx(steps)


def test_significant_differences_are_named_and_their_absence_said_plainly():
    made = " ".join(result().verdict())
    assert "aligned-full - full, nDCG@1: +0." in made
    assert "aligned-embeddings - embeddings" not in made
    same = [Tuned(name, 0, HISTORY, UNTRAINED) for name in CONDITIONS]
    nothing = result(tabled=same).verdict()
    assert nothing == [
        "No difference between the conditions is significant at 0.05 (Holm) on 25 test queries.",
        "No condition's difference to the untrained ranker is significant at 0.05 (Holm) on 25 test queries.",
    ]


def test_trainings_that_brought_nothing_better_are_counted():
    idle = Tuned("full", 3, History((Epoch(0, None, 0.6), Epoch(1, 0.2, 0.5))), values())
    (made,) = [line for line in result([*TRAINED, idle], TRAINED).verdict() if "kept" in line]
    assert made.startswith("In 1 of 13 trainings no epoch did better")
    assert not any("kept" in line for line in result().verdict())


def test_the_papers_findings_stand_beside_what_was_found():
    (_, best), *rest = paper_findings(result())
    assert best.startswith("A2 has the best, 0.6")
    equal = [here for claim, here in rest if claim == "B1 (embeddings) is about equal to A1 (full)"]
    assert [here.split(":")[0] for here in equal] == ["nDCG@1", "nDCG@10"]
    assert all("not significant" in here for here in equal) and len(rest) == 4
    assert paper_findings(result([one for one in TRAINED if one.condition == "full"])) == []


def test_one_condition_alone_is_compared_with_the_untrained_ranker_only():
    _, alone = tables([one for one in TRAINED if one.condition == "full"], UNTRAINED, FIRST)
    assert {(row.of, row.against) for row in alone} == {("full", "untrained")}
