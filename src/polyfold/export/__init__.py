"""Models in formats of others."""

from polyfold.export._onnx import to_onnx

__all__ = ["to_onnx"]
