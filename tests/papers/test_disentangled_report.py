"""What the report of the study of DGRe says: the paper beside ours, verdicts in words, and the page."""

import json

import pytest

from tests.pages.inert import text_of
from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.disentangled.opened_report import audit_verdict
from whyrank.papers.disentangled.paper import PAPER, findings, papers_number
from whyrank.papers.disentangled.report import lead, statement, write_study
from whyrank.papers.disentangled.report_tables import effectiveness_rows, verdicts
from whyrank.papers.disentangled.trainings_report import rank_losses

BOTH = ("P@20", "nDCG@20")


def row(name, measure, mean, seeds=1, **more):
    return {
        "name": name, "measure": measure, "mean": mean, "low": mean - 0.05, "high": mean + 0.05, "queries": 40,
        "by_seed": [mean] * seeds, "seeds": seeds, **more,
    }  # fmt: skip


def gap(of, against, difference, p, measure="nDCG@20"):
    return {
        "of": of, "against": against, "measure": measure, "difference": difference, "low": difference - 0.1,
        "high": difference + 0.1, "p": p, "p_holm": p, "queries": 40,
    }  # fmt: skip


def told(**more):
    means = {"BM25": 0.30, "BERT": 0.25, "DGRe": 0.35}
    rows = [row(name, measure, mean) for name, mean in means.items() for measure in ("P@20", "nDCG@20")]
    differences = [
        gap("BM25", "BERT", 0.05, 0.01),
        gap("DGRe", "BERT", 0.10, 0.001),
        gap("DGRe", "BM25", 0.05, 0.4),
    ]
    trainings = [
        {
            "name": "bert", "title": "BERT", "model": "bert", "seeds": [0], "folds": 1, "chosen": [0], "idle": 1,
            "epochs": [1], "pairs": [9], "report": "trainings/bert/report.html",
            "settings": {
                "training": {"rate": 5e-5, "backbone_rate": 1e-5},
                "model": {"max_length": 96, "chunks": 2, "rank_loss": "raw"},
            },
        }
    ]  # fmt: skip
    sizes = {
        "chunks": 2, "max_length": 96, "epochs": 3, "seeds": 3, "other_seeds": 1, "word_rate": 1e-3,
        "positives": 4, "depth": 20,
    }  # fmt: skip
    return {
        "collection": "<small>", "backbone": "tiny", "first_stage": "BM25's top 20", "quick": False, "told": {},
        "folds": [{"train": 6, "validation": 2, "test": 40}], "fixed_test": True, "select": "nDCG@20",
        "not_found": 3,
        "measures": ["P@20", "nDCG@20"], "sizes": sizes, "trainings": trainings,
        "tables": {"table2": {"rows": rows, "differences": differences, "lacking": []}}, "lacking": {},
        "to_do": [], "one_passage": [], "cut_queries": 0, **more,
    }  # fmt: skip


def test_a_table_without_a_model_yet_has_no_figure(tmp_path):
    """The report is written after each training: the first may be one of an ablation, or come to nothing."""
    best = [row(name, measure, 0.9) for name in ("random order", "best possible") for measure in BOTH]
    tables = {"table2": {"rows": best, "differences": [], "lacking": [{"name": "BERT", "variant": "bert"}]}}
    paths = write_study(told(tables=tables), tmp_path, {"command": "study"})
    assert [path.name for path in paths] == ["study.json", "report.html"]


def test_only_orders_are_compared_and_only_where_ours_is_significant():
    found = {one.what: one for one in findings(told())}
    assert found["BM25 against BERT, nDCG@20"].verdict == DIFFERS, "the paper has BERT above BM25"
    assert found["DGRe against BERT, nDCG@20"].verdict == AGREES
    assert (
        found["DGRe against BM25, nDCG@20"].verdict == OPEN
        and "do not tell" in found["DGRe against BM25, nDCG@20"].why
    )
    assert found["DGRe against BERT, nDCG@20"].paper == "above: 0.5530, 0.4541 (Robust04)"
    order = found["order of 3 models by nDCG@20"]
    assert (
        order.paper == "DGRe > BERT > BM25 (Robust04)"
        and order.ours == "DGRe > BM25 > BERT"
        and order.verdict == OPEN
    )
    assert "tau +0.33" in order.why


def lengths_at(cut):
    groups = (f"at most {cut} words", f"more than {cut} words")
    names = [(group, name, measure) for group in groups for name in ("BM25", "BERT", "DGRe") for measure in BOTH]
    return {
        "cut": cut, "rule": "the median",
        "rows": [row(name, measure, 0.5, group=group) for group, name, measure in names],
        "differences": [gap(f"DGRe, {group}", f"BERT, {group}", 0.1, 0.001) for group in groups],
    }  # fmt: skip


def test_query_lengths_stand_beside_the_papers_only_where_they_are_cut_alike(tmp_path):
    pages = {}
    for cut in (3, 7):
        what = told(tables={"table6": lengths_at(cut)})
        pages[cut] = write_study(what, tmp_path / str(cut), {"command": "x"})[-1].read_text()
        found = findings(what)
        assert [one.verdict for one in found] == ([AGREES, AGREES] if cut == 3 else [])
    assert "0.4372 / 0.5124" in pages[3] and "paper, Robust04" in pages[3]
    assert "0.4372 / 0.5124" not in pages[7] and "paper, Robust04" not in pages[7]
    assert "no number of the paper stands beside these" in pages[7]


def test_an_ablation_and_query_lengths_are_compared_by_their_own_rows():
    ablation = {
        "rows": [],
        "differences": [gap("adaptive", "none", -0.1, 0.001), gap("learned (ours)", "none", 1, 0.0)],
    }
    found = findings(told(tables={"table3": ablation, "table6": lengths_at(3)}))
    assert [one.what for one in found] == [
        "masking adaptive against none, nDCG@20",
        "DGRe against BERT, queries of at most 3 words",
        "DGRe against BERT, queries of more than 3 words",
    ]
    assert found[0].verdict == DIFFERS and found[1].paper == "above: 0.5124, 0.4729 (Robust04)"


def test_the_papers_ablations_add_up():
    place = {part: PAPER[part]["Robust04"] for part in ("table2", "table3", "table4", "table5")}
    assert place["table3"]["adaptive"] == place["table4"]["none"]
    assert (
        place["table4"]["triangle"] == place["table5"]["none"]
        and place["table5"]["MINE"] == place["table2"]["DGRe"]
    )
    assert papers_number("table2", "WebTrack09-12", "PARADE", "P@20") is None
    assert papers_number("table2", "Robust04", "PARADE", "P@20") == 0.4604
    assert papers_number("table2", "Robust04", "PARADE", "AP") is None


def test_verdicts_say_what_is_and_what_is_not_significant():
    both = verdicts("table2", told()["tables"]["table2"]["differences"])
    assert both == [
        "Table 2, significant at 0.05 (Holm): BM25 above BERT (nDCG@20 +0.0500); DGRe above BERT (nDCG@20 "
        "+0.1000).",
        "Table 2, not significant on 40 queries: DGRe against BM25 (nDCG@20).",
    ]
    nothing = [gap("pair", "none", 0.1, 0.3, measure) for measure in ("P@20", "nDCG@20")]
    assert verdicts("table4", nothing) == [
        "Table 4, nothing is significant on 40 queries: distance pair against none (P@20, nDCG@20)."
    ]
    few = [{**row, "p_holm": None, "queries": 4} for row in nothing]
    assert verdicts("table4", few) == [
        "Table 4, not tested on 4 queries, too few queries: distance pair against none (P@20, nDCG@20)."
    ]
    axioms = [
        {"axiom": "TFC1", "difference": 0.2, "p": 0.005, "p_holm": 0.01, "queries": 9},
        {"axiom": "LNC1", "difference": -0.2, "p": 0.3, "p_holm": 0.3, "queries": 8},
        {"axiom": "STMC1", "difference": -1.0, "p": None, "p_holm": None, "queries": 2},
    ]
    sentence, few = audit_verdict(axioms)
    assert "(Holm over 2 axioms): TFC1 (9 queries); less often: no axiom" in sentence
    assert "no significant difference in the other 1 (8 to 8 queries each)" in sentence
    assert audit_verdict(axioms[2:]) == [few], "what is not tested is not said to be alike"
    assert few == "Not tested, on fewer than 6 queries: STMC1 (2 queries)."


def test_the_paper_stands_beside_each_row():
    columns, rows = effectiveness_rows("table2", told()["tables"]["table2"]["rows"], ["P@20", "nDCG@20"])
    by_name = {line[0]: dict(zip(columns, line, strict=True)) for line in rows}
    assert by_name["DGRe"]["paper, Robust04: P@20 / nDCG@20"] == "0.4817 / 0.5530"
    assert by_name["BM25"]["paper, WebTrack09-12: P@20 / nDCG@20"] == "0.2805 / 0.1772"
    assert by_name["DGRe"]["nDCG@20"] == "0.3500 [0.3000, 0.4000]" and "nDCG@20 by seed" not in columns
    columns, (line,) = effectiveness_rows("layers", [row("all layers", "AP", 0.25, seeds=2)], ["AP"])
    assert columns == ["", "AP", "AP by seed", "queries"] and line[2] == "0.2500 0.2500"


def test_the_page_is_whole_and_escaped(tmp_path):
    what = told(
        collection_numbers={
            "documents": 9, "queries": 48, "test_queries": 40, "fixed_test": True,
            "rows": [
                {"what": "words", "mean": 3.25, "median": 3, "spread": 1, "n": 48, "of": "queries", "digits": 1}
            ],
        },
        opened={"audits": {"lacking": "no pair could be made"}},
    )  # fmt: skip
    what["tables"]["table6"] = None
    paths = write_study(what, tmp_path, {"command": "whyrank study disentangled"})
    assert [path.name for path in paths] == ["study.json", "means.svg", "report.html"]
    source = (tmp_path / "report.html").read_text()
    page = text_of(source)
    assert "&lt;small&gt;" in source and "<small>" not in source
    assert "same number of words" in page and "could not be done: no pair could be made" in page
    assert "3 judged queries have no candidates" in page
    assert 'href="trainings/bert/report.html"' in source and "learns at 0.001" in page
    assert len(json.loads((tmp_path / "study.json").read_text())["findings"]) == 4
    assert "untrained model" in " ".join(statement(what)) and "a fixed test: 6 queries" in lead(what)
    folds = [{"train": 6, "validation": 4, "test": 5}, {"train": 7, "validation": 5, "test": 4}]
    folded = lead({**what, "folds": folds, "fixed_test": False})
    assert "2 folds: 6 to 7 queries to learn from, 4 to 5 to choose" in folded
    assert "4 to 5 to test on, in all folds together 9;" in folded


def test_losses_that_differ_are_said_and_what_is_read_is_shown(tmp_path):
    what = told(reading={
        "pairs": 7, "pieces_a_word": 1.25, "query_tokens": 9.5, "document_tokens": 300.0,
        "models": [{"model": "parade", "sequences": 3, "tokens": 150.25, "with_repeats": 201, "share": 0.5}],
    }, one_passage=["BERT-MaxP", "PARADE"], cut_queries=5)  # fmt: skip
    assert not rank_losses(what)
    (bert,) = what["trainings"]
    other = {**bert["settings"], "model": {**bert["settings"]["model"], "rank_loss": "sigmoid"}}
    what["trainings"].append({**bert, "title": "DGRe", "settings": other})
    page = text_of(write_study(what, tmp_path, {"command": "x"})[-1].read_text())
    assert "(raw: BERT; sigmoid: DGRe)" in page and "1.25 pieces" in page and "150.2" in page and "50.0%" in page
    assert "PARADE reads one passage of a document here: it has nothing to put together." in page
    assert "5 of the 40 test queries are longer than half a sequence" in page
    assert "BERT-MaxP reads one passage" in page and "pre-trained, and learn on at the" in page


def test_a_number_that_is_missing_is_no_finding():
    assert findings(told(tables={})) == []
    (same,) = statement(told(tables={"table6": None}, trainings=[]))
    assert same == "P@20 is the same for all models: a query has 20 candidates."
    with pytest.raises(KeyError):
        findings({})
