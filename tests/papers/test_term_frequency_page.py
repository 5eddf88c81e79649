"""The page of one ranker and the atlas of several: what they say, and that they need nothing else."""

import base64
import csv
import io
import json
import re
from dataclasses import replace
from html import unescape

import jsonschema
import pytest

from tests.papers.small_study import estimate, one_set, page, small, with_set
from whyrank.core.errors import UserError
from whyrank.evaluation.estimate import Estimate
from whyrank.pages.findings import Finding
from whyrank.pages.page import Report
from whyrank.papers.term_frequency.atlas import Atlas, Likeness, atlas
from whyrank.papers.term_frequency.parts import Counting, Questions, Together
from whyrank.papers.term_frequency.results import TermFrequencyStudy

MANIFEST = {"command": "whyrank study term-frequency"}


def written(study, out):
    study.write(out, MANIFEST)
    return (out / "report.html").read_text(encoding="utf-8")


def text(html):
    """What a reader sees, in one line."""
    bare = re.sub(r"<(style|svg)\b.*?</\1>", " ", html, flags=re.S)
    bare = re.sub(r'<a class="term"[^>]*>(.*?)</a>', r"\1", bare)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def cells(html, first):
    """The rows of the table whose first column has this title, as text."""
    for table in re.findall(r"<table>.*?</table>", html, flags=re.S):
        if f">{first}</th>" in table.split("</th>")[0] + "</th>":
            rows = re.findall(r"<tr>(.*?)</tr>", table, flags=re.S)[1:]
            yield [
                [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, flags=re.S)] for row in rows
            ]


def downloads(html):
    """The data behind the figures, by name."""
    found = re.findall(r'download="([^"]+)\.csv" href="data:text/csv;base64,([^"]+)"', html)
    return {name: list(csv.reader(io.StringIO(base64.b64decode(code).decode()))) for name, code in found}


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return written(small(), tmp_path_factory.mktemp("page"))


def test_the_lead_says_what_the_ranker_could_see(html):
    said = text(html)
    assert "128 tokens are read, which cuts 25% of these documents" in said
    assert "read-out: [CLS]; its own top 100 of all 130 documents for 10 queries" in said


def test_sections_are_listed_and_found(html):
    links = re.findall(r'<li><a href="#([^"]+)">([^<]+)</a>', html)
    assert [title for _, title in links][:5] == [
        "Heads", "The paper and what was measured here", "Sets of pairs", "Heads against controls, and by part",
        "Blocks",
    ]  # fmt: skip
    assert all(f'id="{name}"' in html for name, _ in links)
    assert links[-1][1] == "How this was made"


def test_the_verdict_comes_first(html):
    said = text(html)
    sentences = small().verdict()
    assert sentences[0] == (
        "2 of 6 heads of bi-tiny carry an appended term (significant at 0.05, Holm); the largest, 1.0, has 0.40 "
        "[0.35, 0.45] of the gap."
    )
    assert sentences[1].startswith("Where the score is read, most of the signal stands in cls: 0.90 [0.85, 0.95]")
    places = [said.index(one) for one in (*sentences, "The paper and what was measured here")]
    assert places[:3] == sorted(places[:3]) and html.index('class="verdict"') < html.index("<figure")


def test_a_verdict_without_queries_heads_or_a_read_out():
    few = small(sets={"append": replace(one_set({}), queries=5)}, flow=())
    assert few.verdict()[0] == "bi-tiny: too few queries to say which heads carry an appended term."
    assert len(few.verdict()) == 2
    none = with_set("append", one_set({}))
    assert none.verdict()[0] == "0 of 6 heads of bi-tiny carry an appended term (significant at 0.05, Holm)."


def test_the_page_needs_nothing_else(html):
    assert not re.findall(r"<(?:script|link|img)\b", html) and "@import" not in html
    assert all(link.startswith(("#", "data:")) for link in re.findall(r'<a [^>]*href="([^"]+)"', html))


def test_wide_things_scroll_in_their_own_box(html):
    assert html.count("<table>") == len(re.findall(r'<div class="wide table"[^>]*><table>', html))
    assert len(re.findall(r'<figure><div class="wide"[^>]*><svg', html)) == html.count("<figure>") > 10


def test_data_can_be_had_by_name(html):
    found = downloads(html)
    assert found["heads-shares"][0] == ["panel", "site", "value", "low", "high", "p (Holm)", "n", "queries"]
    assert ["append", "1.0", "0.4", "0.35", "0.45", "0.001", "20", "10"] in [
        [row[0], row[1], row[2], *(f"{float(x):g}" for x in row[3:])] for row in found["heads-shares"][1:]
    ]
    assert ["link", "0", "inj", "cls", "0.3", "", "", ""] in found["flow"]


def test_sets_say_how_they_are_shown(html):
    (rows,) = cells(html, "set")
    found = {row[0]: row for row in rows}
    assert found["append"][2] == "+2 [1.5, 2.5]" and found["append"][4] == "18 of 20"
    assert found["append"][-1] == "share of its gap" and found["null, prepend"][-1] == "share of prepend's gap"
    assert found["middle"][-1] == "raw effect"
    assert "Shown as raw effects on the score: middle." in text(html)


def test_all_sets_sure_needs_no_warning(tmp_path):
    study = with_set("middle", replace(small().sets["middle"], mean_gap=estimate(0.1)))
    assert "Shown as raw effects" not in text(written(study, tmp_path))


def test_heads_together_say_how_they_were_chosen(html):
    said = text(html)
    assert (
        "One half of the queries chose 1.0, the other 1.0 0.1; each choice was measured on the other half" in said
    )
    (rows,) = cells(html, "patched")
    assert ["heads whose share is above 0", "ranks 1-10", "0.700 [0.650, 0.750]", "10"] in rows
    assert len(rows) == 3, "all of them were not measured"


def test_no_head_together(tmp_path):
    html = written(small(together=Together(((), ()), None, None)), tmp_path)
    assert "One half of the queries chose none, the other none" in text(html) and not list(cells(html, "patched"))


def test_differences_of_all_heads_and_of_chosen_ones_are_apart(html):
    said = text(html)
    assert "the largest of all 6 heads, p Holm-corrected over all of them" in said
    assert "They were chosen on the same pairs" in said


def test_fits_are_in_a_table(html):
    tables = [rows for rows in cells(html, "head") if rows and len(rows[0]) == 7 and rows[0][1] == "log"]
    assert len(tables) == 6, "three variants, all and adhering documents"
    assert tables[0][0] == ["1.0", "log", "+0.4", "+0.5", "0.97 [0.95, 0.99]", "-20.0", "97%"]
    assert "Fits, cumulative, all documents (24)" in text(html)
    assert tables[0][1][4:6] == ["0.80 (not defined)", "–"], "no interval, no AICc"
    kept, shapes, violations = cells(html, "variant")
    assert kept[0] == ["cumulative", "24", "18", "90", "40"]
    assert shapes[0] == ["cumulative", "1.0", "sublinear", "0.40 [0.20, 0.60]", "0.97 [0.95, 0.99]", "97%"]
    assert violations[2] == ["marginal", "log", "+0.135", "+0.08", "0.97 [0.95, 0.99]", "-20.0", "97%", "24"]


def test_estimators_are_counted(html):
    said = text(html)
    assert "Of 6 heads 2 survive the ratio of sums, 2 survive the thresholded mean, 0 survive the mean of" in said
    assert "0 survive all three" in said and "one false survivor in twenty studies" in said


def test_questions(html):
    said = text(html)
    assert "2 of 6 do, after Holm's correction" in said and "look at the shares" in said
    (why,) = [rows for rows in cells(html, "variation") if "length" in rows[0]]
    assert why[0] == ["TFC1:append", "length", "80", "40", "+0.60 [0.20, 0.80]", "4", "45"]


def test_questions_without_answers(tmp_path):
    html = written(small(questions=Questions((), None, {}, None, {})), tmp_path)
    (rows,) = (rows for rows in cells(html, "pairs") if rows)
    assert rows == [["each document's own term", "0", "–", "no such pairs", "–"],
                    ["sentences restored", "0", "–", "no such pairs", "–"]]  # fmt: skip
    assert "Too few pairs violate" in text(html)


def test_a_page_of_little(tmp_path):
    no_interval = Estimate(2.0, None, None, 20, 5, "too few queries")
    append = replace(one_set({}, layers=2, heads_per_layer=3), mean_gap=no_interval, splits={})
    study = small(
        counting=Counting((), {}, ()), attention=(), patterns=(), example=None, flow=(), links=(), blocks=(),
        by_category=(), append_less_prepend=(), append_less_prepend_by_category=(), controls={}, estimators=(),
        sets={"append": append},
    )  # fmt: skip
    said = text(written(study, tmp_path))
    assert "No document was long enough" in said and "Nothing was estimated." in said
    assert "+2 (too few queries)" in said and "Shown as raw effects on the score: append." in said


def test_the_page_can_be_drawn_again_from_its_json(tmp_path):
    first = written(small(), tmp_path)
    study = TermFrequencyStudy.read(tmp_path)
    assert {row.verdict for row in study.findings} == {"agrees", "differs", "–"}
    assert study == small() and written(study, tmp_path) == first


def test_the_file_is_as_its_schema_says_and_other_files_are_refused(tmp_path):
    written(small(), tmp_path)
    value = json.loads((tmp_path / "term_frequency.json").read_text())
    jsonschema.validate(value, TermFrequencyStudy.schema())
    assert value["format"] == 2 and value["about"]["ranker"] == "bi-tiny"
    (tmp_path / "term_frequency.json").write_text(json.dumps({**value, "leading": 3}))
    with pytest.raises(UserError, match="leading"):
        TermFrequencyStudy.read(tmp_path)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**value, "leading": 3}, TermFrequencyStudy.schema())


def test_rows_and_figure_for_notebooks():
    frame = small().to_pandas()
    (row,) = frame[(frame["set"] == "append") & (frame["head"] == "1.0")].to_dict("records")
    assert (row["share"], row["pairs"], row["p_holm"]) == (0.4, 20, 0.001) and len(frame) == 9 * 6
    axes = small().plot()
    assert axes.get_title(loc="left") == "bi-tiny" and axes.images[0].get_array()[1, 0] == 0.4
    assert "<svg" in small()._repr_html_() and repr(small()).startswith("TermFrequencyStudy: 2 of 6 heads")


def test_names_from_outside_are_escaped(tmp_path):
    assert "<b>x" not in written(small(ranker="<b>x"), tmp_path)


def test_tables_that_fold():
    report = Report("t", "l")
    report.table(["a"], [[1]], folded="more & more")
    assert report._parts[0].startswith("<details><summary>more &amp; more</summary><div")


def atlas_of(rankers, out, alike=()):
    paths = Atlas(tuple(rankers), tuple(alike)).write(out, {})
    return (out / "report.html").read_text(), [path.name for path in paths]


def test_the_atlas_compares_rankers(tmp_path):
    alike = Likeness("one", "two", Estimate(0.3, -0.1, 0.6, 6, 10), None)
    html, names = atlas_of([page("one", [0.1, 0.9]), page("two", [0.5, 0.5])], tmp_path, [alike])
    assert names == ["atlas.json", "depth.svg", "report.html"] and 'href="one/report.html"' in html
    first, second = cells(html, "ranker")
    assert first[0] == ["one", "2", "20", "2", "0.70 [0.65, 0.75]",
                        "1.0* 0.400 [0.350, 0.450]; 0.2° 0.010 [-0.040, 0.060]"]  # fmt: skip
    assert second == [["one", "two", "0.30 [-0.10, 0.60]", "–"]]
    assert "one (2 heads, 20 pairs): most, 0.90 [0.80, 1.00], around 0.75." in text(html)
    assert downloads(html)["depth"][1] == ["one", "0.25", "0.1", "0.0", "0.2", "2", "20"]
    assert "one: 2 significant heads, at a mean depth of 0.70 [0.65, 0.75]." in text(html)
    assert html.index('class="verdict"') < html.index("<figure")


def test_the_atlas_puts_the_papers_findings_beside_each_ranker(tmp_path):
    def finding(what, ours, verdict):
        return Finding(what, "half", ours, "9 pairs", verdict)

    one = page("one", [0.1, 0.9], findings=[finding("a", "0.6", "agrees"), finding("b", "0.1", "differs")])
    two = page("two", [0.1, 0.9], findings=[finding("b", "0.2", "–")])
    html, _ = atlas_of([one, two], tmp_path)
    verdicts, ours = cells(html, "finding")
    assert verdicts == [["a", "half", "agrees", ""], ["b", "half", "differs", "–"]]
    assert ours == [["a", "half", "0.6", ""], ["b", "half", "0.1", "0.2"]]


def test_one_ranker_is_compared_with_nobody(tmp_path):
    html, _ = atlas_of([page("one", [0.1, 0.9])], tmp_path)
    assert "1 ranker, the same questions" in text(html) and "How alike" not in html


def test_rankers_without_a_significant_head(tmp_path):
    html, names = atlas_of([page("one", [], significant=0)], tmp_path)
    assert "No ranker has a significant head." in text(html) and "depth.svg" not in names
    (rows,) = cells(html, "ranker")
    assert rows[0][3:5] == ["0", "–"]
    html, _ = atlas_of([page("one", [], significant=0), page("two", [0.2, 0.8])], tmp_path)
    assert {row[0] for row in downloads(html)["depth"][1:]} == {"two"}


def test_an_atlas_is_read_with_its_studies(tmp_path):
    studies = [small(), small(ranker="other")]
    found = atlas(studies, ["bi-tiny", "other"])
    for study, folder in zip(studies, ("bi-tiny", "other"), strict=True):
        (tmp_path / folder).mkdir()
        written(study, tmp_path / folder)
    found.write(tmp_path, {})
    jsonschema.validate(json.loads((tmp_path / "atlas.json").read_text()), Atlas.schema())
    again = Atlas.read(tmp_path)
    assert again == found and again.studies == tuple(studies)
    assert set(again.to_pandas()["ranker"]) == {"bi-tiny", "other"}
    assert [line.get_label() for line in again.plot().get_lines()] == ["bi-tiny", "other"]
