"""`whyrank export` from the outside."""

import json

import jsonschema
import pytest

from tests.cli.run import one_line, whyrank
from tests.edits.dialed import cross_encoder, write_collection
from whyrank.edits.export.results import Export

pytest.importorskip("onnxruntime")


def test_it_writes_a_folder_and_says_how_far_it_is(tmp_path):
    cross_encoder(tmp_path / "ranker")
    write_collection(tmp_path / "collection")
    how = [
        "export",
        "--ranker",
        tmp_path / "ranker",
        "--collection",
        tmp_path / "collection",
        "-o",
        tmp_path / "out",
    ]
    assert "no format to export to; give --onnx" in one_line(whyrank(*how))
    done = whyrank(*how, "--onnx", "--int8")
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "out" / "export.json").read_text())
    jsonschema.validate(written, Export.schema())
    assert [one["file"] for one in written["checks"]] == ["model.onnx", "model_int8.onnx"]
    for name in ("model.onnx: scores differ by at most", "model_int8.onnx: scores differ by at most"):
        assert name in done.stdout
    assert "this folder holds other files" in one_line(whyrank(*how, "--onnx"))
