"""The check of pages finds what would run; cells of tables are no formulas; dollar signs are no mathematics."""

import pytest

from tests.cli.hostile import FORMULAS, MARKUP, NAME
from tests.pages.inert import check_inert, dangers_of, tables_of, text_of
from whyrank.collections.collection import Collection
from whyrank.explain.api import explain
from whyrank.pages.page import Report, csv_cell
from whyrank.plots.style import as_svg, drawing
from whyrank.rankers.load import load

pytestmark = pytest.mark.security


@pytest.mark.parametrize(
    "page",
    [
        "<p><script>alert(1)</script></p>", "<p><img src=x onerror=alert(1)></p>",
        "<a href='javascript:alert(1)'>x</a>",
        "<svg><g onload=alert(1)></g></svg>", "<a href='https://example.org'>x</a>", "<iframe srcdoc=x></iframe>",
        "<style>a</style><script>alert(1)</script></style>", "<![CDATA[x]]><script>y</script>", "<base href=x>",
        "<p style='background: url(x)'>y</p>", "<meta http-equiv=refresh content=0>", "<?php x ?>",
    ],
)  # fmt: skip
def test_what_would_run_is_found(page):
    assert dangers_of(page)


def test_every_part_of_a_report_escapes(tmp_path):
    texts = [*MARKUP, *FORMULAS, NAME]
    report = Report(" ".join(texts), " ".join(texts))
    with drawing(2, 2) as figure:
        axes = figure.subplots()
        axes.set_title(MARKUP[1])
        axes.plot([1, 2], [3, 4], label=MARKUP[0])
        axes.set_xticks([1, 2], [MARKUP[2], MARKUP[-1]])
        axes.legend(title=NAME)
        svg = as_svg(figure)
    for text in texts:
        report.heading(text)
        report.paragraph(text)
        report.table([text, "n"], [[text, 1.5], [text, -2]], text, folded=text)
        report.figure(svg, text, ([text, "n"], [[text, -1.5]]), text)
    path = report.write(tmp_path / "report.html", {"command": NAME, "inputs": {text: text for text in texts}})
    check_inert(path)
    shown = text_of(path.read_text())
    assert all(shown.count(text) >= 7 for text in texts)
    (tmp_path / "figure.svg").write_text(svg)
    check_inert(tmp_path / "figure.svg")
    assert MARKUP[-1] in text_of(svg), "a broken formula is a text"
    outer = Report("outer", "")
    outer.include(path)
    check_inert(outer.write(tmp_path / "outer.html", {}))


def test_cells_of_tables_are_no_formulas(tmp_path):
    for text in ("=1+1", "+cmd", "-x", "@sum(a1)", "\tx", "\r=1", "\n=1", "＝1", "-0.3 [-0.4, -0.2]"):
        assert csv_cell(text) == f"'{text}"
    for value in (-1.5, "-1.5", "+3", "1e-5", "-inf", "a=b", "", None, 0, "x-1"):
        assert csv_cell(value) == value
    report = Report("t", "")
    report.figure("<svg />", "c", (["=x", "n"], [["@y", -1.5], ["-z", None]]))
    (table,) = tables_of(report.write(tmp_path / "t.html", {}).read_text())
    assert table == [["'=x", "n"], ["'@y", "-1.5"], ["'-z", ""]]


@pytest.mark.parametrize("text", MARKUP)
def test_the_figure_of_an_explanation_is_inert(tmp_path, text):
    collection = Collection.from_records("t", {"a": "red cat", "b": "blue dog", "c": "a dog"}, {"1": "cat"})
    found = explain(load("bm25", collection=collection), f"cat {text}", f"{text} a red cat {text}")
    path = found.draw(tmp_path / "why.svg")
    check_inert(path)
    assert text in text_of(path.read_text())
