"""The model card of a trained model: what it is, how it was trained, how to open it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any


def model_card(
    model: str, backbone: str, settings: Mapping[str, Any], facts: Mapping[str, Any], elsewhere: str = ""
) -> str:
    """Markdown; `facts` are what config.json says of the training, `elsewhere` what other libraries do with it."""
    about = {key: value for key, value in facts.items() if key not in ("test", "settings")}
    measured = {name: f"{value:.4f}" for name, value in facts.get("test", {}).items()}
    name = _plain(str(facts.get("collection", "a collection")))
    what = f"A re-ranker trained with whyrank on {name}."
    if facts.get("epoch") == 0:
        what = f"Untrained: no epoch on {name} did better on the validation queries than what it started from."
    unseen = "test queries, which were neither learned from nor chosen by"
    lines = [
        "---", "library_name: whyrank", "pipeline_tag: text-ranking", "---", "",
        f"# {model} on {_plain(backbone)}", "",
        what, "",
        "```python", "import whyrank", "", 'ranker = whyrank.load("THIS FOLDER")',
        'ranker.rank("a query", ["a document", "another"])', "```", "",
        *([elsewhere, ""] if elsewhere else []),
        "## Training", "", *_table(about), "",
        "## Settings", "", *_table({**settings, **facts.get("settings", {})}), "",
        "## Measured", "", f"Means over {facts.get('test_queries', 'the')} {unseen}.", "", *_table(measured), "",
    ]  # fmt: skip
    return "\n".join(lines)


def _table(rows: Mapping[str, Any]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {key} | {_shown(value)} |" for key, value in rows.items())]


def _shown(value: Any) -> str:
    shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return _plain(shown).replace("|", "\\|")


def _plain(text: str) -> str:
    """A name as text of one line: no markup of HTML, which Markdown would pass on."""
    return " ".join(escape(text, quote=False).split())
