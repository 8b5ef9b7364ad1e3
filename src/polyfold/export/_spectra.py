"""Coordinates of a spectrum as ONNX operators: the formulas of the kernels of two points, in another language."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold import kernels
from polyfold._linalg import as_dense
from polyfold._typing import Matrix
from polyfold.export._graph import Graph
from polyfold.spectra import Spectrum

# Fraction of the largest coordinate that single precision may cost before the graph works in double precision.
TOLERANCE = 1e-5
# Landmarks on which that is tried.
TRIED = 200


def add_coordinates(graph: Graph, spectrum: Spectrum, weights: NDArray, offsets: NDArray | None) -> str | None:
    """Append c(x) @ weights + offsets; None if the features of the spectrum have no formula."""
    formula = FEATURES.get(type(spectrum.features))
    readout = spectrum.readout[:, : weights.shape[0]] @ weights
    if formula is None:
        return None
    result = formula(graph, spectrum, weights, readout)
    if result is not None and offsets is not None:
        result = graph.add("Add", result, offsets)
    return result


def _read(graph: Graph, raw: str, shift: NDArray, readout: NDArray) -> str:
    return graph.add("MatMul", graph.add("Sub", raw, shift), readout)


def _identity(graph: Graph, spectrum: Spectrum, weights: NDArray, readout: NDArray) -> str:
    return graph.linear(graph.minus(graph.input(), spectrum.shift), readout)


def _fourier(graph: Graph, spectrum: Spectrum, weights: NDArray, readout: NDArray) -> str:
    # Far from the origin angles are large, and only their remainder counts.
    frequencies: NDArray = spectrum.features.frequencies  # type: ignore[attr-defined]
    angles = graph.add("MatMul", graph.input(np.float64), frequencies)
    # Not every runtime has a cosine in double precision.
    waves = [graph.add("Sin", graph.add("Add", angles, np.pi / 2)), graph.add("Sin", angles)]
    raw = graph.add("Mul", graph.add("Concat", *waves, axis=1), np.sqrt(1 / frequencies.shape[1]))
    return _read(graph, raw, spectrum.shift, readout)


def _columns(graph: Graph, spectrum: Spectrum, weights: NDArray, readout: NDArray) -> str | None:
    kernel, landmarks = spectrum.features.kernel, spectrum.features.landmarks  # type: ignore[attr-defined]
    formula = KERNELS.get(type(kernel))
    if formula is None:
        return None
    x = graph.input(_precision(spectrum, landmarks, weights))
    return _read(graph, formula(graph, x, kernel, as_dense(landmarks).astype(np.float64)), spectrum.shift, readout)


def _precision(spectrum: Spectrum, landmarks: Matrix, weights: NDArray) -> type[np.floating]:
    """Return single precision if it is enough for the landmarks themselves, else double."""
    rows = landmarks[:TRIED].astype(np.float32)
    exact = spectrum.coordinates(rows.astype(np.float64), weights)
    error = np.abs(spectrum.coordinates(rows, weights) - exact).max(initial=0.0)
    return np.float32 if error <= TOLERANCE * np.abs(exact).max(initial=0.0) else np.float64


def _linear(graph: Graph, x: str, kernel: kernels.Linear, landmarks: NDArray) -> str:
    if kernel._origin is None:
        return graph.add("MatMul", x, landmarks.T)
    return graph.add("MatMul", graph.minus(x, kernel._origin), (landmarks - kernel._origin).T)


def _gaussian(graph: Graph, x: str, kernel: kernels.Gaussian, landmarks: NDArray) -> str:
    x, landmarks = _near_zero(graph, x, landmarks)
    products = graph.add("MatMul", x, 2 * kernel.gamma_ * landmarks.T)
    norms = graph.add("Mul", graph.total(graph.add("Mul", x, x)), np.float64(kernel.gamma_))
    squared = graph.add("Sub", graph.add("Sub", products, norms), kernel.gamma_ * np.square(landmarks).sum(axis=1))
    return graph.add("Exp", graph.add("Min", squared, np.float64(0)))


def _near_zero(graph: Graph, x: str, landmarks: NDArray) -> tuple[str, NDArray]:
    """Move both rows and landmarks to where single precision has digits for their differences."""
    origin = landmarks.mean(axis=0)
    return graph.minus(x, origin), landmarks - origin


def _laplacian(graph: Graph, x: str, kernel: kernels.Laplacian, landmarks: NDArray) -> str:
    x, landmarks = _near_zero(graph, x, landmarks)
    # One landmark after the other: all differences at once would take rows × landmarks × columns of memory.
    start = len(graph.nodes)
    differences = graph.add("Sub", x, "landmark")
    distances = graph.add("ReduceSum", graph.add("Abs", differences), np.array([1]), keepdims=0)
    body = graph.body("landmark", distances, start)
    by_landmark = graph.add("Scan", landmarks, body=body, num_scan_inputs=1)
    scaled = graph.add("Mul", graph.add("Transpose", by_landmark, perm=[1, 0]), np.float64(-kernel.gamma_))
    return graph.add("Exp", scaled)


def _polynomial(graph: Graph, x: str, kernel: kernels.Polynomial, landmarks: NDArray) -> str:
    products = graph.linear(x, kernel.gamma_ * landmarks.T, np.float64(kernel.coef0))
    return graph.add("Pow", products, np.float64(kernel.degree))


def _cosine(graph: Graph, x: str, kernel: kernels.Cosine, landmarks: NDArray) -> str:
    norms = np.linalg.norm(landmarks, axis=1, keepdims=True)
    largest = graph.add("ReduceMax", graph.add("Abs", x), axes=[1], keepdims=1)
    x = graph.add("Div", x, _or_one(graph, largest))  # first by the largest: no square is lost
    length = graph.add("Sqrt", graph.total(graph.add("Mul", x, x)))
    return graph.add(
        "MatMul", graph.add("Div", x, _or_one(graph, length)), (landmarks / np.where(norms > 0, norms, 1)).T
    )


def _or_one(graph: Graph, sizes: str) -> str:
    """Sizes to divide by: one if they are zero."""
    positive = graph.add("Greater", sizes, np.float64(0))
    return graph.add("Where", positive, sizes, np.float64(1))


Formula = Callable[[Graph, str, Any, NDArray], str]
KERNELS: dict[type, Formula] = {
    kernels.Gaussian: _gaussian,
    kernels.Laplacian: _laplacian,
    kernels.Linear: _linear,
    kernels.Polynomial: _polynomial,
    kernels.Cosine: _cosine,
}
FEATURES: dict[type, Callable[[Graph, Spectrum, NDArray, NDArray], str | None]] = {
    kernels.IdentityFeatures: _identity,
    kernels.FourierFeatures: _fourier,
    kernels.KernelColumns: _columns,
}
