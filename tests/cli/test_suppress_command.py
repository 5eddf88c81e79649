"""`whyrank suppress` from the outside."""

import json

import jsonschema
import numpy as np
import pytest

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import PAIRS, cross_encoder, dialed, idf_file, write_collection
from whyrank.edits.edit import Edit
from whyrank.edits.rows import applied
from whyrank.edits.suppression import Suppression
from whyrank.rankers.load import load


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suppress")
    idf_file(cross_encoder(folder / "ranker"), folder / "idf.tsv")
    write_collection(folder / "collection")
    (folder / "list.txt").write_text("# no\nberlin\nblue\n?!\nslow\nzebra\n")
    (folder / "empty.txt").write_text("# nothing\n\n")
    return folder


def suppress(here, *how, terms="list.txt"):
    return whyrank(
        "suppress", "--ranker", here / "ranker", "--idf", here / "idf.tsv", "--collection", here / "collection",
        "--terms", here / terms, *how,
    )  # fmt: skip


def test_it_proposes_a_scale_and_saves_at_it(here, tmp_path):
    out, new = tmp_path / "run", tmp_path / "new"
    how = ["--rule", "paper", "--scales", "1,10,100,1000", "--min-rise", "0", "--randoms", "2", "--documents", "8"]
    done = suppress(here, *how, "-o", out)
    assert done.returncode == 0, done.stderr
    written = json.loads((out / "suppress.json").read_text())
    jsonschema.validate(written, Suppression.schema())
    assert not [path for path in out.iterdir() if path.name.startswith(".")], "nothing half-done is left"
    assert written["skipped"] == {"not words": ["?!"], "not in the ranker's vocabulary": ["zebra"]}
    assert "dropped, not words: ?!" in done.stderr
    assert [row["scale"] for row in written["scales"]] == [1, 10, 100, 1000]
    assert "<svg" in (out / "report.html").read_text()
    assert written["knee"], "without a knee there is nothing to save"
    again = suppress(here, *how, "-o", out, "--save", new)
    assert again.returncode == 0, again.stderr
    assert "holds this result already" in again.stderr
    ranker = load(str(here / "ranker"))
    words = [f"{word}=x{written['knee']['scale']}" for word in ("berlin", "blue", "slow")]
    with applied(ranker, dialed(ranker).change(Edit.of(down=words))):
        np.testing.assert_allclose(load(str(new)).score(PAIRS), ranker.score(PAIRS), atol=1e-5)


def test_what_it_refuses(here, tmp_path):
    out = ["-o", tmp_path / "run"]
    complaint = one_line(suppress(here, *out, terms="empty.txt"))
    assert "empty.txt: this block list is empty" in complaint
    assert "no such file" in one_line(suppress(here, *out, terms="none.txt"))
    assert "raises a score by more than min_rise" in one_line(
        suppress(here, *out, "--min-rise", "1000", "--documents", "2")
    )
    assert "no scales" in one_line(suppress(here, *out, "--scales", "many"))
    assert list(tmp_path.iterdir()) == [], "nothing is left of what was refused"
