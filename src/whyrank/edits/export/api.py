"""`export`: a ranker as ONNX, for engines that serve it, checked against its own scores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path

import numpy as np

from whyrank.collections.collection import Collection
from whyrank.collections.opening import collection_of, first_stage_of
from whyrank.core.atomic import make_new
from whyrank.core.caller import SILENT, Caller
from whyrank.core.errors import UserError
from whyrank.core.parameters import check_counts, check_seed
from whyrank.core.runs import RunFolder
from whyrank.edits.cost import Compared
from whyrank.edits.export.graph import OPSET, Written, graph_of, write_onnx
from whyrank.edits.export.results import Export, ExportCheck
from whyrank.edits.export.runtime import OnnxRanker, onnxruntime, quantised
from whyrank.edits.saving import EditedRanker, check_target, copy_small_files
from whyrank.edits.unedited import Unedited
from whyrank.rankers.bi_encoder import BiEncoder
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.load import load
from whyrank.rankers.neural import NeuralRanker
from whyrank.rankers.opening import neural_ranker
from whyrank.rankers.ranker import Ranker

MODEL, INT8 = "model.onnx", "model_int8.onnx"
#: A float32 export whose scores differ by more, in standard deviations of the scores, is no export of the ranker.
MOST = 1e-2
#: The kind of what `whyrank train` made, and the model of which a plain classifier is written.
TRAINED, PLAIN_BERT = "trained", "ForSequenceClassification"


def export(
    ranker: str | Ranker | EditedRanker, *, out: Path | str, onnx: bool = True, int8: bool = False,
    collection: str | Collection = "demo", depth: int = 10, queries: int | None = 20, seed: int = 0,
    device: str = "cpu", caller: Caller = SILENT,
) -> Export:  # fmt: skip
    """Writes a ranker as ONNX into a new folder, with its tokenizer, and checks it against the ranker's own
    scores.

        whyrank.export("ce-minilm-l12", out="served")
        whyrank.export(whyrank.edit("bi-minilm-l3", up={"yellow": 2}).apply(), out="served-edited", int8=True)

    `int8`: also with weights of 8 bits, whose difference is measured. The check ranks the first `depth` documents
    of BM25 for the first `queries` queries of a collection. The folder is there whole or not at all.
    """
    check_counts(1, depth=depth, queries=queries)
    check_seed(seed)
    if not onnx:
        raise UserError("no format to export to", todo="give onnx")
    folder = Path(out)
    check_target(folder)
    onnxruntime()
    with ranker if isinstance(ranker, EditedRanker) else nullcontext(ranker) as given:
        model = neural_ranker(given, device=device, caller=caller)
        plain = exportable(model)
        graph_of(plain)
        opened = collection_of(collection, caller)
        stage, _ = first_stage_of(opened, None, depth)
        unedited = Unedited.ranked(
            model,
            opened,
            dict(list(stage.items())[:queries]),
            depth=depth,
            step=lambda name, total: caller.progress(name, total, "pairs"),
        )
        found: list[Export] = []

        def make(partial: Path) -> None:
            made = _export(plain, partial, int8)
            checks = [check(plain, unedited, partial / name, seed, caller) for name in made[1]]
            if not checks[0].largest <= MOST * (unedited.deviation or 1.0):
                raise UserError(
                    f"the export is not the ranker: {checks[0]}",
                    where=folder,
                    todo="please report it; nothing is kept",
                )
            result = _result(model, plain, made[0], opened.name, unedited, checks)
            record = RunFolder(folder, Export.COMMAND, {"fingerprint": result.fingerprint}, caller.asked).record()
            result.write(partial, record)
            found.append(result)

        make_new(folder, make)
    caller.say(f"wrote {', '.join(one.file for one in found[0].checks)} and the tokenizer to {folder}")
    return found[0]


def exportable(ranker: NeuralRanker) -> NeuralRanker:
    """The ranker itself; of a trained plain BERT the classifier that its folder is."""
    if ranker.kind != TRAINED:
        return ranker
    architecture = str((ranker.checkpoint.config.get("architectures") or [""])[0])
    if not architecture.endswith(PLAIN_BERT):
        raise UserError(
            f"{ranker.name} is not a plain transformer and cannot be exported",
            todo="of the trained models, a vanilla BERT can",
        )
    found = load(str(ranker.checkpoint.folder), kind="cross-encoder", max_length=ranker.max_length)
    assert isinstance(found, NeuralRanker)
    return found


def _export(ranker: NeuralRanker, folder: Path, int8: bool) -> tuple[Written, list[str]]:
    """The files of the folder; returns the graph's inputs and outputs, and the names of the ONNX files."""
    copy_small_files(ranker, folder)
    written = write_onnx(ranker, folder / MODEL)
    if int8:
        quantised(folder / MODEL, folder / INT8)
    return written, [MODEL, *([INT8] if int8 else [])]


def check(ranker: NeuralRanker, unedited: Unedited, path: Path, seed: int, caller: Caller) -> ExportCheck:
    """The scores of a file against those of the ranking that the ranker itself made."""
    with caller.progress(f"checking {path.name}", _steps(ranker, unedited), "texts") as advance:
        scores = OnnxRanker(ranker, path).scores(unedited.pairs, advance).astype(float)
    differences = np.abs(scores - unedited.scores)
    largest, sd = float(differences.max(initial=0.0)), unedited.deviation
    return ExportCheck(
        path.name, path.stat().st_size / 1e6, largest, float(differences.mean()), largest / sd if sd else None,
        ordered_alike(unedited, scores), Compared.of(unedited, scores).cost(seed).agreement,
    )  # fmt: skip


def ordered_alike(unedited: Unedited, scores: np.ndarray) -> float | None:
    """Of the pairs of documents of one query that the ranker scores differently, the share ordered as it does."""
    alike = of = 0
    rows = zip(unedited.rows, unedited.scores.tolist(), scores.tolist(), strict=True)
    for _, group in groupby(rows, key=lambda row: row[0].qid):
        mine, theirs = np.array([row[1:] for row in group]).T
        first, second = np.triu_indices(len(mine), 1)
        own = np.sign(mine[first] - mine[second])
        alike += int(((own == np.sign(theirs[first] - theirs[second])) & (own != 0)).sum())
        of += int((own != 0).sum())
    return alike / of if of else None


def _steps(ranker: NeuralRanker, unedited: Unedited) -> int:
    if isinstance(ranker, DualRanker):
        return sum(len({pair[i] for pair in unedited.pairs}) for i in (0, 1))
    return len(unedited.pairs)


def _result(
    model: NeuralRanker, plain: NeuralRanker, written: Written, collection: str, unedited: Unedited,
    checks: Sequence[ExportCheck],
) -> Export:  # fmt: skip
    return Export(
        model.name, model.kind, str(model.source), model.fingerprint(), OPSET, written.inputs, written.outputs,
        plain.max_length, tuple(_notes(model, plain)), collection, len(unedited.pairs), len(unedited.queries),
        tuple(checks),
    )  # fmt: skip


def _notes(model: NeuralRanker, plain: NeuralRanker) -> list[str]:
    """What an engine has to do that is not in the graph."""
    found = [f"Tokenise with the folder's tokenizer and cut at {plain.max_length} tokens."]
    if isinstance(plain, BiEncoder):
        unit = "normalised to length 1" if plain.normalise else "not normalised"
        found.append(f"sentence_embedding is pooled ({plain.pooling}) and {unit}; the score is a dot product.")
        found += [f"Put {text!r} before every {side}." for side, text in plain.prefixes.items() if text]
    elif isinstance(plain, LateInteraction):
        found += [
            f"Put the token {marker} after the first of every {side}; cut it at {plain.lengths[side]} tokens."
            for side, marker in plain.markers.items()
            if marker is not None
        ]
        if plain.expand_queries:
            found.append(f"Fill queries up with the token {plain.mask_token} to {plain.lengths['query']} tokens.")
        if plain.skipped:
            found.append("Leave the vectors of punctuation marks out of documents.")
        found.append("The score is the sum over query tokens of the largest dot product with a document token.")
    elif isinstance(plain, DualRanker):
        found.append("term_weights has one weight per token of the vocabulary; the score is a dot product.")
    else:
        score = "the score is the logit (with two labels, the second less the first)"
        found.append(f"Query and document are one sequence of two texts; {score}.")
    if model is not plain:
        found.append("Trained with chunks of long documents: this file reads the first chunk alone.")
    return found
