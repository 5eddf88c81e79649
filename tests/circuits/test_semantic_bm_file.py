"""semantic_bm.json as it is read again: typed, each refusal names the file and the field."""

import json
import re
from dataclasses import asdict

import pytest

from whyrank.circuits.head import Head
from whyrank.circuits.semantic_bm.file import FILE, read_fitted
from whyrank.core.errors import UserError

FITTED = {
    "ranker": {"name": "r", "load": "folder", "settings": {"max_length": 24}, "fingerprint": "f"},
    "heads": ["L0.H1"],
    "sep": False,
    "model": {"intercept": 0.5, "coefficients": [{"slope": 1.0}, {"slope": -2}, {"slope": 0.25}]},
    "u0": {"anchor": {"token": 3, "value": 0.75}},
}


def changed(path, value):
    """FITTED with another value at `a.b.c`; Ellipsis deletes it."""
    found = json.loads(json.dumps(FITTED))
    *above, last = path.split(".")
    inner = found
    for key in above:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return found


def test_what_is_read(tmp_path):
    (tmp_path / FILE).write_text(json.dumps(FITTED))
    fitted = read_fitted(tmp_path / FILE)
    assert fitted.parsed_heads == (Head(0, 1),)
    assert fitted.slopes.tolist() == [1, -2, 0.25] and asdict(fitted.u0) == FITTED["u0"]


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("ranker", 0, "field ranker: expected object, got int"),
        ("ranker.load", [["a"]], "field ranker.load: expected str, got array"),
        ("ranker.load", " ", "field ranker.load: blank"),
        ("ranker.settings", None, "field ranker.settings: expected object, got null"),
        ("heads", [], "field heads: empty"),
        ("heads", ["waterproof"], "'waterproof' is not a head"),
        ("heads", ["L0.H1", "L1.H1"], "field model.coefficients: 3 for 2 heads, not 5"),
        ("sep", "false", "field sep: expected bool, got str"),
        ("model.intercept", ..., "missing required field intercept"),
        ("u0.anchor.token", 1.9, "field u0.anchor.token: expected int, got float"),
    ],
)
def test_what_is_refused(path, value, complaint, tmp_path):
    (tmp_path / FILE).write_text(json.dumps(changed(path, value)))
    with pytest.raises(UserError, match=re.escape(complaint)) as refused:
        read_fitted(tmp_path / FILE)
    assert str(refused.value).startswith(str(tmp_path / FILE))
