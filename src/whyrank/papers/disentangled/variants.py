"""What is trained for which table: each variant once, whatever tables share it.

As in the paper the ablations add up: Table 3 changes the masking without distance and information, Table 4 adds
distances to the adaptive mask, Table 5 adds information to the triangle. The decomposition is always on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whyrank.core.errors import UserError, nearest

#: A row of a table: its name there, and the variant whose numbers it has.
Label = tuple[str, str]
#: The first stage, which needs no training.
BM25 = "bm25"
#: Rows of Table 2 that are not models: the candidates in random order, and in that of their grades.
RANDOM, BEST = "random order", "best possible"
#: How the labels of rows end that the paper has not.
OURS = "(ours)"
#: The parts of a study, in the order in which they are done and reported.
PARTS = ("table1", "table2", "table3", "table4", "table5", "table6", "layers", "figures", "opened")
ABLATIONS = ("table3", "table4", "table5", "layers")


@dataclass(frozen=True)
class Variant:
    """A model with settings of its own. A `leading` one has more seeds; of one that is `kept` the models of the
    first fold stay, to be opened."""

    name: str
    title: str
    model: str
    settings: tuple[tuple[str, str | int], ...] = ()
    leading: bool = False
    kept: bool = False


def _dgre(
    name: str,
    title: str,
    masking: str = "adaptive",
    distance: str = "none",
    information: str = "none",
    *more: tuple[str, int],
    leading: bool = False,
    kept: bool = False,
) -> Variant:
    parts: tuple[tuple[str, str | int], ...]
    parts = (("masking", masking), ("distance", distance), ("information", information), *more)
    return Variant(name, title, "dgre", parts, leading, kept)


VARIANTS = {
    one.name: one
    for one in (
        Variant("drmm", "DRMM", "drmm"),
        Variant("conv-knrm", "Conv-KNRM", "conv-knrm"),
        Variant("bert", "BERT", "bert", leading=True, kept=True),
        Variant("bert-maxp", "BERT-MaxP", "bert-maxp"),
        Variant("cedr-knrm", "CEDR-KNRM", "cedr-knrm"),
        Variant("parade", "PARADE", "parade"),
        Variant("lgre", "LGRe", "lgre"),
        _dgre("dgre", "DGRe", "adaptive", "triangle", "mine", leading=True, kept=True),
        _dgre("dgre-mask-none", "DGRe, no masking, rank loss only", "none"),
        _dgre("dgre-mask-heuristic", "DGRe, heuristic mask, rank loss only", "heuristic"),
        _dgre("dgre-mask-adaptive", "DGRe, adaptive mask, rank loss only", kept=True),
        _dgre("dgre-mask-learned", "DGRe, learned threshold, rank loss only", "learned"),
        _dgre("dgre-point", "DGRe with point distance", distance="point", kept=True),
        _dgre("dgre-pair", "DGRe with pair distance", distance="pair", kept=True),
        _dgre("dgre-triangle", "DGRe with triangle distance", distance="triangle", kept=True),
        _dgre("dgre-infonce", "DGRe with InfoNCE", "adaptive", "triangle", "infonce"),
        _dgre("dgre-club", "DGRe with CLUB", "adaptive", "triangle", "club"),
        _dgre("dgre-layer1", "DGRe, last layer refined only", "adaptive", "triangle", "mine", ("layers", 1)),
    )
}
#: The rows of Table 2, in the paper's order.
MODELS = (BM25, "drmm", "conv-knrm", "bert", "bert-maxp", "cedr-knrm", "parade", "lgre", "dgre")
ROWS: dict[str, tuple[Label, ...]] = {
    "table3": (
        ("none", "dgre-mask-none"), ("heuristic", "dgre-mask-heuristic"), ("adaptive", "dgre-mask-adaptive"),
        (f"learned {OURS}", "dgre-mask-learned"),
    ),
    "table4": (
        ("none", "dgre-mask-adaptive"), ("point", "dgre-point"), ("pair", "dgre-pair"),
        ("triangle", "dgre-triangle"),
    ),
    "table5": (
        ("none", "dgre-triangle"), ("MINE", "dgre"), (f"InfoNCE {OURS}", "dgre-infonce"),
        (f"CLUB {OURS}", "dgre-club"),
    ),
    "layers": (("all layers", "dgre"), ("last layer only", "dgre-layer1")),
    "table6": (("BM25", BM25), ("BERT", "bert"), ("DGRe", "dgre")),
    "figures": (
        ("rank loss only", "dgre-mask-adaptive"), ("point", "dgre-point"), ("pair", "dgre-pair"),
        ("triangle", "dgre-triangle"), ("triangle and information", "dgre"),
    ),
    "opened": (("BERT", "bert"), ("DGRe", "dgre")),
}  # fmt: skip


def rows_of(
    part: str, models: Sequence[str] = MODELS, first: str = "BM25", *, extra_rows: bool = True
) -> tuple[Label, ...]:
    """A part's rows; `models` are those of Table 2, `first` is the name of the first stage; `extra_rows` are
    those that the paper has not."""
    if part == "table2":
        return tuple((first if name == BM25 else VARIANTS[name].title, name) for name in models)
    rows = [row for row in ROWS.get(part, ()) if extra_rows or not row[0].endswith(OURS)]
    return tuple((first if name == BM25 else label, name) for label, name in rows)


def variants_of(parts: Iterable[str], models: Sequence[str] = MODELS, *, extra_rows: bool = True) -> list[Variant]:
    """Everything to train for some parts, each once, the models of Table 2 first."""
    names = dict.fromkeys(
        name for part in parts for _, name in rows_of(part, models, extra_rows=extra_rows) if name != BM25
    )
    return [VARIANTS[name] for name in names]


def comparisons(
    part: str, models: Sequence[str] = MODELS, first: str = "BM25", *, extra_rows: bool = True
) -> list[tuple[str, str]]:
    """Which rows of a table are compared: in Table 2 each with BERT and with the first stage, which it re-ranks,
    and DGRe with each; in an ablation each with the first; in Table 3 also adaptive with heuristic, which the
    paper's argument rests on."""
    labels = [label for label, _ in rows_of(part, models, first, extra_rows=extra_rows)]
    if part in ("table2", "table6"):
        found = [(one, "BERT") for one in labels if "BERT" in labels and one != "BERT"]
        found += [("DGRe", one) for one in labels if "DGRe" in labels and one not in ("DGRe", "BERT")]
        found += [(one, first) for one in labels if first in labels and one not in ("DGRe", "BERT", first)]
        return found
    more = [("adaptive", "heuristic")] * (part == "table3")
    return [(one, labels[0]) for one in labels[1:]] + more


def parse_parts(text: str | None) -> tuple[str, ...]:
    """`table2,opened`; all without a text."""
    return _chosen(text, PARTS, "the study has no part")


def parse_models(text: str | None) -> tuple[str, ...]:
    """`bert,dgre`; all without a text. In the paper's order, whatever the text's."""
    return _chosen(text, MODELS, "Table 2 has no model")


def _chosen(text: str | None, known: Sequence[str], complaint: str) -> tuple[str, ...]:
    asked = [part.strip().lower() for part in text.split(",")] if text is not None else list(known)
    for name in asked:
        if name not in known:
            raise UserError(f"{complaint} '{name}'", todo=nearest(name, known))
    return tuple(name for name in known if name in asked)
