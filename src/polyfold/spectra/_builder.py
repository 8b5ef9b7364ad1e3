"""Data to spectrum, in one piece or in chunks."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from polyfold.kernels import (
    IdentityFeatures,
    Kernel,
    KernelColumns,
    Linear,
    PointFeatures,
    Precomputed,
    fourier_features,
)
from polyfold.spectra._dense import spectrum_from_kernel
from polyfold.spectra._moments import Moments, dense_features, spectrum_from_moments
from polyfold.spectra._spectrum import Spectrum

__all__ = ["SpectrumBuilder", "choose_feature_map"]

FEATURE_MAPS = ("auto", "exact", "nystroem", "fourier")


def choose_feature_map(kernel: Kernel, n_samples: int, n_features: int, rank: int) -> str:
    """Return what ``feature_map="auto"`` stands for: exact where it is cheap, Nyström beyond."""
    if isinstance(kernel, Precomputed):
        return "exact"
    if isinstance(kernel, Linear) and n_features <= min(n_samples, 2 * rank):
        return "identity"
    return "exact" if n_samples <= 2 * rank else "nystroem"


class SpectrumBuilder:
    """Accumulate the sums a spectrum needs; rows are kept only until the feature map is chosen.

    Fitting in chunks and fitting at once run the same lines. They agree to rounding whenever the feature
    map does not depend on which rows come first: exact maps, given landmarks, Fourier features with a
    given γ. Otherwise Nyström landmarks and γ come from the rows seen when the map is chosen: all of them
    when fitting at once, at least the first `rank` (or twice that, for "auto") in chunks.

    Parameters
    ----------
    kernel : Kernel
        Not yet resolved.
    feature_map : str or PointFeatures
    rank : int
    seed : int
        Of the landmarks or frequencies.
    """

    def __init__(self, kernel: Kernel, feature_map: Any, rank: int, seed: int):
        self.kernel = kernel
        self.feature_map = feature_map
        self.rank = rank
        self.seed = seed
        self.features: PointFeatures | None = None
        self.metric: NDArray | None = None
        self.moments: Moments | None = None
        self.waiting: list[Any] = []

    def add(self, X: Any) -> SpectrumBuilder:
        """Take in the rows of `X`."""
        if self.features is None:
            self.waiting.append(X)
            X = _stack(self.waiting)
            if not self._can_choose(X):
                return self
            self.features, self.waiting = self._choose(X), []
            self.metric = self.features.metric()
            head = dense_features(self.features, X[: min(256, X.shape[0])])
            self.moments = Moments.about(head.mean(axis=0, dtype=np.float64))
        assert self.moments is not None
        self.moments.add(self.features, X)
        return self

    def copy(self) -> SpectrumBuilder:
        """Return a builder that goes on from here on its own."""
        other = copy(self)
        other.waiting = list(self.waiting)
        other.moments = deepcopy(self.moments)
        return other

    def spectrum(self) -> Spectrum:
        """Solve for the spectrum of everything seen so far."""
        if self.features is not None and self.moments is not None:
            return spectrum_from_moments(self.features, self.metric, self.moments, self.rank)
        X = _stack(self.waiting)
        return spectrum_from_kernel(self.kernel.resolve(X), X, self.rank)

    def _can_choose(self, X: Any) -> bool:
        """Whether enough rows were seen to leave the exact kernel matrix behind."""
        if not isinstance(self.feature_map, str) or self.feature_map == "fourier":
            return True
        if self.feature_map == "nystroem":
            return X.shape[0] >= self.rank
        return self.feature_map == "auto" and self._automatic(X) != "exact"

    def _automatic(self, X: Any) -> str:
        return choose_feature_map(self.kernel, X.shape[0], X.shape[1], self.rank)

    def _choose(self, X: Any) -> PointFeatures:
        if not isinstance(self.feature_map, str):
            return self.feature_map
        rng, kernel = np.random.RandomState(self.seed), self.kernel.resolve(X)
        if self.feature_map == "fourier":
            return fourier_features(kernel, X.shape[1], self.rank, rng)
        if self.feature_map == "auto" and self._automatic(X) == "identity":
            return IdentityFeatures(X.shape[1])
        rows = np.sort(rng.choice(X.shape[0], size=min(self.rank, X.shape[0]), replace=False))
        return KernelColumns(kernel, X[rows])


def _stack(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)
