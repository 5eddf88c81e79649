"""The models that can be trained, by name, imported when asked for; a new one is a file and a line here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from whyrank.core.errors import UserError, nearest

if TYPE_CHECKING:
    from whyrank.learning.models.network import Network

#: Name -> 'module:class'.
MODELS = {
    "dgre": "whyrank.learning.models.dgre:DGRe",
    "lgre": "whyrank.learning.models.lgre:LGRe",
    "bert": "whyrank.learning.models.vanilla:VanillaBert",
    "bert-maxp": "whyrank.learning.models.maxp:BertMaxP",
    "cedr-knrm": "whyrank.learning.models.cedr:CedrKnrm",
    "parade": "whyrank.learning.models.parade:Parade",
    "drmm": "whyrank.learning.models.drmm:Drmm",
    "conv-knrm": "whyrank.learning.models.conv_knrm:ConvKnrm",
}


def model_class(name: str, where: Path | None = None) -> type[Network]:
    """The class of a model, by its name."""
    if name not in MODELS:
        raise UserError(f"no model is called '{name}'", where=where, todo=nearest(name, MODELS))
    module, found = MODELS[name].split(":")
    return getattr(import_module(module), found)
