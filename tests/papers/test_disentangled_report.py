"""What the report of the study of DGRe says: the paper beside ours, verdicts in words, and the page."""

import json
from dataclasses import replace

import jsonschema
import pytest

from tests.pages.inert import text_of
from whyrank.core.json_file import NotJson
from whyrank.evaluation.estimate import Comparison, Estimate
from whyrank.learning.judgements import JudgementsUsed, PartUsed
from whyrank.learning.tables import Difference
from whyrank.pages.findings import AGREES, DIFFERS, OPEN
from whyrank.papers.disentangled.opened_report import audit_verdict
from whyrank.papers.disentangled.paper import PAPER, findings, papers_number
from whyrank.papers.disentangled.report import lead, rank_losses, statement
from whyrank.papers.disentangled.results import (
    About,
    AxiomCompared,
    CollectionNumbers,
    Count,
    Disentangled,
    FoldSizes,
    LackingRow,
    LengthTable,
    ModelReading,
    Row,
    Table,
    TextsRead,
    TrainedVariant,
)
from whyrank.papers.disentangled.sizes import Sizes
from whyrank.papers.disentangled.tables_report import effectiveness_rows, verdicts

BOTH = ("P@20", "nDCG@20")


def row(name, measure, mean, seeds=1, group=None):
    return Row(name, measure, Estimate(mean, mean - 0.05, mean + 0.05, 40, 40), (mean,) * seeds, name, group)


def gap(of, against, difference, p, measure="nDCG@20", queries=40, p_raw=None):
    estimate = Estimate(difference, difference - 0.1, difference + 0.1, queries, queries)
    return Difference("tables", of, against, measure, Comparison(estimate, p_raw or p, p))


def about(**more):
    sizes = Sizes(chunks=2, max_length=96, epochs=3, seeds=3, other_seeds=1, positives=4, depth=20)
    used = tuple(PartUsed(part, "qrels", 6, 12) for part in ("train", "validation", "test"))
    known = {
        "collection": "<small>", "backbone": "tiny", "first_stage": "BM25's top 20", "sizes": sizes,
        "settings": {}, "seed": 0, "parts": ("table2",), "select": "nDCG@20", "fixed_test": True,
        "judgements": JudgementsUsed("one set of judgements", (used,)), "folds": (FoldSizes(6, 2, 40),),
        "not_found": 3, "measures": BOTH, "quick": False,
    }  # fmt: skip
    return About(**{**known, **more})


TABLE2 = Table(
    tuple(row(name, measure, mean) for name, mean in {"BM25": 0.30, "BERT": 0.25, "DGRe": 0.35}.items()
          for measure in BOTH),
    (gap("BM25", "BERT", 0.05, 0.01), gap("DGRe", "BERT", 0.10, 0.001), gap("DGRe", "BM25", 0.05, 0.4)),
)  # fmt: skip
BERT = TrainedVariant(
    "bert", "BERT", "bert", (0,), 1, chosen=(0,), epochs=(1,), pairs=(9,), rank_loss="raw", rate=5e-5,
    backbone_rate=1e-5, tokens=96, chunks=2, report="trainings/bert/report.html",
)  # fmt: skip


def study(**more):
    found = Disentangled(**{"about": about(), "trainings": (BERT,), "tables": {"table2": TABLE2}, **more})
    return replace(found, findings=findings(found))


def page_of(found, folder):
    folder.mkdir(exist_ok=True)
    return found.write_report(folder / "report.html", {"command": "whyrank study disentangled"}).read_text()


def test_a_table_without_a_model_yet_has_no_figure(tmp_path):
    """The report is written after each training: the first may be one of an ablation, or come to nothing."""
    best = tuple(row(name, measure, 0.9) for name in ("random order", "best possible") for measure in BOTH)
    found = study(tables={"table2": Table(best, (), (LackingRow("BERT", "bert"),))})
    paths = found.write(tmp_path, {"command": "study"})
    assert [path.name for path in paths] == ["study.json", "report.html"]


def test_only_orders_are_compared_and_only_where_ours_is_significant():
    found = {one.what: one for one in study().findings}
    assert found["BM25 against BERT, nDCG@20"].verdict == DIFFERS, "the paper has BERT above BM25"
    assert found["DGRe against BERT, nDCG@20"].verdict == AGREES
    assert (
        found["DGRe against BM25, nDCG@20"].verdict == OPEN
        and "do not decide" in found["DGRe against BM25, nDCG@20"].why
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
    return LengthTable(
        tuple(row(name, measure, 0.5, group=group) for group, name, measure in names),
        tuple(gap(f"DGRe, {group}", f"BERT, {group}", 0.1, 0.001) for group in groups),
        cut=cut, rule="the median",
    )  # fmt: skip


def test_query_lengths_stand_beside_the_papers_only_where_they_are_cut_alike(tmp_path):
    pages = {}
    for cut in (3, 7):
        what = study(tables={}, table6=lengths_at(cut), about=about(parts=("table6",)))
        pages[cut] = page_of(what, tmp_path / str(cut))
        assert [one.verdict for one in what.findings] == ([AGREES, AGREES] if cut == 3 else [])
    assert "0.4372 / 0.5124" in pages[3] and "paper, Robust04" in pages[3]
    assert "0.4372 / 0.5124" not in pages[7] and "paper, Robust04" not in pages[7]
    assert "its numbers are not comparable and not shown here" in pages[7]


def test_an_ablation_and_query_lengths_are_compared_by_their_own_rows():
    ablation = Table((), (gap("adaptive", "none", -0.1, 0.001), gap("learned (ours)", "none", 1, 0.0)))
    found = study(tables={"table3": ablation}, table6=lengths_at(3)).findings
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
    both = verdicts("table2", TABLE2.differences)
    assert both == [
        "Table 2, significant at 0.05 (Holm): BM25 above BERT (nDCG@20 +0.0500); DGRe above BERT (nDCG@20 "
        "+0.1000).",
        "Table 2, not significant on 40 queries: DGRe against BM25 (nDCG@20).",
    ]
    nothing = [gap("pair", "none", 0.1, 0.3, measure) for measure in BOTH]
    assert verdicts("table4", nothing) == [
        "Table 4, nothing is significant on 40 queries: distance pair against none (P@20, nDCG@20)."
    ]
    few = [gap("pair", "none", 0.1, None, measure, queries=4) for measure in BOTH]
    assert verdicts("table4", few) == [
        "Table 4, not tested on 4 queries, too few queries: distance pair against none (P@20, nDCG@20)."
    ]
    axioms = [
        AxiomCompared(axiom, {}, Comparison(Estimate(difference, None, None, queries, queries), p, p_holm))
        for axiom, difference, p, p_holm, queries in (
            ("TFC1", 0.2, 0.005, 0.01, 9), ("LNC1", -0.2, 0.3, 0.3, 8), ("STMC1", -1.0, None, None, 2)
        )
    ]  # fmt: skip
    sentence, few = audit_verdict(axioms)
    assert "(Holm over 2 axioms): TFC1 (9 queries); less often: no axiom" in sentence
    assert "no significant difference in the other 1 (8 queries each)" in sentence
    assert audit_verdict(axioms[2:]) == [few], "what is not tested is not said to be alike"
    assert few == "Not tested, on fewer than 6 queries: STMC1 (2 queries)."


def test_the_paper_stands_beside_each_row():
    columns, rows = effectiveness_rows("table2", TABLE2.rows, BOTH)
    by_name = {line[0]: dict(zip(columns, line, strict=True)) for line in rows}
    assert by_name["DGRe"]["paper, Robust04: P@20 / nDCG@20"] == "0.4817 / 0.5530"
    assert by_name["BM25"]["paper, WebTrack09-12: P@20 / nDCG@20"] == "0.2805 / 0.1772"
    assert by_name["DGRe"]["nDCG@20"] == "0.3500 [0.3000, 0.4000]" and "nDCG@20 by seed" not in columns
    columns, (line,) = effectiveness_rows("layers", [row("all layers", "AP", 0.25, seeds=2)], ["AP"])
    assert columns == ["", "AP", "AP by seed", "queries"] and line[2] == "0.2500 0.2500"


def test_the_page_is_whole_and_escaped(tmp_path):
    numbers = CollectionNumbers(9, 48, 40, True, (Count("words", 3.25, 3, 1, 48, "queries", 1),))
    what = study(
        about=about(parts=("table1", "table2", "table6", "opened")), table1=numbers,
        not_done={"audits": "no pair could be made"},
    )  # fmt: skip
    paths = what.write(tmp_path, {"command": "whyrank study disentangled"})
    assert [path.name for path in paths] == ["study.json", "means.svg", "report.html"]
    source = (tmp_path / "report.html").read_text()
    page = text_of(source)
    assert "&lt;small&gt;" in source and "<small>" not in source
    assert source.index('class="verdict"') < source.index("<h2"), "the verdict comes first"
    assert "Of 4 findings of the paper" in page
    assert "same number of words" in page and "could not be done: no pair could be made" in page
    assert "3 judged queries have no candidates" in page
    assert 'href="trainings/bert/report.html"' in source and "learn at 0.001" in page
    assert len(json.loads((tmp_path / "study.json").read_text())["findings"]) == 4
    assert Disentangled.read(tmp_path) == what
    jsonschema.validate(json.loads((tmp_path / "study.json").read_text()), Disentangled.schema())
    assert "untrained model" in " ".join(statement(what)) and "a fixed test: 6 queries" in lead(what.about)
    folds = (FoldSizes(6, 4, 5), FoldSizes(7, 5, 4))
    folded = lead(about(folds=folds, fixed_test=False))
    assert "2 folds: 6 to 7 queries to learn from, 4 to 5 to choose" in folded
    assert "4 to 5 to test on, in all folds together 9;" in folded


def test_losses_that_differ_are_said_and_what_is_read_is_shown(tmp_path):
    reading = TextsRead(7, 1.25, 9.5, 300.0, (ModelReading("parade", 3, 150.25, 201, 0.5),))
    what = study(reading=reading, one_passage=("BERT-MaxP", "PARADE"), cut_queries=5)
    assert not rank_losses(what.trainings)
    what = replace(what, trainings=(BERT, replace(BERT, title="DGRe", rank_loss="sigmoid")))
    page = text_of(page_of(what, tmp_path))
    assert "(raw: BERT; sigmoid: DGRe)" in page and "1.25 pieces" in page and "150.2" in page and "50.0%" in page
    assert "PARADE reads one passage per document here: it has nothing to combine." in page
    assert "5 of the 40 test queries are longer than half a sequence" in page
    assert "BERT-MaxP reads one passage" in page and "pre-trained, and learn on at the" in page


def test_a_number_that_is_missing_is_no_finding():
    assert study(tables={}).findings == ()
    (same,) = statement(study(tables={}, trainings=()))
    assert same == "P@20 is the same for all models: a query has 20 candidates."
    with pytest.raises(NotJson, match="about"):
        Disentangled.from_json({"format": Disentangled.FORMAT})
