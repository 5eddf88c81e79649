"""Settings from a command line and a TOML file: what they become, and what is said of those that do not fit."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.learning.tiny_networks import TinyCls
from whyrank.core.errors import UserError
from whyrank.learning.models.catalogue import MODELS, model_class
from whyrank.learning.options import read_assignments, read_toml, settled
from whyrank.learning.settings import TrainSettings
from whyrank.learning.settings_values import names_of, settings_of


@dataclass(frozen=True)
class Several:
    whole: int = 1
    number: float = 0.5
    switch: bool = False
    text: str = "a"
    perhaps: int | None = None
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"whole": "3"}, Several(whole=3)),
        ({"number": "1e-5", "whole": 2}, Several(number=1e-5, whole=2)),
        ({"number": 2}, Several(number=2.0)),
        ({"switch": "on"}, Several(switch=True)),
        ({"switch": "False"}, Several(switch=False)),
        ({"switch": True}, Several(switch=True)),
        ({"perhaps": "none"}, Several(perhaps=None)),
        ({"perhaps": "4"}, Several(perhaps=4)),
        ({"names": "P@20, nDCG@20"}, Several(names=("P@20", "nDCG@20"))),
        ({"names": ["AP"], "sizes": [1, 2]}, Several(names=("AP",), sizes=(1, 2))),
        ({"sizes": "3,4"}, Several(sizes=(3, 4))),
        (
            {"names": "nDCG(dcg='exp-log2',cutoff=5),P(rel=2, judged_only=True)@3,AP"},
            Several(names=("nDCG(dcg='exp-log2',cutoff=5)", "P(rel=2, judged_only=True)@3", "AP")),
        ),
    ],
)
def test_values_become_their_type(given, expected):
    assert settings_of(Several, given) == expected
    assert type(settings_of(Several, {"number": 2}).number) is float


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"whole": "3.5"}, "whole is '3.5'; it must be a whole number"),
        ({"whole": 3.5}, "whole is 3.5; it must be a whole number"),
        ({"whole": True}, "whole is True; it must be a whole number"),
        ({"number": "fast"}, "number is 'fast'; it must be a number"),
        ({"whole": float("inf")}, "whole is inf; it must be a whole number"),
        ({"number": 10**400}, "number is "),
        ({"switch": 1.5}, "switch is 1.5; it must be true or false"),
        ({"switch": []}, "switch is []; it must be true or false"),
        ({"text": "x", "whole": "x" * 10**5}, "whole is 'xxx"),
        ({"switch": "maybe"}, "switch is 'maybe'; it must be true or false"),
        ({"text": 3}, "text is 3; it must be text"),
        ({"perhaps": "few"}, "perhaps is 'few'; it must be a whole number or none"),
        ({"sizes": "3,x"}, "sizes is '3,x'; it must be a whole number, or several with commas between them"),
        ({"numbr": 1}, "no setting is called 'numbr'; did you mean number"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_what_was_expected(given, complaint):
    with pytest.raises(UserError) as refused:
        settings_of(Several, given)
    assert complaint in str(refused.value)


def test_settings_go_to_the_model_or_the_training():
    network, training = settled(TinyCls, {"chunks": "2", "epochs": 3, "max_length": 16})
    assert (network.chunks, network.max_length, training.epochs) == (2, 16, 3)
    with pytest.raises(UserError, match=r"tiny-cls has no setting 'epoch'; did you mean epochs"):
        settled(TinyCls, {"epoch": 3})
    with pytest.raises(UserError, match=r"no setting 'fold'; did you mean folds"):
        settled(TinyCls, {"fold": 3}, also=["folds"])


def test_no_model_has_a_setting_of_the_training():
    for name in MODELS:
        assert not set(names_of(model_class(name).Settings)) & set(names_of(TrainSettings)), name


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"epochs": 0}, "epochs cannot be 0"),
        ({"rate": 2.0}, "rate cannot be 2"),
        ({"backbone_rate": 0.0}, "backbone_rate cannot be 0"),
        ({"warm_up": 1.0}, "warm_up cannot be 1"),
        ({"clip": 0.0}, "clip cannot be 0"),
        ({"accumulate": 9, "batch": 8}, "accumulate cannot be 9; a batch of 8"),
        ({"select": "nDGC@20"}, "no measure 'nDGC@20'"),
        ({"measures": ()}, "measures cannot be empty"),
        ({"patience": 0}, "patience cannot be 0"),
    ],
)
def test_what_cannot_be_trained_with_is_refused(given, complaint):
    with pytest.raises(UserError) as refused:
        TrainSettings(**given)
    assert complaint in str(refused.value)


def test_measures_are_named_as_ir_measures_names_them():
    assert TrainSettings(select="P(rel=1)@20").select == "P@20"
    given = {"measures": "nDCG(dcg='exp-log2',cutoff=5),P@20"}
    assert settled(TinyCls, given)[1].measures == ("nDCG(dcg='exp-log2')@5", "P@20")


def test_assignments(tmp_path):
    assert read_assignments(["epochs=3", "warm-up = 0.2", "epochs=4"]) == {"epochs": "4", "warm_up": "0.2"}
    for wrong in ("epochs", "=3"):
        with pytest.raises(UserError, match="write it as key=value"):
            read_assignments([wrong])


def test_a_toml_file(tmp_path):
    path = tmp_path / "how.toml"
    path.write_text('model = "dgre"\nbackbone-rate = 1e-5\nmeasures = ["P@20"]\n')
    assert read_toml(path) == {"model": "dgre", "backbone_rate": 1e-5, "measures": ["P@20"]}
    path.write_text("[training]\nepochs = 3\n")
    with pytest.raises(UserError, match="'training' is a table"):
        read_toml(path)
    path.write_text("epochs = \n")
    with pytest.raises(UserError, match=r"how.toml: not TOML"):
        read_toml(path)
    with pytest.raises(UserError, match="no such file"):
        read_toml(tmp_path / "none.toml")


def as_documented(value):
    """As the guide writes it, and `--set` takes it."""
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"epochs = " + b"9" * 5000, "not TOML"),
        (b"epochs = " + b"[" * 5000 + b"]" * 5000, "nested too deep"),
        (b"epochs = \xff", "not TOML"),
        (b"epochs = 1\nepochs = 2", "not TOML"),
        (b"[epochs]\na = 1", "'epochs' is a table"),
    ],
)
def test_a_damaged_toml_file_is_refused_in_one_line(content, complaint, tmp_path):
    path = tmp_path / "train.toml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=complaint) as refused:
        read_toml(path)
    assert str(refused.value).startswith(str(path))


def test_the_guide_has_every_setting_with_its_default():
    page = (Path(__file__).parents[2] / "docs" / "train.md").read_text(encoding="utf-8")
    given = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", page, flags=re.M))
    default = TrainSettings()
    for name in names_of(TrainSettings):
        value = getattr(default, name)
        assert given[name] == (",".join(value) if isinstance(value, tuple) else as_documented(value)), name


def test_the_guide_has_every_setting_of_every_model_with_its_default():
    page = (Path(__file__).parents[2] / "docs" / "train.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ((?:[\w-]+ [\w.]+(?:, )?)+) \|", page, flags=re.M))
    given = {name: dict(one.split() for one in text.split(", ")) for name, text in rows.items()}
    known = {name: model_class(name).Settings() for name in MODELS}
    for model, settings in known.items():
        for name, value in vars(settings).items():
            assert given[name].get(model, given[name].get("all")) == as_documented(value), f"{name} of {model}"
    for name, models in given.items():
        assert all(name in vars(known[model]) for model in models if model != "all"), name
