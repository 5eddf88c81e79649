"""A mirror whose archive would write outside its folder, or read outside it, is refused, and nothing is kept."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from whyrank.core.checksums import sha256
from whyrank.core.errors import UserError
from whyrank.core.packages import Package
from whyrank.rankers.catalogue import Entry, Mirror
from whyrank.rankers.mirrors import mirrored

pytestmark = pytest.mark.security

NAMES = ["m/config.json", "m//{outside}", "m/../../../../outside", "m/{outside}"]


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which packages are found without a network."""
    monkeypatch.setenv("WHYRANK_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "packages"
    folder.mkdir(parents=True)
    return folder


def mirror_of(content: bytes, packages: Path, form: str, path: str) -> Entry:
    (packages / "tiny-1.0.whl").write_bytes(content)
    package = Package("tiny", "1.0", sha256(packages / "tiny-1.0.whl"))
    return Entry("bi-tiny", "nobody/tiny", "bi-encoder", "", {}, Mirror((package,), form, path, "float32"))


def refused(entry: Entry, tmp_path: Path, why: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UserError, match=why):
        mirrored(entry).use()
    assert sorted({*tmp_path.rglob("*")} - {*before}) == [tmp_path / "cache" / "rankers"]


@pytest.mark.parametrize("form", ["folder", "split-zip"])
@pytest.mark.parametrize("name", NAMES[1:])
def test_a_name_that_leads_out(form: str, name: str, packages: Path, tmp_path: Path) -> None:
    content = zipped({NAMES[0]: b"{}", name.format(outside=tmp_path / "outside"): b"x"})
    if form == "split-zip":
        content = zipped({"tiny/input/part": content})
    refused(mirror_of(content, packages, form, "m"), tmp_path, "leads out of the folder m")


def test_onnx_weights_in_another_file(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(np.ones(4, np.float32).tobytes())
    tensor = onnx.numpy_helper.from_array(np.ones(4, np.float32), "a.bias")
    onnx.external_data_helper.set_external_data(tensor, str(tmp_path / "secret"))
    tensor.ClearField("raw_data")
    graph = onnx.helper.make_graph([], "graph", [], [], [tensor])
    model = onnx.helper.make_model(graph).SerializeToString()
    entry = mirror_of(zipped({"m/model.onnx": model}), packages, "onnx", "m/model.onnx")
    refused(entry, tmp_path, r"weights in another file \(a\.bias\) are not read")
