"""circuit.json as other commands read it: typed, each refusal names the file and the field."""

import re

import pytest

from whyrank.circuits.head import Head
from whyrank.circuits.results import read_roles
from whyrank.core.errors import UserError


def test_the_heads_of_each_role(tmp_path):
    (tmp_path / "circuit.json").write_text('{"roles": {"matching": ["L0.H1", "1.2"], "scoring": []}, "edges": 7}')
    assert read_roles(tmp_path) == {"matching": [Head(0, 1), Head(1, 2)], "scoring": []}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", "expected object, got array"),
        ('{"rolesx": {}}', "missing required field roles"),
        ('{"roles": {"matching": 7}}', "field roles[...]: expected array, got int"),
        ('{"roles": {"matching": [1.9]}}', "expected str, got float"),
        ('{"roles": {"matching": ["waterproof"]}}', "'waterproof' is not a head; write 10.1 or L10.H1"),
        ('{"roles": {"matching": ["L99999999999999999999.H1"]}}', "is not a head"),
        ('{"roles": ' + "[" * 5000 + "]" * 5000 + "}", "nested more than 100 levels deep"),
        ('{"roles": {"matching": ["L0.H1"', "not JSON"),
        ('{"roles": {}, "roles": {}}', 'the key "roles" stands twice'),
    ],
)
def test_what_is_refused(text, complaint, tmp_path):
    path = tmp_path / "circuit.json"
    path.write_text(text)
    with pytest.raises(UserError, match=re.escape(complaint)) as refused:
        read_roles(tmp_path)
    assert str(refused.value).startswith(str(path)) and len(str(refused.value)) < 500
