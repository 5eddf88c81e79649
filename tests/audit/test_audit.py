"""Audit: outcomes and statistics against scipy and by hand; BM25 must hold what theory says it holds."""

import json
import math
import re
import statistics

import jsonschema
import numpy as np
import pytest
from scipy import stats

from tests.pages.inert import text_of
from whyrank.audit.api import audit
from whyrank.audit.results import OUTCOMES, Audit
from whyrank.audit.scoring import audit_pairs, score_pairs
from whyrank.audit.summary import summarise
from whyrank.axioms.pair import MinimalPair
from whyrank.collections.collection import Collection
from whyrank.collections.demo import open_demo
from whyrank.core.caller import Caller
from whyrank.core.errors import UserError
from whyrank.core.results import plain
from whyrank.evaluation.bootstrap import clustered_intervals, resampled_ratio
from whyrank.evaluation.curves import fit_curves
from whyrank.rankers.load import load
from whyrank.rankers.ranker import Ranker, Scores, Source


class Table(Ranker):
    """Scores by a table of texts, and counts what it is asked."""

    kind, name, source = "test", "table", Source("a test", "exact")

    def __init__(self, table):
        self.table, self.asked = table, []

    def fingerprint(self):
        return "table"

    def scores(self, pairs, progress=None):
        self.asked += pairs
        return Scores(np.array([self.table[text] for _, text in pairs], dtype=float), 0)


def pair(number, baseline, perturbed, **more):
    return MinimalPair(
        f"p{number}",
        "q",
        baseline,
        perturbed,
        **{"axiom": "TFC1", "variant": "append", "qid": f"q{number % 3}", **more},
    )


TEXTS = {"a": 1.0, "b": 3.0, "c": 0.5, "d": 1.005, "e": 2.0}


def test_outcomes_and_the_neutral_band():
    pairs = [pair(0, "a", "b"), pair(1, "a", "c"), pair(2, "a", "d"), pair(3, "a", "c", prefer="baseline")]
    scored = score_pairs(Table(TEXTS), pairs)
    assert [row.outcome for row in scored.rows] == ["holds", "violates", "neutral", "holds"]
    assert scored.ranker.delta == pytest.approx(0.01 * statistics.pstdev([1.0, 3.0, 0.5, 1.005]))
    assert [row.difference for row in scored.rows] == pytest.approx([2.0, -0.5, 0.005, -0.5])
    strict = score_pairs(Table(TEXTS), pairs, delta=0.0)
    assert strict.rows[2].outcome == "holds"


def test_each_distinct_input_is_scored_once():
    ranker = Table(TEXTS)
    pairs = [pair(i, "a", side) for i, side in enumerate("bcde")]
    scored = score_pairs(ranker, pairs)
    assert sorted(text for _, text in ranker.asked) == ["a", "b", "c", "d", "e"]
    assert scored.ranker.inputs == 5


def test_summaries_by_hand_and_by_scipy():
    pairs = [pair(i, "a", side) for i, side in enumerate("bcbebc")]
    rows = score_pairs(Table(TEXTS), pairs).rows
    (summary,) = summarise(rows)
    assert summary.n == 6
    assert summary.queries == 3
    assert [summary.outcome(one).value for one in OUTCOMES] == [4 / 6, 0.0, 2 / 6]
    differences = [2.0, -0.5, 2.0, 1.0, 2.0, -0.5]
    assert summary.mean.value == pytest.approx(np.mean(differences))
    assert summary.median == pytest.approx(np.median(differences))
    assert summary.p is None and summary.mean.no_interval == "too few queries"
    encoded = plain(summary)
    assert encoded["p"] is None and encoded["holds"]["no_interval"] == "too few queries"
    twelve = [pair(i, "a", side, qid=f"q{i // 2}") for i, side in enumerate("bcbebcccbebb")]
    (summary,) = summarise(score_pairs(Table(TEXTS), twelve).rows)
    by_query = [0.75, 1.5, 0.75, -0.5, 1.5, 2.0]
    assert summary.p == pytest.approx(stats.ttest_1samp(by_query, 0).pvalue)


def test_ten_pairs_that_all_hold_are_not_sure_to_hold_always():
    """Not 100% [100%, 100%]: by Wilson's interval of ten queries it is 72% or more."""
    (summary,) = summarise(score_pairs(Table(TEXTS), [pair(i, "a", "b", qid=f"q{i}") for i in range(10)]).rows)
    assert summary.holds.value == 1.0
    assert summary.holds.low == pytest.approx(0.7225, abs=1e-3)
    assert summary.violates.high == pytest.approx(0.2775, abs=1e-3)
    assert summary.mean.no_interval == "no spread" and summary.p == pytest.approx(2 / 2**10)


def test_five_violating_pairs_of_one_document_have_a_delta_without_an_interval():
    """Not +.98 [.934, .979]."""
    table = {**{f"v{i}": 0.0 for i in range(5)}, **{f"h{i}": 5.0 for i in range(40)}, "a": 1.0}
    pairs = [pair(i, "a", f"v{i}", rank=40 + i, qid="q0") for i in range(5)]
    pairs += [pair(20 + i, "a", f"h{i}", rank=1 + i, qid=f"q{i // 2}") for i in range(40)]
    (summary,) = summarise(score_pairs(Table(table), pairs).rows)
    contrast = next(contrast for contrast in summary.why if contrast.feature == "rank")
    assert contrast.cliffs_delta.value > 0.95 and contrast.cliffs_delta.no_interval == "too few queries"


def test_p_values_are_adjusted_over_the_whole_table():
    pairs = [pair(i, "a", side, qid=f"q{i}") for i, side in enumerate("bbebeb")]
    pairs += [pair(i + 10, "a", side, axiom="TDC", qid=f"q{i}") for i, side in enumerate("dcddce")]
    found = audit_pairs([Table(TEXTS)], pairs).axioms
    smaller, larger = sorted(found, key=lambda summary: summary.p)
    assert smaller.p_holm == pytest.approx(min(1, 2 * smaller.p))
    assert larger.p_holm == pytest.approx(min(1, max(2 * smaller.p, larger.p)))


def test_why_pairs_violate_is_cliffs_delta():
    table = {**{f"v{i}": 0.0 for i in range(8)}, **{f"h{i}": 5.0 for i in range(9)}, "a": 1.0}
    pairs = [pair(i, "a", f"v{i}", rank=50 + i, qid=f"q{i}") for i in range(8)]
    pairs += [pair(20 + i, "a", f"h{i}", rank=1 + 7 * i, qid=f"q{i}") for i in range(9)]
    (summary,) = summarise(score_pairs(Table(table), pairs).rows)
    contrast = next(contrast for contrast in summary.why if contrast.feature == "rank")
    violating, adhering = [50.0 + i for i in range(8)], [1.0 + 7 * i for i in range(9)]
    wins = sum((v > h) - (v < h) for v in violating for h in adhering)
    assert contrast.cliffs_delta.value == pytest.approx(wins / 72)
    u = stats.mannwhitneyu(violating, adhering).statistic
    assert contrast.cliffs_delta.value == pytest.approx(2 * u / 72 - 1)
    assert contrast.cliffs_delta.low <= contrast.cliffs_delta.value <= contrast.cliffs_delta.high
    assert contrast.violating == statistics.median(violating)


def test_the_curve_over_k_and_the_share_of_steps_that_flatten():
    table = {"0": 0.0, **{f"d{d}k{k}": (2 + d) * (1 + math.log(k)) for d in range(3) for k in range(1, 7)}}
    cumulative = [
        pair(10 * d + k, "0", f"d{d}k{k}", axiom="TFC2", variant="cumulative", k=k, qid=f"q{d}", docid=f"d{d}")
        for d in range(3)
        for k in range(1, 7)
    ]
    (summary,) = summarise(score_pairs(Table(table), cumulative).rows)
    assert [point.difference.value for point in summary.curve] == pytest.approx(
        [3 * (1 + math.log(k)) for k in range(1, 7)]
    )
    assert all(point.difference.pairs == 3 for point in summary.curve)
    assert summary.fits[0].curve == "log"
    steps = [("d0k1", "d0k2", 1), ("d0k2", "d0k3", 2), ("d0k3", "d0k4", 3)]
    marginal = [pair(k, a, b, axiom="TFC2", variant="marginal", k=k, qid="q", docid="d") for a, b, k in steps] + [
        pair(9, "d0k1", "d2k6", axiom="TFC2", variant="marginal", k=4, qid="q", docid="d")
    ]
    (summary,) = summarise(score_pairs(Table(table), marginal).rows)
    assert summary.gain_falls.value == pytest.approx(2 / 3)


def test_fits_agree_with_least_squares_and_their_aicc():
    ks, values = list(range(1, 11)), [math.sqrt(k) + 0.01 * (-1) ** k for k in range(1, 11)]
    fits = {fit.curve: fit for fit in fit_curves(ks, values)}
    for curve, shape in (("log", np.log), ("sqrt", np.sqrt), ("linear", np.asarray)):
        line = stats.linregress(shape(np.array(ks, dtype=float)), values)
        assert (fits[curve].a, fits[curve].b) == pytest.approx((line.slope, line.intercept))
        assert fits[curve].r2 == pytest.approx(line.rvalue**2)
        rest = sum((fits[curve].at(k) - y) ** 2 for k, y in zip(ks, values, strict=True))
        assert fits[curve].aicc == pytest.approx(10 * math.log(rest / 10) + 6 + 24 / 6)
    assert fit_curves(ks, values)[0].curve == "sqrt"
    assert fit_curves([1, 2, 3], [1, 2, 3])[0].aicc is None


def test_bootstrap_draws_whole_clusters_and_weighs_rows_not_clusters():
    sums, sizes = np.array([[3.0], [4.0], *[[4.0]] * 4]), np.array([[3.0], [1.0], *[[1.0]] * 4])
    means = resampled_ratio(sums, sizes, draws=4000).drawn[:, 0]
    some = {round((3 * n + 4 * (6 - n)) / (3 * n + 6 - n), 6) for n in range(7)}
    assert {round(float(mean), 6) for mean in means} <= some, "rows count, not clusters"
    assert np.mean(means == 4.0) == pytest.approx((5 / 6) ** 6, abs=0.03)
    alone = np.random.default_rng(0).normal(size=(200, 1))
    (interval,) = clustered_intervals(alone, [str(i) for i in range(200)], draws=4000)
    theirs = stats.bootstrap(
        (alone[:, 0],), np.mean, method="percentile", n_resamples=4000, rng=1
    ).confidence_interval
    assert (interval.low, interval.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


@pytest.fixture(scope="module")
def bm25_audit():
    axioms = ["TFC1:append", "TFC1:prepend", "TFC1:middle", "TFC1:replace", "TFC2:cumulative", "TFC2:marginal"]
    return audit("bm25", open_demo(), [*axioms, "TDC", "LNC1", "LNC2", "TP"], documents=200, delta=1e-9)


@pytest.mark.parametrize(
    "axiom",
    [
        "TFC1:append",
        "TFC1:prepend",
        "TFC1:middle",
        "TFC1:replace",
        "TFC2:cumulative",
        "TFC2:marginal",
        "TDC:append",
    ],
)
def test_bm25_holds_what_theory_says_strictly(bm25_audit, axiom):
    (summary,) = [summary for summary in bm25_audit.axioms if summary.axiom == axiom]
    assert summary.holds.value == 1.0


def test_bm25_never_violates_lnc1_and_lnc2_and_does_not_see_proximity(bm25_audit):
    found = {summary.axiom: summary for summary in bm25_audit.axioms}
    assert found["LNC1:sentences"].violates.value == 0
    assert found["LNC2:double"].violates.value == 0
    assert found["TP:append"].neutral.value == 1
    assert found["TFC2:marginal"].gain_falls.value == 1.0, "BM25's gain falls with every further occurrence"


def test_pairs_without_a_query_id_are_clustered_by_their_query():
    pairs = [pair(i, "a", side, qid=None) for i, side in enumerate("bcbebc")]
    (summary,) = summarise(score_pairs(Table(TEXTS), pairs).rows)
    assert summary.queries == 1
    assert summary.holds.low is None, "one query gives no interval"


def test_a_gain_that_grows_is_no_tfc2_though_every_step_rises():
    table = {f"k{k}": float(k * k) for k in range(8)}
    steps = [
        pair(k, f"k{k}", f"k{k + 1}", axiom="TFC2", variant="marginal", k=k, qid="q", docid="d")
        for k in range(1, 7)
    ]
    (summary,) = summarise(score_pairs(Table(table), steps).rows)
    assert summary.holds.value == 1.0
    assert summary.gain_falls.value == 0.0


def test_the_share_that_does_not_rise_counts_the_neutral_band_too():
    table = {"0": 0.0, "x": -0.001, "y": 0.001, "z": 5.0}
    pairs = [pair(i, "0", side, axiom="TFC2", variant="cumulative", k=1) for i, side in enumerate("xyz")]
    (summary,) = summarise(score_pairs(Table(table), pairs, delta=0.01).rows)
    assert summary.curve[0].not_rising.value == pytest.approx(1 / 3)
    assert summary.curve[0].violates.value == 0


def test_shards_of_one_ranker_are_never_anothers(tmp_path):
    class Other(Table):
        name = "other"

        def fingerprint(self):
            return "other"

    pairs = [pair(i, "a", side) for i, side in enumerate("bcde")]
    half = {text: score / 2 for text, score in TEXTS.items()}
    first = audit_pairs([Table(TEXTS), Other(half)], pairs, shards=tmp_path)
    again = audit_pairs([Other(half), Table(TEXTS)], pairs, shards=tmp_path)
    differences = [
        {name: [row.difference for row in one.rows if row.ranker == name] for name in ("table", "other")}
        for one in (first, again)
    ]
    assert differences[0] == differences[1] and differences[0]["table"] != differences[0]["other"]


def test_a_pair_or_ranker_given_twice_is_refused():
    with pytest.raises(UserError, match="twice"):
        audit_pairs([Table(TEXTS)], [pair(1, "a", "b"), pair(1, "a", "c")])
    with pytest.raises(UserError, match="twice"):
        audit_pairs([Table(TEXTS), Table(TEXTS)], [pair(1, "a", "b")])


def test_the_api_gives_a_data_frame_and_takes_several_rankers(real):
    result = audit([real("bi-minilm-l6"), "bm25"], "demo", ["TFC1"], documents=8)
    frame = result.to_pandas()
    assert set(frame["ranker"]) == {"bi-minilm-l6", "bm25"}
    assert len(frame) == 16
    assert {"pair", "axiom", "variant", "baseline", "perturbed", "difference", "outcome", "idf", "length"} <= set(
        frame
    )
    assert frame["idf"].gt(0).all()


def test_pairs_that_do_not_fit_a_ranker_are_counted_and_none_left_is_an_error(real):
    ranker = real("bi-minilm-l3")
    long = "cat " * 400
    pairs = [
        MinimalPair("1", "q", "a cat", "the cat"),
        MinimalPair("2", "q", f"{long}a dog", f"{long}the dog and cat", aligned=True),
    ]
    scored = score_pairs(ranker, pairs)
    assert len(scored.rows) + sum(scored.ranker.dropped.values()) == 2
    with pytest.raises(UserError, match="no pair"):
        audit_pairs([ranker], [])


def test_idf_is_the_collections_own():
    collection = Collection.from_records("t", {"a": "cat dog", "b": "cat", "c": "cat bird"}, {"1": "cat bird"})
    result = audit(load("bm25", collection=collection), collection, ["TFC1"], documents=2)
    assert result.rows[0].idf == pytest.approx(math.log(1 + (3 - 1 + 0.5) / (1 + 0.5)))


def test_an_audit_comes_back_from_its_folder_as_it_was_saved(tmp_path):
    pairs = [pair(i, "a", side, qid=f"q{i}", k=i, tf=i if i % 2 else None) for i, side in enumerate("bcbebc")]
    result = audit_pairs([Table(TEXTS)], pairs)
    result.save(tmp_path / "run")
    again = Audit.read(tmp_path / "run")
    assert again == result and again.rows == result.rows
    jsonschema.validate(result.to_json(), Audit.schema())
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "audit.json", "rows.parquet", "outcomes.svg", "report.html", "manifest.json",
    }  # fmt: skip
    assert "\n" not in repr(result) and "table" in repr(result) and "<svg" in result._repr_html_()
    assert result.plot().get_title(loc="left") == "table"


def test_finished_work_is_decoded_and_not_scored_again(tmp_path):
    collection = Collection.from_records("t", {"a": "cat dog", "b": "cat", "c": "cat bird"}, {"1": "cat bird"})
    said = []
    ranker = load("bm25", collection=collection)
    first = audit(ranker, collection, "TFC1", documents=2, out=tmp_path / "run")
    again = audit(
        ranker, collection, "TFC1", documents=2, out=tmp_path / "run", caller=Caller("asked", say=said.append)
    )
    assert again == first and any("already" in line for line in said)
    with pytest.raises(UserError, match="other inputs"):
        audit(ranker, collection, "TFC1", documents=1, out=tmp_path / "run")
    assert "whyrank.audit" in json.loads((tmp_path / "run" / "manifest.json").read_text())["command"]


def test_the_verdict_is_plain():
    """How many axioms are followed, broken and undecided, and which is violated most."""
    followed = [pair(i, "a", "b", qid=f"q{i}") for i in range(8)]
    broken = [pair(i + 10, "a", "c", axiom="TDC", qid=f"q{i}") for i in range(8)]
    open_ = [pair(i + 20, "a", "bc"[i % 2], axiom="TP", qid=f"q{i}") for i in range(8)]
    assert audit_pairs([Table(TEXTS)], followed).verdict() == ["table follows TFC1:append. No pair violates it."]
    (said,) = audit_pairs([Table(TEXTS)], broken).verdict()
    assert said == "table goes against TDC:append. 100% [68%, 100%] of 8 pairs violate it."
    (said,) = audit_pairs([Table(TEXTS)], open_).verdict()
    assert said.startswith("table neither clearly follows TP")
    also = [pair(i + 30, "a", "b", axiom="TDC", qid=f"q{i}") for i in range(8)]
    assert audit_pairs([Table(TEXTS)], [*followed, *also]).verdict() == [
        "table follows 2 of 2 axioms, goes against none, and none are undecided. No pair violates an axiom."
    ]
    (said,) = audit_pairs([Table(TEXTS)], [*followed, *broken, *open_]).verdict()
    assert said.startswith("table follows 1 of 3 axioms, goes against 1, and 1 is undecided. ")
    assert said.endswith("It violates TDC:append most often: in 100% [68%, 100%] of 8 pairs.")
    (said,) = audit_pairs([Table(TEXTS)], followed[:3]).verdict()
    assert said == "table: too few queries to say whether it follows 1 axiom."


def test_the_report_is_verdict_then_figure_then_numbers_then_glossary(bm25_audit, tmp_path):
    source = bm25_audit.write_report(tmp_path / "report.html", {"command": "whyrank audit"}).read_text()
    places = [source.index(mark) for mark in ('class="verdict"', "<figure>", "<table>", 'id="glossary"')]
    assert places == sorted(places)
    heads = re.findall(r"<thead>(.*?)</thead>", source)
    assert len(heads) >= 5 and all(head.count("<th") <= 6 for head in heads), "six columns at most"
    named = {axiom.split(":")[0] for axiom in {summary.axiom for summary in bm25_audit.axioms}}
    assert named == {"TFC1", "TFC2", "TDC", "LNC1", "LNC2", "TP"}
    assert all(f'<dt id="term-{axiom.lower()}">' in source for axiom in named)
    assert "LNC1:sentences prefers the baseline." in text_of(source)
    assert text_of(source).count("No pair violates an axiom.") == 2, "the verdict, and the worst"
