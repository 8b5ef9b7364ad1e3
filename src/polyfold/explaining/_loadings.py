"""Local loadings: gradients of coordinates with respect to the features, at points."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold._validation import import_extra
from polyfold.kernels import feature_gradients

# Step of a finite difference, as a fraction of the standard deviation of a feature.
STEP = 1e-3


def coordinate_gradients(model: Any, X: NDArray, scale: NDArray) -> NDArray:
    """Return the gradients of the coordinates of a fitted model at the rows of `X` (n, D), shape (n, c, D).

    In closed form if the model is linear in features of a kernel whose gradient is known; by central finite differences
    of `transform` otherwise, with steps of 0.001 times `scale` (D,).
    """
    gradients = [_closed(model, x, scale) for x in X]
    if all(gradient is not None for gradient in gradients):
        return np.array(gradients)
    return np.array([_differences(model, x, scale) for x in track(X, "points")])


def _closed(model: Any, x: NDArray, scale: NDArray) -> NDArray | None:
    spectrum = getattr(model, "spectrum_", None)
    jacobian = None if spectrum is None else feature_gradients(spectrum.features, x)
    if jacobian is None or spectrum is None:
        return None
    weights = _readout_weights(model, spectrum.rank)
    pair = np.vstack([x, x + scale])
    c, Z = spectrum.coordinates(pair)[:, : len(weights)] @ weights, _transform(model, pair)
    if c.shape != Z.shape or not np.allclose(c[1] - c[0], Z[1] - Z[0], rtol=1e-5, atol=1e-8 * np.abs(Z).max()):
        return None  # `transform` does more than reading the spectrum
    return (spectrum.readout[:, : len(weights)] @ weights).T @ jacobian


def _readout_weights(model: Any, rank: int) -> NDArray:
    """Return the linear map from the directions of the spectrum to the coordinates, (k, c)."""
    components = getattr(model, "components_", None)
    if components is not None and np.ndim(components) == 3:
        return np.asarray(components).reshape(-1, components.shape[-1]).T
    if hasattr(model, "selected_"):
        return np.eye(rank)[:, model.selected_]
    width = getattr(model, "_n_features_out", rank)
    return np.eye(min(width, rank), width)


def _differences(model: Any, x: NDArray, scale: NDArray) -> NDArray:
    steps = STEP * np.where(scale > 0, scale, 1.0)
    moved = np.vstack([x + np.diag(steps), x - np.diag(steps)])
    Z = _transform(model, moved)
    return ((Z[: len(x)] - Z[len(x) :]) / (2 * steps[:, None])).T


def _transform(model: Any, X: NDArray) -> NDArray:
    names = getattr(model, "feature_names_in_", None)
    rows = X if names is None else import_extra("pandas", "cli").DataFrame(X, columns=names)
    return np.asarray(model.transform(rows), dtype=np.float64)
