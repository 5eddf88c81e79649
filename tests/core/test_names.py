"""Names from outside as names of files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whyrank.core.names import LONGEST, plain_name
from whyrank.core.stages import Stages

pytestmark = pytest.mark.security


@pytest.mark.parametrize("name", ["bi-minilm-l3", "TFC1", "faithfulness-TFC1", "seed0", "a.b", "k=3"])
def test_plain_names_stay_as_they_are(name):
    assert plain_name(name) == name


@pytest.mark.parametrize(
    "name", ["../../x", "..", ".", "", "/etc/passwd", "a\\b", "a\0b", "-rf", ".hidden", "x" * 300, "a b", "\ud800"]
)
def test_other_names_are_one_plain_part_of_a_path(name, tmp_path):
    plain = plain_name(name)
    assert (tmp_path / plain).resolve().parent == tmp_path.resolve()
    assert len(plain) < LONGEST + 10 and plain[0] not in ".-"
    (tmp_path / plain).write_text("")


@given(st.text(), st.text())
def test_two_names_never_meet(one, other):
    assert (plain_name(one) == plain_name(other)) == (one == other)


def test_stages_stay_in_their_folder(tmp_path):
    stages = Stages(tmp_path / "run" / ".stages")
    assert stages.get("../../x", lambda: 1) == 1 == stages.get("../../x", lambda: 2)
    assert stages.get("a/b", lambda: 3) == 3
    assert stages.shards("../../../x").parent == tmp_path / "run" / ".stages" / "shards"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert all(path.is_file() for path in (tmp_path / "run" / ".stages").iterdir())
