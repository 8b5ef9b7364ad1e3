"""Full kernel matrix to spectrum: exact, for a few thousand points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import eigh_descending
from polyfold.kernels import (
    IdentityFeatures,
    Kernel,
    KernelColumns,
    PointFeatures,
    Precomputed,
    check_positive_semidefinite,
    check_symmetric_kernel,
)
from polyfold.spectra._spectrum import Spectrum

__all__ = ["spectrum_from_kernel"]


def spectrum_from_kernel(kernel: Kernel, X: Any, rank: int) -> Spectrum:
    """Spectrum of the centred N × N kernel matrix of `X` (`X` itself where the kernel is precomputed)."""
    if isinstance(kernel, Precomputed):
        K = check_symmetric_kernel(kernel(X, X)).astype(np.float64, copy=False)
        features: PointFeatures = IdentityFeatures(K.shape[0])
    else:
        K = kernel(X, X).astype(np.float64)
        features = KernelColumns(kernel, X)
    columns = K.mean(axis=0)
    d, U = eigh_descending(_centred(K, columns), None if isinstance(kernel, Precomputed) else rank)
    if isinstance(kernel, Precomputed):
        check_positive_semidefinite(d[-1], d[0], X.dtype)
    eps = np.finfo(np.float32 if X.dtype == np.float32 else np.float64).eps
    # Rounding is relative to the kernel before centring: constant data must come out empty.
    keep = d[:rank] > max(d[0], float(np.abs(K).max())) * K.shape[0] * eps
    d, U = d[:rank][keep], U[:, :rank][:, keep]
    return Spectrum(
        eigenvalues=d,
        energy=float(np.sum(_centred(K, columns) ** 2)),
        n_samples=K.shape[0],
        features=features,
        # c(x) = U' k_c(x) / √d; the row mean of k(x, ·) vanishes against U, whose columns sum to zero.
        shift=columns,
        readout=U / np.sqrt(d),
        trace=float(np.trace(K) - columns.sum()),
    )


def _centred(K: NDArray, columns: NDArray) -> NDArray:
    """Double-centred copy of `K`."""
    return K - columns - columns[:, None] + columns.mean()
