"""`whyrank idf` from the outside."""

import json

import jsonschema
import pandas as pd
import pytest
from scipy import stats

from tests.checkpoints import save
from tests.cli.run import one_line, whyrank
from whyrank.edits.idf import IdfDirection

RANKER = "bi-minilm-l3"


def result(folder):
    written = json.loads((folder / "idf.json").read_text())
    jsonschema.validate(written, IdfDirection.schema())
    assert not [path for path in folder.iterdir() if path.name.startswith(".")], "nothing half-done is left"
    return written


def test_a_bi_encoder_against_a_collection(tmp_path):
    out = tmp_path / "run"
    done = whyrank("idf", "--ranker", RANKER, "--collection", "demo", "--vectors", "3", "-o", out)
    assert done.returncode == 0, done.stderr
    written = result(out)
    assert len(written["correlations"]) == 6 and written["idf"] == "demo"
    table = pd.read_parquet(out / "tokens.parquet")
    known = table[table["whole"] & table["idf_plain"].notna()]
    (row,) = [r for r in written["correlations"] if (r["vector"], r["formula"]) == (0, "plain")]
    assert row["r"]["value"] == pytest.approx(stats.pearsonr(known["U0"], known["idf_plain"]).statistic)
    assert row["r"]["pairs"] == len(known) and row["r"]["low"] < row["r"]["value"] < row["r"]["high"] < 0
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 2 and 'src="http' not in page
    assert "U0" in done.stdout and "whyrank edit" in done.stderr
    again = whyrank("idf", "--ranker", RANKER, "--collection", "demo", "--vectors", "4", "-o", out)
    assert "with other inputs" in one_line(again)


def test_word_frequencies_need_no_collection(tmp_path):
    done = whyrank("idf", "--ranker", RANKER, "--idf", "wordfreq", "--vectors", "1", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    (row,) = result(tmp_path / "run")["correlations"]
    assert row["formula"] == "given" and row["r"]["pairs"] > 15000 and row["r"]["value"] < -0.3


def test_what_it_refuses(tmp_path):
    def refused(*how):
        return one_line(whyrank("idf", "--ranker", RANKER, *how, "-o", tmp_path / "run"))

    assert "give a collection, or as idf wordfreq" in refused()
    assert "no IDF 'nowhere.tsv'" in refused("--idf", "nowhere.tsv")
    assert "bm25 cannot be opened" in one_line(
        whyrank("idf", "--ranker", "bm25", "--collection", "demo", "-o", tmp_path / "run")
    )
    assert not (tmp_path / "run").exists()


def test_a_collection_without_known_words_is_refused(tmp_path):
    save(tmp_path / "ranker")
    folder = tmp_path / "digits"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "d1", "text": "1234 5678"}\n{"_id": "d2", "text": "99"}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "1234"}\n')
    done = whyrank("idf", "--ranker", tmp_path / "ranker", "--collection", folder, "-o", tmp_path / "run")
    assert "0 words of the ranker's vocabulary" in one_line(done) and not (tmp_path / "run").exists()
