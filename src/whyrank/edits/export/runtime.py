"""An exported graph run by ONNX Runtime as an engine would, on the ranker's own tokens; and its int8 version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from whyrank.core.errors import UserError
from whyrank.core.progress import Progress
from whyrank.edits.export.graph import IDS, MASK, TYPES
from whyrank.encoders.inputs import Inputs
from whyrank.rankers.dual import DualRanker
from whyrank.rankers.late_interaction import LateInteraction
from whyrank.rankers.neural import NeuralRanker, batches_by_length
from whyrank.rankers.ranker import Pair
from whyrank.text.pieces import Sequenced


def onnxruntime() -> Any:
    """The package; an error that says what to install."""
    try:
        import onnxruntime
    except ImportError:
        raise UserError(
            "an export is checked by ONNX Runtime, which is not installed", todo="pip install 'whyrank[onnx]'"
        ) from None
    return onnxruntime


def quantised(path: Path, target: Path) -> None:
    """The same graph with its weights as 8-bit integers; activations are quantised as they come."""
    onnxruntime()
    import logging

    from onnxruntime.quantization import QuantType, quantize_dynamic

    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        quantize_dynamic(path, target, weight_type=QuantType.QInt8)
    finally:
        logging.disable(before)


class OnnxRanker:
    """Scores pairs by an exported graph: the ranker's tokens in, its last step (a dot product, a maximum)
    after."""

    def __init__(self, ranker: NeuralRanker, path: Path) -> None:
        runtime = onnxruntime()
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = torch.get_num_threads()
        self.session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.ranker = ranker
        self.names = {one.name for one in self.session.get_inputs()}

    def scores(self, pairs: Sequence[Pair], progress: Progress | None = None) -> np.ndarray:
        """The pairs' scores."""
        if isinstance(self.ranker, DualRanker):
            return self._dual(self.ranker, pairs, progress)
        (logits,) = self._run(self.ranker.pieces.pairs(pairs), "document", progress)
        rows = np.stack(logits)
        found: np.ndarray = rows[:, 0] if rows.shape[1] == 1 else rows[:, 1] - rows[:, 0]
        return found

    def _dual(self, ranker: DualRanker, pairs: Sequence[Pair], progress: Progress | None) -> np.ndarray:
        encoded: list[dict[str, torch.Tensor]] = []
        for i, side in enumerate(("query", "document")):
            texts = list(dict.fromkeys(pair[i] for pair in pairs))
            sequences = ranker.sequences(texts, side)
            found = self._run(sequences, side, progress)[-1]
            encoded.append(
                {text: torch.from_numpy(np.ascontiguousarray(one)) for text, one in zip(texts, found, strict=True)}
            )
        return np.array(
            [float(ranker.similarity(encoded[0][q], encoded[1][d])) for q, d in pairs], dtype=np.float32
        )

    def _run(self, sequences: Sequence[Sequenced], side: str, progress: Progress | None) -> list[list[np.ndarray]]:
        """Each output, sequence by sequence; token by token without what the ranker leaves out."""
        outputs: list[list[np.ndarray]] = [[np.empty(0)] * len(sequences) for _ in self.session.get_outputs()]
        for indices in batches_by_length(sequences):
            inputs = Inputs.of([sequences[i] for i in indices], self.ranker.pieces.pad_id)
            given = {IDS: inputs.ids, MASK: inputs.attention_mask.long(), TYPES: inputs.types}
            found = self.session.run(
                None, {name: one.numpy() for name, one in given.items() if name in self.names}
            )
            kept = _kept(self.ranker, inputs, side)
            for output, values in zip(outputs, found, strict=True):
                for place, i in enumerate(indices):
                    output[i] = values[place] if kept is None else values[place][kept[place]]
            if progress:
                progress(len(indices))
        return outputs


def _kept(ranker: NeuralRanker, inputs: Inputs, side: str) -> np.ndarray | None:
    """Of late interaction the tokens that take part: no padding, and of documents no punctuation."""
    if not isinstance(ranker, LateInteraction):
        return None
    kept = torch.arange(inputs.ids.shape[1]) < inputs.lengths[:, None]
    if side == "document" and ranker.skipped:
        kept &= ~torch.isin(inputs.ids, torch.tensor(ranker.skipped))
    found: np.ndarray = kept.numpy()
    return found
