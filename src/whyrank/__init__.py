"""whyrank: a causal workbench for neural rankers.

    import whyrank

    ranker = whyrank.load("ce-minilm-l12")
    ranking = ranker.rank("how big is berlin", ["Berlin has 3.5 million inhabitants.", "Berlin is old."])

The verbs are those of the command line, with the same names and options. Names are imported when they are used, so
that `import whyrank` stays light.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing itself takes 15 ms to load, in which Ctrl-C would end in a traceback
if TYPE_CHECKING:
    from typing import Any

    from whyrank.audit.api import audit as audit
    from whyrank.axioms.api import pairs as pairs
    from whyrank.axioms.axiom import Axiom as Axiom
    from whyrank.circuits.api import circuit as circuit
    from whyrank.circuits.semantic_bm.api import semantic_bm as semantic_bm
    from whyrank.collections.collection import Collection as Collection
    from whyrank.collections.opening import collection as collection
    from whyrank.core.errors import UserError as UserError
    from whyrank.edits.api import align as align
    from whyrank.edits.api import edit as edit
    from whyrank.edits.api import idf as idf
    from whyrank.edits.api import suppress as suppress
    from whyrank.edits.api import two_tokens as two_tokens
    from whyrank.edits.edit import Edit as Edit
    from whyrank.edits.export.api import export as export
    from whyrank.encoders.site import Site as Site
    from whyrank.evaluation.evaluate import evaluate as evaluate
    from whyrank.explain.api import explain as explain
    from whyrank.explain.attention import attention as attention
    from whyrank.explain.calibrate import calibrate as calibrate
    from whyrank.explain.diff import diff as diff
    from whyrank.explain.pyterrier import explainer as explainer
    from whyrank.explain.pyterrier import transformer as transformer
    from whyrank.interventions.api import patch as patch
    from whyrank.learning.api import train as train
    from whyrank.learning.finetuning.api import finetune as finetune
    from whyrank.papers.api import study as study
    from whyrank.rankers.api import rank as rank
    from whyrank.rankers.load import load as load
    from whyrank.rankers.ranker import Ranker as Ranker

__version__ = "0.1.0"

#: Name -> module.
_PUBLIC = {
    "Axiom": "whyrank.axioms.axiom",
    "Collection": "whyrank.collections.collection",
    "Edit": "whyrank.edits.edit",
    "Ranker": "whyrank.rankers.ranker",
    "Site": "whyrank.encoders.site",
    "UserError": "whyrank.core.errors",
    "align": "whyrank.edits.api",
    "attention": "whyrank.explain.attention",
    "calibrate": "whyrank.explain.calibrate",
    "circuit": "whyrank.circuits.api",
    "collection": "whyrank.collections.opening",
    "diff": "whyrank.explain.diff",
    "edit": "whyrank.edits.api",
    "evaluate": "whyrank.evaluation.evaluate",
    "explainer": "whyrank.explain.pyterrier",
    "export": "whyrank.edits.export.api",
    "finetune": "whyrank.learning.finetuning.api",
    "idf": "whyrank.edits.api",
    "load": "whyrank.rankers.load",
    "pairs": "whyrank.axioms.api",
    "patch": "whyrank.interventions.api",
    "rank": "whyrank.rankers.api",
    "semantic_bm": "whyrank.circuits.semantic_bm.api",
    "study": "whyrank.papers.api",
    "suppress": "whyrank.edits.api",
    "train": "whyrank.learning.api",
    "transformer": "whyrank.explain.pyterrier",
    "two_tokens": "whyrank.edits.api",
}

#: Verbs that are packages, too, and can be called.
_PACKAGES = ("audit", "explain")

__all__ = [*_PUBLIC, *_PACKAGES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    try:
        return import_module(f"whyrank.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"whyrank.{name}":
            raise
    raise AttributeError(f"module 'whyrank' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
