"""The figures of the term-frequency study: what they draw, what their captions read, and the data behind them."""

import math
from dataclasses import replace

import pytest

from tests.papers.small_study import counted, one_set, site, small, with_set, with_variants
from whyrank.evaluation.estimate import Estimate
from whyrank.interventions import effect_maps
from whyrank.papers.term_frequency.attention_report import attention_figures, attention_over_k
from whyrank.papers.term_frequency.counting_report import counting_figures, log_curve
from whyrank.papers.term_frequency.figures import block_figures, category_figures, flow_figures, head_figures
from whyrank.papers.term_frequency.parts import Curve, FlowLink, FlowRow
from whyrank.plots.flow import Flow, Station
from whyrank.plots.heat_map import heat_maps, robust_end


@pytest.fixture(scope="module")
def figures():
    return small().drawn


def data(figure):
    """Rows as dictionaries."""
    columns, rows = figure[2]
    return [dict(zip(columns, row, strict=True)) for row in rows]


def only(figure, **wanted):
    (row,) = (row for row in data(figure) if all(row[key] == value for key, value in wanted.items()))
    return row


def test_sets_with_a_sure_gap_are_shown_as_shares(figures):
    svg, caption, _ = figures["heads-shares"]
    assert {row["panel"] for row in data(figures["heads-shares"])} == {
        "append", "prepend", "replace", "replace, 5 or more"
    }  # fmt: skip
    row = only(figures["heads-shares"], panel="append", site="1.0")
    assert (row["value"], row["low"], row["p (Holm)"], row["n"]) == (0.4, pytest.approx(0.35), 0.001, 20)
    assert "append (20 pairs, 10 queries): largest 1.0 (0.4 [0.35, 0.45]); 2 of 6 significant." in caption
    assert svg.count("append") == 1 and "share of the gap" in svg


def test_a_set_whose_gap_may_be_0_is_shown_in_score_units(figures):
    row = only(figures["heads-raw"], panel="middle", site="0.1")
    assert row["value"] == pytest.approx(0.3 * 0.1), "the mean effect, not the share"
    assert "holds 0" in figures["heads-raw"][1] and "mean effect on the score" in figures["heads-raw"][0]
    assert {row["panel"] for row in data(figures["heads-raw"])} == {"middle"}


def test_controls_are_on_the_scale_of_what_they_control(figures):
    figure = figures["heads-controls-append"]
    assert only(figure, panel="null", site="1.0")["value"] == pytest.approx(0.04)
    less = only(figure, panel="append less null", site="1.0")
    assert (less["value"], less["low"]) == (pytest.approx(0.36), pytest.approx(0.31))
    assert only(figure, panel="minimal context", site="1.0")["value"] == pytest.approx(0.28)
    assert "share of append's gap" in figure[0]
    assert only(figures["heads-controls-prepend"], panel="null, prepend", site="1.0")["value"] < 0


def test_controls_of_an_unsure_set_are_raw_too():
    found = head_figures(with_set("append", one_set({"1.0": 0.4}, gap=0.1, sure=False)))
    assert "heads-controls-append" not in found
    assert {"append", "null", "minimal context"} <= {row["panel"] for row in data(found["heads-raw"])}


def test_a_negative_gap_is_pointed_out():
    found = head_figures(with_set("prepend", one_set({"1.0": 0.4}, gap=-2.0)))
    assert "The gap of prepend is negative" in found["heads-shares"][1]


def test_nothing_significant_and_no_p_at_all():
    one = one_set({})
    one = replace(one, heads=tuple(replace(head, p_holm=None) for head in one.heads))
    caption = head_figures(with_set("append", one))["heads-shares"][1]
    assert "append (20 pairs, 10 queries): largest 0.0 (0.01 [-0.04, 0.06]); 0 of 6 significant." in caption


@pytest.mark.parametrize("splits", [{}, {"rank": {}}, {"rank": {"1-10": [], "91-100": []}}])
def test_empty_splits_have_no_figure(splits):
    found = head_figures(with_set("append", replace(one_set({"1.0": 0.4}), splits=splits)))
    assert "heads-by-rank" not in found and "heads-shares" in found


def test_a_split_without_rows_on_one_side_shows_the_other():
    one = one_set({"1.0": 0.4})
    one.splits["rank"]["91-100"] = ()
    found = head_figures(with_set("append", one))
    assert {row["panel"] for row in data(found["heads-by-rank"])} == {"ranks 1-10"}


def test_hiding_leaves_only_what_is_significant(monkeypatch):
    drawn = []
    monkeypatch.setattr(effect_maps, "heat_maps", lambda cells, *_, **__: drawn.append(cells) or "<svg/>")
    head_figures(small(hide_insignificant=True))
    shares = drawn[0]["append"]
    assert shares[1, 0] == 0.4 and shares[0, 0] == 0.0


def test_one_noisy_panel_does_not_bleach_the_others():
    panels = {"a": {(0, 0): 0.4}, "b": {(0, 0): -0.5}, "c": {(0, 0): 8.0}}
    assert robust_end(panels, {}) == 1.0
    panels["b"][0, 1] = 0.3
    assert robust_end(panels, {"b": {(0, 1)}}) == 0.8, "of a panel's marked cells, where there are any"
    assert robust_end({"a": {(0, 0): 0.4}, "b": {(0, 0): 9.0}}, {}) == 0.8, "the noisy one of two"
    few = {"resid": {(0, 0): 1.0}, "attn": {(0, 0): 0.3, (1, 0): 0.02}, "mlp": {(0, 0): 0.2}}
    assert robust_end(few, {"attn": {(1, 0)}}) == 0.4, "one small mark does not clip all else"
    assert robust_end({"a": {(0, 0): 0.4}, "b": {(0, 0): 0.5}}, {}) == 0.5, "never beyond the largest"
    assert robust_end({"a": {(0, 0): 9.0, (0, 1): 0.1}}, {"a": {(0, 1)}}) == 9.0, "one panel is not cut"
    assert robust_end({"a": {}}, {}) == 1.0
    study = with_set("replace", one_set({"1.0": 9.0}))
    caption = head_figures(study)["heads-shares"][1]
    assert "Colours end at 0.8; 1 of the values lie beyond." in caption


def test_a_share_of_no_gap_is_grey_and_said():
    study = small()
    caption, rows = block_figures(study)["blocks"][1], data(block_figures(study)["blocks"])
    assert "Grey" not in caption and None not in [row["value"] for row in rows]
    study = small(blocks=tuple(replace(one, has_gap=i > 0) for i, one in enumerate(study.blocks)))
    caption, rows = block_figures(study)["blocks"][1], data(block_figures(study)["blocks"])
    assert "Grey: the pairs with such tokens, or of that part, may have no gap to share." in caption
    assert [row["value"] is None for row in rows] == [True] + [False] * (len(rows) - 1)


def test_many_panels_go_below_each_other():
    panels = {f"set {i}": {(0, 0): 0.1} for i in range(5)}
    svg = heat_maps(panels, ["0"], [str(i) for i in range(12)], row_title="", column_title="", value_title="x")
    assert all(name in svg for name in panels)
    assert float(svg.split('width="')[1].split("pt")[0]) < 72 * 13


def test_absent_categories_have_no_column():
    blocks = tuple(site(f"L{i}.resid@cls", 0.5, layer=i, category="cls") for i in range(2))
    figure = block_figures(small(blocks=blocks))["blocks"]
    assert "qterm+" not in figure[0] and {row["site"] for row in data(figure)} == {"L0.resid@cls", "L1.resid@cls"}
    assert (
        "resid (20 pairs, 10 queries): largest L0.resid@cls (0.5 [0.45, 0.55]); 0 of 2 significant." in figure[1]
    )
    assert "blocks" not in block_figures(small(blocks=()))


def test_leading_heads_by_category(figures):
    assert "largest 1.0 at inj (0.35 [0.3, 0.4]); 1 of 3 significant." in figures["leading-by-category"][1]
    assert only(figures["leading-by-category"], site="1.0 at inj")["value"] == 0.35
    assert "leading-by-category" not in category_figures(small(by_category=()))


def test_positions_are_compared_in_all_heads(figures):
    figure = figures["positions-heads"]
    assert len(data(figure)) == 6 and only(figure, site="1.0")["value"] == pytest.approx(1.6)
    assert "2 of 6 significant" in figure[1]


def test_the_fitted_log_curve_goes_through_its_points():
    one = counted(["1.0"]).effects["L1.H0.z"]
    for point, fitted in zip(one.points, log_curve(one), strict=True):
        assert fitted.y == pytest.approx(0.4 * math.log(point.k) + 0.5), "the curve it was made of"
    assert log_curve(Curve(one.points, ())) == []


def test_effects_over_k_name_their_shapes(figures):
    caption = figures["tfc2"][1]
    assert "cumulative (24 documents): 1.0 0.1 sublinear" in caption
    assert "marginal (24 documents): 1.0 0.1 falls" in caption
    row = only(figures["tfc2"], variant="cumulative", head="0.1", k=1)
    assert row["mean"] == pytest.approx(0.25) and row["shape"] == "sublinear"


def test_violations_are_read_at_both_ends(figures):
    assert "marginal: 8% [3%, 13%] at k = 1, 39% [34%, 44%] at k = 10 (n = 24)" in figures["violations"][1]
    assert only(figures["violations"], variant="marginal", k=10)["share"] == pytest.approx(0.39)


def test_nothing_counted_nothing_drawn():
    study = with_variants({}, attention=())
    assert counting_figures(study) == attention_over_k(study) == {}


def test_attention_over_k_sets_the_injected_term_beside_other_query_words(figures):
    figure = figures["over-k-attention"]
    assert "1.0: inj -> inj 0.60 to 0.15, inj -> qterm- 0.10 to 0.46" in figure[1]
    assert only(figure, head="1.0", quantity="inj -> inj", k=10)["mean"] == pytest.approx(0.15)


def test_attention_patterns_between_categories(figures):
    figure = figures["attention-patterns"]
    assert "The injected term reads most: in 1.0 qterm+ (0.60 [0.55, 0.65])." in figure[1]
    assert "15 pairs" in figure[1] and only(figure, to="cls")["mean"] == 0.2
    assert list(attention_figures(small(patterns=()))) == ["attention-example"]


def test_the_example_shows_its_tokens(figures):
    svg, caption, (columns, rows) = figures["attention-example"]
    assert "$5 · other" in svg and "cat · inj" in svg
    assert "Strongest: cat to cat, 0.90." in caption and "(n = 1)" in caption and "document d1" in caption
    assert rows[2] == ["cat", "inj", 0.05, 0.05, 0.9] and columns[2:] == ["0 [CLS]", "1 $5", "2 cat"]
    assert list(attention_figures(small(example=None))) == ["attention-patterns"]


def test_the_flow_ends_in_what_is_read_and_the_score(figures):
    figure = figures["flow"]
    assert "read out" in figure[0] and "score" in figure[0] and "Read-out: [CLS]." in figure[1]
    assert only(figure, kind="link", layer=1)["share"] == 0.2, "from the last layer to what is read out"
    assert only(figure, kind="read", **{"from": "cls"})["share"] == 0.9
    assert only(figure, kind="kept", layer=0, **{"from": "inj"})["share"] == pytest.approx(0.6), "of 1 and .6"
    assert only(figure, kind="kept", layer=1, **{"from": "cls"})["share"] == pytest.approx(0.4), "of .4 and .9"
    stands = only(figure, kind="stands", layer=0, **{"from": "inj"})
    assert (stands["share"], stands["low"], stands["high"], stands["n"]) == (1.0, 0.95, 1.05, 12)
    assert only(figure, kind="lands", layer=1, to="cls")["share"] == pytest.approx(0.5)
    assert "At the end most stands in cls (0.90 [0.85, 0.95])." in figure[1]
    assert "inj to cls in layer 0 (0.30 of the gap)" in figure[1]
    assert "2 stations below 0 without a height" in figure[1] and "12 pairs; picked up: 6" in figure[1]


def test_bands_are_not_clipped_in_silence():
    figure = flow_figures(small(links=(FlowLink(0, "inj", "cls", 4.0),)))["flow"]
    assert "1 height or width above 1.5, drawn as 1.5." in figure[1]
    assert only(figure, kind="link")["share"] == 4.0


def test_a_flow_without_links_shares_or_final_states():
    assert Flow([Station(0, "inj", None)], [], 1).bands == []
    rows = (FlowRow(0, "inj", Estimate.undefined(1)),)
    figure = flow_figures(small(flow=rows, links=(), layers=1))["flow"]
    assert "Heads carry nothing on." in figure[1]
    assert flow_figures(small(flow=())) == {}


def test_every_caption_says_on_how_much(figures):
    for name, (_, caption, _) in figures.items():
        assert any(word in caption for word in ("pairs", "documents", "n = ")), name
