"""`whyrank train --config`: values that only Python or only a file system knows are refused in one line."""

import pytest

from tests.cli.run import one_line, whyrank
from tests.learning.small import checkpoint, write_collection
from whyrank.cli.app import app
from whyrank.core.errors import UserError
from whyrank.evaluation.measures import mean, parse_measures, per_query

FILE = {"model": '"bert"', "backbone": '"ranker"', "collection": '"set"', "folds": "1", "seeds": "1",
        "depth": "20", "epochs": "1", "max_length": "24"}  # fmt: skip
HUGE = "10000000000000000000000000000000"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("file")
    checkpoint(folder / "ranker")
    write_collection(folder / "set")
    (folder / "taken").mkdir()
    (folder / "taken" / "a file").write_text("")  # what is not refused before is refused here
    return folder


def refused(place, monkeypatch, **given):
    monkeypatch.chdir(place)
    lines = [f"{name} = {value}\n" for name, value in {**FILE, **given}.items()]
    (place / "how.toml").write_text("".join(lines))
    with pytest.raises(UserError) as error:
        app(["train", "--config", "how.toml", "-o", "taken"], prog_name="whyrank", standalone_mode=False)
    assert "\n" not in str(error.value) and len(str(error.value)) < 500
    return str(error.value)


def test_a_good_file_is_read(place, monkeypatch):
    assert "this folder holds other files" in refused(place, monkeypatch, epochs="1_000", seed="0x10")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("seeds", HUGE, "it must be a whole number"),
        ("queries", HUGE, "it must be a whole number"),
        ("seed", "-1", "seed is -1; give 0 or more"),
        ("epochs", '"1_000"', "it must be a whole number"),
        ("epochs", '"１"', "it must be a whole number"),
        ("decay", '"１"', "it must be a number"),
        ("rate", "nan", "rate cannot be nan"),
        ("warm_up", "inf", "warm_up"),
        ("run", '"a\\u0000b"', "it must be text"),
        ("run", '""', "it must be text"),
        ("run", '"a\\nb"', "it must be text"),
        ("test_queries", f'"{"x" * 5000}"', "it must be text"),
        ("backbone", f'"{"x" * 5000}"', "it must be text"),
        ("model", '"\\ufeff"', "it must be text"),
        ("select", '"nDCG@99999999999999999999"', "cannot be computed here"),
        ("measures", '["P(rel=99999999999999999999)@5"]', "cannot be computed here"),
        ("measures", '["P@20", 3]', "it must be text"),
    ],
)
def test_what_is_no_value_of_a_setting_is_refused(place, monkeypatch, name, value, said):
    assert said in refused(place, monkeypatch, **{name: value})


def test_a_name_that_no_file_can_have_is_one_line(place):
    for how in (["rank", "--ranker", "bm25", "--collection", "x" * 300], ["train", "--backbone", "x" * 300]):
        rest = ["--model", "bert", "--collection", place / "set"] if how[0] == "train" else []
        assert "too long for a name of a file" in one_line(whyrank(*how, *rest, "-o", place / "new"))


def test_measures_with_gains_of_two_to_the_grade_have_a_highest_grade():
    run, name = {"q": {"d": 1.0}}, "nDCG(dcg='exp-log2')@10"
    assert mean(per_query(run, {"q": {"d": 30}}, [name]))[str(parse_measures([name])[0])] == 1
    with pytest.raises(UserError, match=r"a gain of 2\^grade needs grades up to 50"):
        per_query(run, {"q": {"d": 2_000_000_000}}, [name])
