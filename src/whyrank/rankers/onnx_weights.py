"""Weights out of an ONNX graph, float or int8, under their names in PyTorch.

A Linear exported to ONNX is a MatMul whose node path is the parameter's name; quantised to int8 it is a
MatMulInteger, with weight = (q - zero_point) * scale, where zero point and scale are one number for the
whole matrix or one a column. ONNX multiplies from the right, so a Linear's weight is the transpose.
Embeddings are Gather nodes; biases and LayerNorms keep their names.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, numpy_helper
from torch import Tensor

from whyrank.core.errors import UserError

_MATMUL = re.compile(r"/(?:Gemm_)?MatMul(?:_quant)?$")


def read_onnx_weights(path: Path, prefix: str = "") -> dict[str, Tensor]:
    """All parameters of the graph, `prefix` cut off their names; what it keeps in other files is refused."""
    graph = onnx.load(str(path), load_external_data=False).graph
    for one in graph.initializer:
        if one.data_location == TensorProto.EXTERNAL:
            todo = "is it the package it should be?"
            raise UserError(f"weights in another file ({one.name}) are not read", where=path, todo=todo)
    stored = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights: dict[str, np.ndarray] = {}
    for node in graph.node:
        if node.op_type in ("MatMul", "MatMulInteger") and node.input[1] in stored:
            name = _MATMUL.sub("", node.name).strip("/").replace("/", ".") + ".weight"
            weights[name] = _dequantised(stored, node.input[1]).T
        elif node.op_type == "Gather" and node.input[0] in stored and stored[node.input[0]].ndim == 2:
            weights[node.input[0].removesuffix("_quantized")] = _dequantised(stored, node.input[0])
    for name, value in stored.items():
        if name.endswith(".bias") or ".LayerNorm." in name:
            weights[name] = value
    return {_cut(name, prefix): torch.tensor(np.ascontiguousarray(value)) for name, value in weights.items()}


def _dequantised(stored: dict[str, np.ndarray], name: str) -> np.ndarray:
    base = name.removesuffix("_quantized")
    if base == name:
        return stored[name].astype(np.float32)
    zero, scale = (stored[f"{base}_{part}"].astype(np.float32) for part in ("zero_point", "scale"))
    return (stored[name].astype(np.float32) - zero) * scale


def _cut(name: str, prefix: str) -> str:
    """`model.model.0.auto_model.x` and `model.0.auto_model.x` are both `x`: node paths repeat the outer name."""
    return name[name.index(prefix) + len(prefix) :] if prefix and prefix in name else name
