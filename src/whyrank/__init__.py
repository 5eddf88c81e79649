"""whyrank: a causal workbench for neural rankers.

    import whyrank

    ranker = whyrank.load("ce-minilm-l12")
    ranking = ranker.rank("how big is berlin", ["Berlin has 3.5 million inhabitants.", "Berlin is old."])

Names are imported when they are used, so that `import whyrank` stays light.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing itself takes 15 ms to load, in which Ctrl-C would end in a traceback
if TYPE_CHECKING:
    from typing import Any

    from whyrank.audit.api import audit as audit
    from whyrank.axioms.api import make_pairs as make_pairs
    from whyrank.collections.catalogue import open_collection as open_collection
    from whyrank.collections.collection import Collection as Collection
    from whyrank.core.errors import UserError as UserError
    from whyrank.encoders.site import Site as Site
    from whyrank.evaluation.evaluate import evaluate as evaluate
    from whyrank.explain.words import explain_words as explain_words
    from whyrank.interventions.api import patch as patch
    from whyrank.papers.api import study as study
    from whyrank.rankers.load import load as load
    from whyrank.rankers.ranker import Ranker as Ranker

__version__ = "0.1.0"

_PUBLIC = {
    "Collection": "whyrank.collections.collection",
    "Ranker": "whyrank.rankers.ranker",
    "Site": "whyrank.encoders.site",
    "UserError": "whyrank.core.errors",
    "audit": "whyrank.audit.api",
    "evaluate": "whyrank.evaluation.evaluate",
    "explain_words": "whyrank.explain.words",
    "load": "whyrank.rankers.load",
    "make_pairs": "whyrank.axioms.api",
    "open_collection": "whyrank.collections.catalogue",
    "patch": "whyrank.interventions.api",
    "study": "whyrank.papers.api",
}

__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'whyrank' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
