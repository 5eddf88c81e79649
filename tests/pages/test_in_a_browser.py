"""Reports in a real browser, on a phone, a tablet and a desk: figures fill the column and are whole, tables scroll
in their own box, links to the glossary lead there; in the dark and on paper, too."""

import re

import pytest

from tests.pages.browser import chromium
from whyrank.audit.api import audit
from whyrank.collections.demo import open_demo
from whyrank.pages.page import Report
from whyrank.plots.bars import interval_bars
from whyrank.plots.heat_map import heat_maps
from whyrank.plots.lines import Point, line_plots
from whyrank.plots.scatter import scatter

WIDTHS = (390, 768, 1280)
#: Letters of figures, in CSS pixels.
SMALLEST, LARGEST = 7.0, 19.0
#: What a browser says of each figure: its box, the drawing, and where its letters are.
FIGURES = """() => [...document.querySelectorAll("figure")].map(figure => {
    const box = figure.querySelector(".wide"), svg = box.querySelector("svg"), all = svg.getBoundingClientRect()
    const texts = [...svg.querySelectorAll("text")].map(text => {
        const one = text.getBoundingClientRect()
        return {said: text.textContent, size: parseFloat(getComputedStyle(text).fontSize) * svg.getScreenCTM().a,
            out: Math.max(all.left - one.left, one.right - all.right, all.top - one.top, one.bottom - all.bottom)}
    })
    return {box: box.clientWidth, scroll: box.scrollWidth, width: all.width, most: parseFloat(svg.style.maxWidth),
        least: parseFloat(svg.style.minWidth), column: document.querySelector("main").clientWidth, texts}
})"""
TABLES = """() => [...document.querySelectorAll(".table")].filter(box => box.clientWidth).map(box => {
    const style = getComputedStyle(box)
    return {scrolls: box.scrollWidth > box.clientWidth, overflow: style.overflowX, hint: style.backgroundImage,
        right: box.getBoundingClientRect().right, role: box.getAttribute("role"), tab: box.tabIndex,
        label: box.getAttribute("aria-label")}
})"""
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page of every kind of plot, and a real audit."""
    folder = tmp_path_factory.mktemp("pages")
    every = Report("Every kind of plot", "Each with its gap.", ["It holds in 96% of 120 pairs."])
    data = (["x"], [[1]])
    heads = {(layer, head): (layer - head) / 12 for layer in range(12) for head in range(12)}
    titles = {"row_title": "layer", "column_title": "head", "value_title": "share of the gap"}
    for number in (1, 2, 4):
        panels = {f"panel {i}": heads for i in range(number)}
        names = [str(i) for i in range(12)]
        every.figure(heat_maps(panels, names, names, **titles), "Heads.", data)
    sites = [f"L{i}.H{i}.z" for i in range(12)]
    every.figure(interval_bars(sites, [0.1] * 12, [(0.05, 0.2)] * 12, "share of the gap"), "Bars.", data)
    every.figure(scatter([(site, i, i * i) for i, site in enumerate(sites)], "one", "other"), "Scatter.", data)
    curve = {f"ranker {i}": [Point(k, k * i / 9, k * i / 10, k * i / 8) for k in range(1, 9)] for i in range(3)}
    for number in (1, 3, 5):
        panels = {f"{i}": curve for i in range(number)}
        every.figure(
            line_plots(panels, "occurrences of the term", "mean difference, of its largest"), "Lines.", data
        )
    every.table([f"a column {i}" for i in range(14)], [[0.123456] * 14] * 3, "A wide table.")
    every.table(["ranker", "n"], [["bm25", 3]], "A small one.")
    every.write(folder / "every.html", {"command": "whyrank " + "x" * 300})
    audit("bm25", open_demo(), ["TFC1", "TFC2:cumulative", "LNC1"], documents=8, out=folder / "audit")
    return {"every": folder / "every.html", "audit": folder / "audit" / "report.html"}


@pytest.fixture
def show(browser, pages):
    opened = []

    def opens(name, width, **settings):
        opened.append(browser.new_page(viewport={"width": width, "height": 900}, **settings))
        opened[-1].goto(pages[name].as_uri())
        return opened[-1]

    yield opens
    for page in opened:
        page.close()


@pytest.mark.parametrize("name", ["every", "audit"])
@pytest.mark.parametrize("width", WIDTHS)
def test_figures_fill_the_column_and_are_whole(show, name, width):
    page = show(name, width)
    assert page.evaluate(OVERFLOW) == 0, "nothing is wider than the page"
    figures = page.evaluate(FIGURES)
    assert figures
    for one in figures:
        assert one["box"] == one["column"], "the box is as wide as the column"
        assert one["width"] == pytest.approx(min(one["most"], max(one["least"], one["box"])), abs=1)
        assert one["scroll"] <= max(one["box"], one["least"] + 1)
        assert one["texts"]
        for text in one["texts"]:
            assert text["out"] < 2, f"{text['said']} is cut off"
            assert SMALLEST < text["size"] < LARGEST, text["said"]


@pytest.mark.parametrize("width", WIDTHS)
def test_single_figures_need_no_scrolling_and_fill_a_desk(show, width):
    """The first of each kind, and the audit's: a map of 12 heads, bars, lines."""
    figures = [
        *show("audit", width).evaluate(FIGURES),
        *(show("every", width).evaluate(FIGURES)[i] for i in (0, 3, 5)),
    ]
    for one in figures:
        assert one["scroll"] <= one["box"] + 1
        assert one["width"] >= 0.99 * one["column"]
    assert width < 1280 or figures[0]["width"] > 0.6 * width


@pytest.mark.parametrize("width", WIDTHS)
def test_tables_scroll_in_their_box_and_show_it(show, width):
    page = show("every", width)
    wide, small = page.evaluate(TABLES)
    assert wide["scrolls"] and not small["scrolls"]
    for one in (wide, small):
        assert one["overflow"] == "auto" and "gradient" in one["hint"] and one["right"] <= width
        assert one["role"] == "region" and one["tab"] == 0 and one["label"].startswith("Table: ")
    page.focus(".table")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.table').scrollLeft > 0")


def test_a_link_leads_to_the_glossary(show):
    page = show("audit", 390)
    links = page.eval_on_selector_all("a.term", "all => all.map(one => one.getAttribute('href'))")
    assert "#term-tfc1" in links and "#term-holm" in links
    assert all(page.query_selector(link) for link in links)
    page.click("a.term >> nth=0")
    assert page.evaluate("location.hash") == links[0]


@pytest.mark.parametrize("name", ["every", "audit"])
def test_in_the_dark_all_can_be_read(show, name):
    page = show(name, 768, color_scheme="dark")
    ground = _light(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    for kind in ("p", "td", "dd", "figure svg text", "a.term"):
        colour = page.eval_on_selector(kind, "one => [getComputedStyle(one).color, getComputedStyle(one).fill]")
        assert _light(colour["text" in kind]) - ground > 80, kind


def test_on_paper_it_is_whole(show):
    page = show("every", 700)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(OVERFLOW) <= 250, "the wide table only"
    assert page.is_hidden("nav")
    assert _light(page.evaluate("getComputedStyle(document.body).backgroundColor")) == 255
    assert all(one["width"] <= one["column"] for one in page.evaluate(FIGURES))


def _light(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3
