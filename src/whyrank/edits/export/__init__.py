"""Rankers as ONNX, checked against their own scores."""
