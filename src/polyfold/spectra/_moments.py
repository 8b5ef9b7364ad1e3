"""Feature map to spectrum: one pass over the data, O(p²) memory, in as many pieces as you like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyfold._linalg import eigh_descending, row_blocks
from polyfold._running import track
from polyfold.kernels import PointFeatures
from polyfold.spectra._spectrum import Spectrum

__all__ = ["Moments", "spectrum_from_moments"]


@dataclass
class Moments:
    """Count, sum and Gram matrix of features, taken about a provisional centre against cancellation."""

    centre: NDArray  # (p,)
    total: NDArray  # (p,)
    gram: NDArray  # (p, p)
    count: int = 0

    @classmethod
    def about(cls, centre: NDArray) -> Moments:
        """Start empty sums about `centre`."""
        p = centre.shape[0]
        return cls(centre, np.zeros(p), np.zeros((p, p)))

    def add(self, features: PointFeatures, X: Any) -> None:
        """Add the rows of `X`, block by block."""
        blocks = list(row_blocks(X.shape[0], features.width))
        product = np.empty_like(self.gram)
        for rows in track(blocks, "kernel blocks"):
            F = dense_features(features, X[rows])
            F = np.subtract(F, self.centre, dtype=np.float64)
            np.matmul(F.T, F, out=product)
            self.gram += product
            self.total += F.sum(axis=0)
            self.count += F.shape[0]

    def mean(self) -> NDArray:
        """Mean of the features."""
        return self.centre + self.total / self.count

    def scatter(self) -> NDArray:
        """Gram matrix of the centred features."""
        return self.gram - np.outer(self.total, self.total / self.count)


def dense_features(features: PointFeatures, X: Any) -> NDArray:
    """Features of one block as a dense array."""
    F = features.transform(X)
    return F.toarray() if hasattr(F, "tocsr") else F


def spectrum_from_moments(features: PointFeatures, metric: NDArray | None, moments: Moments, rank: int) -> Spectrum:
    """Eigenpairs of the Gram matrix of the empirical kernel map ψ = A' features [Reeve2018, Prop. 5]."""
    scatter = moments.scatter()
    gram = scatter if metric is None else metric.T @ scatter @ metric
    d, V = eigh_descending((gram + gram.T) / 2)
    mean = moments.mean() if metric is None else moments.mean() @ metric
    # Rounding is relative to the features before centring: constant data must come out empty.
    scale = max(d[0], moments.count * float(mean @ mean))
    keep = d[:rank] > scale * d.size * np.finfo(np.float64).eps
    V = V[:, :rank][:, keep]
    return Spectrum(
        eigenvalues=d[:rank][keep],
        energy=float(np.sum(np.maximum(d, 0) ** 2)),
        n_samples=moments.count,
        features=features,
        shift=moments.mean(),
        readout=V if metric is None else metric @ V,
    )
