"""Kernel matrices that the user brings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold.kernels._base import Kernel, as_float

__all__ = ["Precomputed", "check_symmetric_kernel"]


class Precomputed(Kernel):
    """A given kernel matrix: `fit` takes K of shape (n, n), `transform` rows k(x_new, x_train)."""

    def __call__(self, X: Any, Y: Any) -> NDArray:
        """Return the given values: `X` already holds them, `Y` is not looked at."""
        return as_float(X)


def check_symmetric_kernel(K: NDArray) -> NDArray:
    """Return `K` made exactly symmetric, or raise where it is not square or not symmetric."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"a precomputed kernel must be square, got shape {K.shape}; "
            "pass k(x_i, x_j) for all pairs of training points."
        )
    gap, scale = float(np.abs(K - K.T).max()), float(np.abs(K).max())
    if gap > 1e-6 * max(scale, np.finfo(K.dtype).tiny):
        raise ValueError(
            f"a precomputed kernel must be symmetric, got entries that differ from their mirror image by up to "
            f"{gap:.3g} (largest entry {scale:.3g}); pass (K + K.T) / 2 if that is what you mean."
        )
    return (K + K.T) / 2


def check_positive_semidefinite(lowest: float, highest: float, dtype: Any) -> None:
    """Raise where the lowest eigenvalue is negative beyond rounding."""
    tolerance = 1e-4 if np.dtype(dtype) == np.float32 else 1e-7
    if lowest < -tolerance * max(highest, 0.0) - np.finfo(np.float64).tiny:
        raise ValueError(
            f"a precomputed kernel must be positive semi-definite, got eigenvalue {lowest:.3g} beside the largest, "
            f"{highest:.3g}; clip its negative eigenvalues, or pass a kernel such as polyfold.kernels.Gaussian()."
        )
