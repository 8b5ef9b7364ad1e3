"""Raw features of a point: what is computed from it before anything linear happens.

Every spectrum is a linear read-out of such features. `metric` returns A with A A' the inverse of the
features' own inner products, so that ψ(x) = A' features(x) has ψ(x)·ψ(y) ≈ k(x, y).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import safe_sparse_dot

from polyfold._linalg import inverse_square_root
from polyfold.kernels._base import Kernel, as_float
from polyfold.kernels._pointwise import Gaussian, Laplacian

__all__ = ["FourierFeatures", "IdentityFeatures", "KernelColumns", "PointFeatures", "fourier_features"]


class PointFeatures(Protocol):
    """Features of old and new points, and the metric that turns them into an empirical kernel map."""

    @property
    def width(self) -> int:
        """Number of features."""
        ...

    def transform(self, X: Any) -> Any:
        """Return the features of the rows of `X`, shape (n, width)."""
        ...

    def metric(self) -> NDArray | None:
        """Return A of shape (width, r), or None for the identity."""
        ...


@dataclass(frozen=True)
class KernelColumns:
    """k(x, landmark) for every landmark: the Nyström features [Williams2001]_."""

    kernel: Kernel
    landmarks: Any  # (R, D) dense or sparse

    @property
    def width(self) -> int:
        """Number of landmarks."""
        return self.landmarks.shape[0]

    def transform(self, X: Any) -> NDArray:
        """Return k(x, landmark), shape (n, R)."""
        return self.kernel(X, self.landmarks)

    def metric(self) -> NDArray:
        """Return A with A A' = pinv(K) over the landmarks, computed in double precision."""
        # Below the cut the features carry only rounding: of the kernel values (single precision) or of eigh.
        single = self.landmarks.dtype == np.float32
        cut = 4 * np.finfo(np.float32).eps if single else self.width * np.finfo(np.float64).eps
        return inverse_square_root(self.transform(self.landmarks.astype(np.float64)), cut=float(cut))


@dataclass(frozen=True)
class FourierFeatures:
    """√(2/R) cos(w·x + b): random features whose products average to a shift-invariant kernel [Rahimi2007]_."""

    frequencies: NDArray  # (D, R)
    phases: NDArray  # (R,)

    @property
    def width(self) -> int:
        """Number of features."""
        return self.phases.shape[0]

    def transform(self, X: Any) -> NDArray:
        """Return the features, shape (n, R)."""
        X = as_float(X)
        out = safe_sparse_dot(X, self.frequencies.astype(X.dtype, copy=False), dense_output=True)
        out += self.phases.astype(X.dtype, copy=False)
        np.cos(out, out=out)
        out *= np.sqrt(2 / self.width)
        return out

    def metric(self) -> None:
        """Return None: the features are already an empirical kernel map."""


@dataclass(frozen=True)
class IdentityFeatures:
    """The point itself: the exact features of the linear kernel."""

    width: int

    def transform(self, X: Any) -> Any:
        """Return `X` unchanged."""
        return as_float(X)

    def metric(self) -> None:
        """Return None: the features are already an empirical kernel map."""


def fourier_features(kernel: Kernel, n_features: int, rank: int, rng: np.random.RandomState) -> FourierFeatures:
    """Draw frequencies from the kernel's spectral measure: normal for the Gaussian, Cauchy for the Laplacian."""
    shape = (n_features, rank)
    if isinstance(kernel, Gaussian):
        frequencies = rng.normal(scale=np.sqrt(2 * kernel.gamma_), size=shape)
    elif isinstance(kernel, Laplacian):
        frequencies = kernel.gamma_ * rng.standard_cauchy(size=shape)
    else:
        raise ValueError(
            f"feature_map='fourier' needs a shift-invariant kernel (Gaussian or Laplacian), got {kernel!r}; "
            "use feature_map='nystroem'."
        )
    return FourierFeatures(frequencies, rng.uniform(0, 2 * np.pi, size=rank))
