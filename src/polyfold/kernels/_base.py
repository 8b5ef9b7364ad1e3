"""Kernels, and the raw features of a point; every spectrum is a linear readout of these features.

A kernel is a function of two points (`Kernel`) or a matrix that depends on all of the data (`GraphKernel`). Their
attributes describe what they support, so that no other module tests their type.

Features come with a `metric`, A with A A' the inverse of their own inner products, so that ψ(x) = A' features(x) has
ψ(x)·ψ(y) ≈ k(x, y).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.extmath import safe_sparse_dot

from polyfold._linalg import inverse_square_root
from polyfold._typing import Matrix, Neighbors
from polyfold.kernels._operator import Operator, takes_distances
from polyfold.sources import Source, Survey

# Fraction of the largest entry by which a given kernel may differ from its mirror image.
_SYMMETRY = 1e-6


class PointFeatures(Protocol):
    """Compute features of any point, with the metric that makes them a kernel map."""

    @property
    def width(self) -> int:
        """Number of features."""
        ...

    def transform(self, X: Matrix) -> Matrix:
        """Return the features of the rows of `X`, shape (n, width)."""
        ...

    def metric(self) -> NDArray | None:
        """Return A of shape (width, r), or None for the identity."""
        ...


class Kernel(BaseEstimator, ABC):
    """Define a positive semi-definite function of two points, in blocks of rows.

    Subclasses store parameters in ``__init__`` and fill data-dependent defaults in ``_resolve``.
    """

    is_pointwise: ClassVar[bool] = True
    is_linear: ClassVar[bool] = False  # whether the point itself is its feature
    takes_precomputed: bool = False  # whether `X` holds kernel values, pairs of points
    takes_few: ClassVar[bool] = False  # whether very many points are replaced by landmarks
    needs_rows: ClassVar[bool] = False  # whether `resolve` looks at the rows themselves, not at their survey only
    given_as: ClassVar[str] = ""  # how the user gave the values, which are then checked; empty for our own functions

    def resolve(self, X: Matrix | Source | Survey) -> Self:
        """Return a copy whose data-dependent defaults (such as γ) are taken from `X`: rows, or a survey of a stream."""
        resolved = clone(self)
        resolved._resolve(X)
        return resolved

    def _resolve(self, X: Matrix | Source | Survey) -> None:
        """Set fitted attributes from `X`; most kernels need none."""

    def about(self, X: Matrix) -> Self:
        """Return a kernel that is the same once it is centred, and loses no digits where the rows of `X` are."""
        return self

    @abstractmethod
    def __call__(self, X: Matrix, Y: Matrix) -> NDArray:
        """Return the kernel values of all pairs of rows, shape (n, m)."""

    def matrix(self, X: Matrix) -> NDArray:
        """Return the values of all pairs of rows of `X` in double precision, exactly symmetric, shape (n, n)."""
        K = np.asarray(self(X, X), dtype=np.float64)
        if not np.isfinite(K).all():
            raise ValueError(
                f"kernel must have finite values, got {K[~np.isfinite(K)][0]} from {self!r}; scale X, or change the "
                "kernel."
            )
        if self.given_as:
            _check_symmetric(K, self.given_as)
        return (K + K.T) / 2

    def check_spectrum(self, lowest: float, highest: float, dtype: DTypeLike) -> None:
        """Raise if given values have an eigenvalue that is negative beyond the rounding of `dtype`."""
        if self.given_as and lowest < -(1e-4 if dtype == np.float32 else 1e-7) * highest:
            raise ValueError(
                f"{self.given_as} kernel must be positive semi-definite, got eigenvalue {lowest:.3g} with "
                f"values of norm {highest:.3g}; clip its negative eigenvalues, or pass a kernel such as "
                "polyfold.kernels.Gaussian()."
            )

    def columns(self, X: Matrix) -> PointFeatures:
        """Return the features k(x, row) of any point x, for the rows of `X`."""
        return KernelColumns(self, X)

    def frequencies(self, n_features: int, count: int, rng: np.random.RandomState) -> NDArray:
        """Draw from the spectral measure of a shift-invariant kernel, shape (n_features, count)."""
        raise ValueError(
            f"feature_map='fourier' needs a shift-invariant kernel (Gaussian or Laplacian), got {self!r}; "
            "use feature_map='nystroem'."
        )


class GraphKernel(BaseEstimator, ABC):
    """Represent a kernel by an operator on its training points."""

    is_pointwise: ClassVar[bool] = False
    takes_few: ClassVar[bool] = False  # whether very many points are replaced by landmarks

    neighbors: Neighbors = "auto"
    n_neighbors: int | None = None
    n_jobs: int | None = None

    @property
    def takes_precomputed(self) -> bool:
        """Whether `X` holds distances, pairs of points."""
        return takes_distances(self)

    @abstractmethod
    def operator_on(self, X: Matrix) -> Operator:
        """Build the operator from the rows of `X`."""


@dataclass(frozen=True)
class KernelColumns:
    """Compute k(x, landmark) for every landmark: Nyström features [Williams2001]_."""

    kernel: Kernel
    landmarks: Matrix  # (R, D) dense or sparse

    @property
    def width(self) -> int:
        """Number of landmarks."""
        return self.landmarks.shape[0]

    def transform(self, X: Matrix) -> NDArray:
        """Return k(x, landmark), shape (n, R)."""
        return self.kernel(X, self.landmarks)

    def metric(self) -> NDArray:
        """Return A with A A' = pinv(K) over the landmarks, computed in double precision."""
        # Below the cut the features carry only rounding: of the kernel values (single precision) or of eigh.
        single = self.landmarks.dtype == np.float32
        cut = 4 * np.finfo(np.float32).eps if single else self.width * np.finfo(np.float64).eps
        K = self.kernel.matrix(self.landmarks.astype(np.float64))
        A, lowest, highest = inverse_square_root(K, cut=float(cut))
        self.kernel.check_spectrum(lowest, highest, self.landmarks.dtype)
        return A


@dataclass(frozen=True)
class FourierFeatures:
    """√(2/R) (cos w·x, sin w·x): random features whose products average to a shift-invariant kernel [Rahimi2007]_.

    In pairs, not as cosines with a random phase: every product then depends on x − y alone, wherever the origin is.
    """

    frequencies: NDArray  # (D, R/2)

    @property
    def width(self) -> int:
        """Number of features."""
        return 2 * self.frequencies.shape[1]

    def transform(self, X: Matrix) -> NDArray:
        """Return the features, shape (n, R)."""
        X, pairs = as_float(X), self.frequencies.shape[1]
        angles = self._angles(X)
        out = np.empty((X.shape[0], self.width), dtype=X.dtype)
        np.cos(angles, out=out[:, :pairs])
        np.sin(angles, out=out[:, pairs:])
        out *= np.sqrt(1 / pairs)
        return out

    def _angles(self, X: Matrix) -> NDArray:
        """Return w·x, up to whole turns."""
        W = self.frequencies.astype(X.dtype, copy=False)
        if sp.issparse(X):
            return safe_sparse_dot(X, W, dense_output=True)
        # Far from the origin angles have many turns before the digits that count: those of the mean are taken off.
        origin = X.mean(axis=0, dtype=np.float64)
        angles = (X - origin).astype(X.dtype, copy=False) @ W
        angles += np.remainder(origin @ self.frequencies, 2 * np.pi).astype(X.dtype)
        return angles

    def metric(self) -> None:
        """Return None: the features are already an empirical kernel map."""


@dataclass(frozen=True)
class IdentityFeatures:
    """The point itself: the exact features of the linear kernel."""

    width: int

    def transform(self, X: Matrix) -> Matrix:
        """Return `X` unchanged."""
        return as_float(X)

    def metric(self) -> None:
        """Return None: the features are already an empirical kernel map."""


# What a user may pass as `kernel`: a name, a kernel object, or a function of two matrices of rows.
KernelLike: TypeAlias = str | Kernel | GraphKernel | Callable[[Any, Any], ArrayLike]
# What a user may pass as `feature_map`.
FeatureMap: TypeAlias = Literal["auto", "exact", "nystroem", "fourier"] | PointFeatures


def fourier_features(kernel: Kernel, n_features: int, count: int, rng: np.random.RandomState) -> FourierFeatures:
    """Draw `count` features, rounded up to an even number, of a resolved kernel."""
    return FourierFeatures(kernel.frequencies(n_features, (count + 1) // 2, rng))


def _check_symmetric(K: NDArray, given_as: str) -> None:
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"{given_as} kernel must be square, got shape {K.shape}; pass k(x_i, x_j) for all pairs of training points."
        )
    gap, scale = float(np.abs(K - K.T).max()), float(np.abs(K).max())
    if gap > _SYMMETRY * scale:
        raise ValueError(
            f"{given_as} kernel must be symmetric, got entries that differ from their mirror image by up to {gap:.3g} "
            f"(largest entry {scale:.3g}); pass (K + K.T) / 2 to make it symmetric."
        )


def as_float(X: Matrix) -> Matrix:
    """Return `X` in a floating type: float32 stays, everything else becomes float64."""
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
