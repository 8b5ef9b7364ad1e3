"""Two simpler ways to avoid redundancy, for comparison [Blau2017, section 2].

`residuals`, `select` → choosing among plain eigenvectors [Dsilva2015]; `Regressed` → taking each coordinate from what a
regression on the earlier ones leaves of the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyfold._progress import track
from polyfold._regression import predict, residual_ratio
from polyfold._typing import Matrix
from polyfold.nonredundant._sequence import bandwidth_of
from polyfold.spectra import Spectrum

_QUERIES = 1000
_MEDIAN_ROWS = 1000


def regression_residuals(Z: NDArray) -> NDArray:
    """Leave-one-out residuals of columns on the earlier ones, bandwidth of [Dsilva2015], on at most 1,000 points."""
    rng = np.random.RandomState(0)
    queries = np.arange(len(Z)) if len(Z) <= _QUERIES else rng.choice(len(Z), _QUERIES, replace=False)
    some = Z if len(Z) <= _MEDIAN_ROWS else Z[rng.choice(len(Z), _MEDIAN_ROWS, replace=False)]
    out = np.ones(Z.shape[1])
    for i in track(range(1, Z.shape[1]), "residuals"):
        distances = np.linalg.norm(some[:, None, :i] - some[None, :, :i], axis=2)
        # exp(−d²/ε²) is a Gaussian of standard deviation ε/√2.
        h = max(float(np.median(distances)) / 3 / np.sqrt(2), np.finfo(np.float64).tiny)
        out[i] = residual_ratio(Z[:, :i], Z[:, i], [h], queries=queries, regressor="locally_linear")[0]
    return out


def select_news(residuals: NDArray, threshold: float, wanted: int) -> NDArray:
    """First `wanted` numbers above the threshold; where there are fewer, the next largest residuals join."""
    passed = np.flatnonzero(residuals >= threshold)[:wanted]
    rest = np.setdiff1d(np.argsort(-residuals, kind="stable"), passed, assume_unique=True)
    rest = rest[np.argsort(-residuals[rest], kind="stable")][: wanted - len(passed)]
    return np.sort(np.concatenate([passed, rest]))


@dataclass
class Regressed:
    """Coordinates one by one, each the first of a spectrum of the data minus their regression on the earlier ones."""

    points: NDArray
    bandwidth: float
    coordinates: NDArray = field(init=False)
    spectra: list[tuple[Spectrum, float, float]] = field(init=False, default_factory=list)

    def fit(self, spectrum_of: Callable[[NDArray], Spectrum], count: int) -> "Regressed":
        """Find up to `count` coordinates; fewer where nothing is left of the data."""
        self.coordinates = np.empty((len(self.points), 0))
        for _ in track(range(count), "coordinates"):
            left = self._left(self.points, self.coordinates)
            spectrum = spectrum_of(left)
            if spectrum.rank == 0:
                break
            f = spectrum.coordinates(left)[:, 0].astype(np.float64)
            self.spectra.append((spectrum, float(f.mean()), float(f.std())))
            self.coordinates = np.column_stack([self.coordinates, (f - f.mean()) / f.std()])
        return self

    def transform(self, X: Matrix) -> NDArray:
        """Return the coordinates of the rows of `X`, shape (n, count)."""
        F = np.empty((len(X), 0))
        for spectrum, mean, scale in self.spectra:
            f = spectrum.coordinates(self._left(X, F))[:, 0].astype(np.float64)
            F = np.column_stack([F, (f - mean) / scale])
        return F

    def _left(self, X: NDArray, F: NDArray) -> NDArray:
        """Return what a regression of the training points on their coordinates leaves of `X` at `F`."""
        earlier = self.coordinates[:, : F.shape[1]]
        if F.shape[1] == 0:
            return X
        return (X - predict(earlier, self.points, F, bandwidth_of(earlier, self.bandwidth))).astype(X.dtype, copy=False)
