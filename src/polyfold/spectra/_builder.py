"""Build a `Spectrum` from rows and a kernel, at once or in chunks.

The number of landmarks is the number of features that approximate the kernel. The number of directions is the number of
eigenvectors that are kept.
"""

from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from polyfold._linalg import as_dense, block_rows, eigh_descending
from polyfold._progress import phase
from polyfold._typing import Matrix
from polyfold.kernels import FeatureMap, GraphKernel, IdentityFeatures, Kernel, PointFeatures, fourier_features
from polyfold.sources import Source, add_up, stack_rows, survey, trusted
from polyfold.spectra._eigen import DenseSolver
from polyfold.spectra._operator_spectrum import spectrum_from_operator
from polyfold.spectra._spectrum import Spectrum

FEATURE_MAPS = ("auto", "exact", "nystroem", "fourier")


def spectrum_of(
    X: Matrix,
    kernel: Kernel | GraphKernel,
    *,
    directions: int,
    landmarks: int = 1000,
    seed: int = 0,
) -> Spectrum:
    """Return the spectrum of a kernel on the rows of `X`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    kernel : Kernel or GraphKernel
    directions : int
        Most directions to keep.
    landmarks : int, default=1000
        Landmarks or random features that approximate a kernel of two points; up to twice as many rows it is exact.
    seed : int, default=0
        Seed of the landmarks or frequencies.
    """
    if not kernel.is_pointwise:
        with phase("graph"):
            operator = kernel.operator_on(X)
        with phase("eigenvectors"):
            return spectrum_from_operator(operator, directions)
    return SpectrumBuilder(kernel, "auto", landmarks, directions, seed).add(X).spectrum()


def choose_feature_map(kernel: Kernel, n_samples: int, n_features: int, landmarks: int) -> str:
    """Return the feature map that "auto" means: exact if it is cheap, Nyström otherwise."""
    if kernel.takes_precomputed:
        return "exact"
    if kernel.is_linear and n_features <= min(n_samples, 2 * landmarks):
        return "identity"
    return "exact" if n_samples <= 2 * landmarks else "nystroem"


class SpectrumBuilder:
    """Accumulate the sums a spectrum needs; rows are kept only until the feature map is chosen.

    Fitting in chunks and fitting at once run the same lines. They agree to rounding whenever the feature
    map does not depend on which rows come first: exact maps, given landmarks, Fourier features with a
    given γ. Otherwise Nyström landmarks and γ come from the rows seen when the map is chosen: all of them
    when fitting at once, at least the first `landmarks` (or twice that, for "auto") in chunks.

    Parameters
    ----------
    kernel : Kernel
        Not yet resolved.
    feature_map : str or PointFeatures
    landmarks : int
    directions : int
    seed : int
        Of the landmarks or frequencies.
    """

    def __init__(self, kernel: Kernel, feature_map: FeatureMap, landmarks: int, directions: int, seed: int):
        self.kernel = clone(kernel)  # parameters that are changed later are those of another fit
        self.feature_map = feature_map
        self.landmarks = landmarks
        self.directions = directions
        self.seed = seed
        self.features: PointFeatures | None = None
        self.metric: NDArray | None = None
        self.moments: Moments | None = None
        self.waiting: list[Matrix] = []

    def add(self, X: Matrix) -> "SpectrumBuilder":
        """Take in the rows of `X`, an array or a source."""
        if self.features is None:
            rows = stack_rows([*self.waiting, X])
            if not self._can_choose(rows):
                # A copy: the caller may use the memory again.
                self.waiting.append(X.whole() if isinstance(X, Source) else X.copy())
                return self
            X, features = rows, self._choose(rows)
            self.metric = features.metric()
            self.features, self.waiting = features, []
        self.moments = Moments.about(self.features, X) if self.moments is None else self.moments
        self.moments.add(self.features, X)
        return self

    def copy(self) -> "SpectrumBuilder":
        """Return an independent copy of the builder."""
        other = copy(self)
        other.waiting = list(self.waiting)
        other.moments = deepcopy(self.moments)
        return other

    def copy_if_like(self, wanted: "SpectrumBuilder") -> "SpectrumBuilder":
        """Return a copy to continue with, or raise if the kernel or the number of landmarks has changed."""
        for name in ("kernel", "feature_map", "landmarks"):
            was, now = repr(getattr(self, name)), repr(getattr(wanted, name))
            if was != now:
                name = "rank" if name == "landmarks" else name
                raise ValueError(
                    f"{name} must be that of the rows fitted so far, {was}, got {now}; call fit to start again."
                )
        return self.copy()

    def spectrum(self) -> Spectrum:
        """Solve for the spectrum of everything seen so far."""
        if self.features is not None and self.moments is not None:
            return spectrum_from_moments(self.features, self.metric, self.moments, self.directions)
        X = stack_rows(self.waiting)
        return spectrum_from_kernel(self.kernel.resolve(X).about(X), X, self.directions)

    def _can_choose(self, X: Matrix) -> bool:
        """Whether enough rows were seen to leave the exact kernel matrix behind."""
        if not isinstance(self.feature_map, str) or self.feature_map == "fourier":
            return True
        if self.feature_map == "nystroem":
            return X.shape[0] >= self.landmarks
        return self.feature_map == "auto" and self._automatic(X) != "exact"

    def _automatic(self, X: Matrix) -> str:
        return choose_feature_map(self.kernel, X.shape[0], X.shape[1], self.landmarks)

    def _choose(self, X: Matrix) -> PointFeatures:
        if not isinstance(self.feature_map, str):
            return self.feature_map
        rng = np.random.RandomState(self.seed)
        if self.feature_map == "fourier":
            return fourier_features(self.kernel.resolve(X), X.shape[1], self.landmarks, rng)
        if self.feature_map == "auto" and self._automatic(X) == "identity":
            return IdentityFeatures(X.shape[1])
        rows = np.sort(rng.choice(X.shape[0], size=min(self.landmarks, X.shape[0]), replace=False))
        if isinstance(X, Source):  # one pass for the landmarks and all that the kernel wants to know
            known = survey(X, rows)
            return self.kernel.resolve(known).about(known).columns(known.rows)
        return self.kernel.resolve(X).about(X).columns(X[rows])


@dataclass
class Moments:
    """Count, sum and Gram matrix of features, taken about a provisional centre against cancellation.

    One pass over the data, O(p²) memory, in as many pieces as you like.
    """

    centre: NDArray  # (p,)
    total: NDArray  # (p,)
    gram: NDArray  # (p, p)
    count: int = 0

    @classmethod
    def about(cls, features: PointFeatures, X: Matrix) -> "Moments":
        """Start empty sums about the mean of the first rows of `X`."""
        centre = as_dense(features.transform(trusted(X).head(256))).mean(axis=0, dtype=np.float64)
        return cls(centre, np.zeros(centre.size), np.zeros((centre.size, centre.size)))

    def add(self, features: PointFeatures, X: Matrix) -> None:
        """Add the rows of `X`, block by block: side by side, added up in their order."""
        source, p = trusted(X), features.width
        rows = block_rows(p)
        sums = partial(_sums, features, self.centre)
        gram, total = source.reduce(sums, add_up, rows, what="kernel blocks", memory=8 * p * (4 * rows + 4 * p))
        self.gram += gram
        self.total += total
        self.count += source.shape[0]

    def mean(self) -> NDArray:
        """Mean of the features."""
        return self.centre + self.total / self.count

    def scatter(self) -> NDArray:
        """Gram matrix of the centred features."""
        return self.gram - np.outer(self.total, self.total / self.count)


def _sums(features: PointFeatures, centre: NDArray, start: int, block: Matrix) -> tuple[NDArray, NDArray]:
    """Gram matrix and sum of the features of a block, about a centre."""
    F = np.subtract(as_dense(features.transform(block)), centre, dtype=np.float64)
    return F.T @ F, F.sum(axis=0)


def spectrum_from_moments(
    features: PointFeatures, metric: NDArray | None, moments: Moments, directions: int
) -> Spectrum:
    """Eigenpairs of the Gram matrix of the empirical kernel map ψ = A' features [Reeve2018, Prop. 5]."""
    scatter = moments.scatter()
    gram = scatter if metric is None else metric.T @ scatter @ metric
    if not np.isfinite(gram).all():
        raise ValueError("kernel must have finite values, got sums that are not; scale X, or change the kernel.")
    d, V = eigh_descending((gram + gram.T) / 2)
    # Rounding is relative to what the sums were taken of, and to the features before centring, whose own last digit
    # enters squared: constant data must come out empty, data far from the origin must not.
    mean, eps, n = moments.mean(), np.finfo(np.float64).eps, moments.count
    lever = moments.total / n if metric is None else mean @ metric
    noise = max(d.max(initial=0.0), n * float(lever @ lever)) * d.size * eps
    rank = int(np.sum(d > max(noise, n * (8 * eps) ** 2 * float(mean @ mean))))
    V = V[:, : min(rank, directions)]
    return Spectrum(
        eigenvalues=d[: V.shape[1]],
        energy=float(np.sum(np.maximum(d, 0) ** 2)),
        n_samples=n,
        features=features,
        shift=mean,
        readout=V if metric is None else metric @ V,
        trace=max(float(np.trace(gram)), 0.0),
        is_complete=rank <= directions,
    )


def spectrum_from_kernel(kernel: Kernel, X: Matrix, directions: int) -> Spectrum:
    """Spectrum of the centred N × N kernel matrix of `X`: exact, for a few thousand points."""
    K = kernel.matrix(X)
    n, scale = K.shape[0], float(np.abs(K).max())
    norm = float(np.abs(K).sum(axis=1).max())  # rounding is relative to the kernel before centring
    columns = K.mean(axis=0)
    K -= columns
    K -= columns[:, None] - columns.mean()
    constant = np.full((n, 1), n**-0.5)
    # The lowest eigenvalue of given values shows whether they are a kernel.
    d, U = DenseSolver(K).top(constant, n - 1 if kernel.given_as else min(n - 1, directions + 1))
    kernel.check_spectrum(float(d[-1]), norm, X.dtype)
    eps = np.finfo(np.float32 if X.dtype == np.float32 else np.float64).eps
    # Rounding is relative to the kernel before centring: constant data must come out empty.
    rank = int(np.sum(d > max(d[0], scale) * n * eps))
    d, U = d[: min(rank, directions)], U[:, : min(rank, directions)]
    readout = U / np.sqrt(d)
    return Spectrum(
        eigenvalues=d,
        energy=float(np.sum(K**2)),
        n_samples=n,
        features=kernel.columns(X),
        # c(x) = U' k_c(x) / √d; columns that sum to zero exactly take the row mean of k(x, ·) off.
        shift=columns,
        readout=readout - readout.mean(axis=0),
        trace=float(np.trace(K)),
        is_complete=rank <= directions,
    )
