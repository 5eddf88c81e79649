"""CITATION.cff is what CFF 1.2.0 wants, and of this version."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
#: What the format requires, and what else is said here.
REQUIRED, MORE = (
    {"cff-version", "message", "title", "authors"},
    {"type", "abstract", "version", "license", "keywords"},
)


def test_how_to_cite_it_is_of_this_version_and_in_the_format():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(cited) >= REQUIRED and set(cited) <= REQUIRED | MORE
    assert cited["cff-version"] == "1.2.0" and cited["type"] == "software"
    assert all(isinstance(cited[key], str) and cited[key] for key in set(cited) - {"authors", "keywords"})
    assert cited["authors"] == [{"name": "The whyrank developers"}]
    assert cited["version"] == project["version"] and cited["license"] == project["license"]
    assert cited["keywords"] == project["keywords"] and re.match("whyrank: ", cited["title"])
