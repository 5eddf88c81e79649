"""A page ends with entries for the terms it uses, and for no others."""

import re

import pytest

from tests.pages.inert import check_inert, text_of
from whyrank.axioms.registry import own_axioms
from whyrank.pages.glossary import Glossary, given
from whyrank.pages.page import Report
from whyrank.pages.terms import TERMS, Term
from whyrank.plots.bars import interval_bars

FULL = Glossary.of()


def page(tmp_path, report):
    path = report.write(tmp_path / "report.html", {"command": "whyrank"})
    check_inert(path)
    return path.read_text()


def entries(source):
    return set(re.findall(r'<dt id="([^"]*)">', source))


def said(tmp_path, **parts):
    """The entries of a page of one part."""
    report = Report("t", "")
    for kind, given_ in parts.items():
        getattr(report, kind)(*given_ if isinstance(given_, tuple) else (given_,))
    return entries(page(tmp_path, report))


def test_every_registered_axiom_has_an_entry_in_one_plain_sentence():
    known = {one.name: one.meaning for one in FULL.terms}
    assert all(re.fullmatch(r"[A-Z][^.]*\.", known[axiom]) for axiom in own_axioms())


@pytest.mark.parametrize("axiom", own_axioms())
def test_a_page_that_names_an_axiom_has_its_entry_and_no_other(tmp_path, axiom):
    expected = {f"term-{axiom.lower()}"}
    figure = interval_bars([f"{axiom}:append"], [1.0], [(0.5, 1.5)], "x")
    ways = (
        {"paragraph": f"It breaks {axiom}."},
        {"html": f"<p>{axiom}:append:most=5</p>"},
        {"figure": (figure, "c", (["x"], [[1]]))},
        {"table": (["of"], [[f"{axiom}:append"]])},
        {"table": (["of"], [[f"which improve: {axiom}, others"]])},
    )
    for part in ways:
        assert said(tmp_path, **part) == expected, part
    assert entries(page(tmp_path, Report("t", "", [f"It breaks {axiom}."]))) == expected
    assert entries(page(tmp_path, Report("t", f"Of {axiom}."))) == expected


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.id)
def test_each_term_is_found_by_its_name_and_explained_in_one_or_two_sentences(tmp_path, term):
    assert term.id in said(tmp_path, paragraph=f"about {term.name} here")
    assert term.meaning.endswith(".") and len(re.findall(r"[.?!:;](?:\s|$)", term.meaning)) <= 5
    assert len(term.meaning) < 240


def test_terms_have_ids_of_their_own():
    ids = [one.id for one in FULL.terms]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the share of the gap", {"gap", "share-of-the-gap"}),
        ("Heads 10.1 and L10.H1.z", {"head-such-as-10-1"}),
        ("all pairs' ratios of sums", {"ratio-of-sums"}),
        ("p < 0.05 by Holm", {"p", "holm"}),
        ("nDCG@20 of BM25", {"ndcg-10", "bm25"}),
        ("Cliff's delta", {"cliff-s-delta"}),
        ("up to delta", {"delta"}),
        ("M-TDC", {"m-tdc"}),
        ("snoise gapless mapped", set()),
    ],
)
def test_what_counts_as_a_mention(tmp_path, text, expected):
    assert said(tmp_path, paragraph=text) == {f"term-{one}" for one in expected}


def test_the_first_mention_in_a_section_leads_to_the_entry(tmp_path):
    report = Report("t", "the gap", ["the gap again"])
    report.heading("One")
    report.paragraph("a gap <b> & a gap")
    report.table(["gap", "site"], [["L1.H2", 1]], "the share of the gap")
    report.heading("Two")
    report.paragraph("a gap")
    source = page(tmp_path, report)
    assert source.count('href="#term-gap"') == 3, "the lead and two sections"
    assert source.count('href="#term-share-of-the-gap"') == 1
    assert "&lt;b&gt; &amp; a gap</p>" in source
    assert '<td title="head, such as 10.1: ' in source and '<th title="gap: ' in source
    linked = set(re.findall(r'href="#(term-[^"]*)"', source))
    assert linked <= entries(source)
    assert source.index('id="glossary"') > source.index("Two</h2>")
    assert source.index('id="glossary"') < source.index('id="how-this-was-made"')


def test_a_users_words_are_not_the_pages(tmp_path):
    text = given("the noise of a gap in TFC1")
    assert said(tmp_path, html=f"<p>{text}</p>") == set()
    assert said(tmp_path, table=(["words"], [["noise gap circuit"], ["noise"]])) == {"term-noise"}
    assert "Glossary" not in text_of(page(tmp_path, Report("t", "")))


def test_a_report_may_bring_terms_of_its_own(tmp_path):
    report = Report("t", "", terms=[Term("quux", "A made-up word.")])
    report.paragraph("Of two quuxs, each TFC1.")
    source = page(tmp_path, report)
    assert entries(source) == {"term-quux", "term-tfc1"} and "A made-up word." in text_of(source)


def test_parts_of_another_report_bring_their_terms(tmp_path):
    inner = Report("inner", "")
    inner.paragraph("TDC")
    inner.write(tmp_path / "inner.html", {})
    outer = Report("outer", "")
    outer.include(tmp_path / "inner.html")
    assert entries(page(tmp_path, outer)) == {"term-tdc"}
